//! Lists of stored objects, as JSON.
//!
//! The items lie ready: a list is a copy of their bytes with short prefixes. A long one is written
//! piece by piece while it is sent, its length told before: the client reads the first piece while
//! the next is made, and no list needs as much memory again as its objects.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    vec,
};

use axum::body::Body;
use bytes::{BufMut as _, Bytes, BytesMut};
use evenkeel_store::Object;
use http_body::{Frame, SizeHint};
use serde_json::Value;

use crate::{document, kinds::Kind};

/// About as much as TLS takes at once.
const PIECE: usize = 64 << 10;

const END: &[u8] = b"]}";

/// What of a list is still to be sent.
struct Pieces {
    head: Bytes,
    items: vec::IntoIter<Arc<Object>>,
    /// Bytes, the end included.
    left: usize,
}

pub(super) fn body(kind: &Kind, items: Vec<Arc<Object>>, meta: &Value) -> Body {
    let head = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{meta},\"items\":[",
        kind.list_kind(),
        kind.api_version()
    );
    let commas = items.len().saturating_sub(1);
    let texts: usize = items.iter().map(|item| document::item_len(item)).sum();
    let left = head.len() + texts + commas + END.len();
    let mut pieces = Pieces { head: head.into(), items: items.into_iter(), left };
    match left <= PIECE {
        true => Body::from(pieces.next()),
        false => Body::new(pieces),
    }
}

impl Pieces {
    fn next(&mut self) -> Bytes {
        let longest = self.items.as_slice().first().map_or(0, |item| document::item_len(item));
        let mut out = BytesMut::with_capacity(self.left.min(PIECE.max(longest) + PIECE));
        out.put_slice(&std::mem::take(&mut self.head));
        while out.len() < PIECE
            && let Some(item) = self.items.next()
        {
            document::write_item(&mut out, &item);
            if self.items.len() > 0 {
                out.put_u8(b',');
            }
        }
        if self.items.len() == 0 {
            out.put_slice(END);
        }
        debug_assert!(out.len() <= self.left, "no more is sent than was told");
        self.left -= out.len();
        out.freeze()
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready((self.left > 0).then(|| Ok(Frame::data(self.next()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use serde_json::json;

    use super::*;
    use crate::kinds::SERVICE;

    fn objects(n: usize, size: usize) -> Vec<Arc<Object>> {
        let object = |n: usize| {
            let tail = format!(r#""name":"{n}"}},"data":{{"k":"{}"}}}}"#, "x".repeat(size));
            let key = format!("default/{n}").into();
            let (labels, fields) = (Box::default(), Box::default());
            Arc::new(Object { key, revision: 9 + n as u64, labels, fields, tail: tail.into() })
        };
        (0..n).map(object).collect()
    }

    #[tokio::test]
    async fn lists_are_as_long_as_told_and_whole() {
        for (n, size) in [(0, 0), (1, 10), (2, 10), (1, 3 << 20), (3, PIECE), (5_000, 100)] {
            let body = body(&SERVICE, objects(n, size), &json!({"resourceVersion": "7"}));
            let told = http_body::Body::size_hint(&body).exact();
            let text = body.collect().await.unwrap().to_bytes();
            assert_eq!(told, Some(text.len() as u64), "{n} of {size}");
            let list: Value = serde_json::from_slice(&text).unwrap();
            let items = list["items"].as_array().unwrap();
            assert_eq!(items.len(), n);
            for (at, item) in items.iter().enumerate() {
                assert_eq!(item["metadata"]["name"], at.to_string());
                assert_eq!(item["metadata"]["resourceVersion"], (9 + at).to_string());
            }
        }
    }
}
