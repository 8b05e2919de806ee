//! Lists in protobuf, whose length precedes them.
//!
//! All items are encoded to learn their lengths, a chunk at a time, so that other requests of the
//! thread need not wait. The first of them are kept; the others, which would take the memory of the
//! whole list, are encoded again while they are sent.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use evenkeel_store::Object;
use http_body::{Frame, SizeHint};
use serde_json::{Map, Value};

use super::{PIECE, Pieces, items::Items};
use crate::{kinds::read::text, protobuf};

/// Bytes of encoded items that are kept until they are sent.
const KEPT: usize = 4 << 20;

/// Bytes of items that are encoded before others get a turn.
const CHUNK: usize = 4 * PIECE;

/// A list whose length is not yet known.
struct Measuring {
    print: Items,
    items: Vec<Arc<Object>>,
    /// How many items are measured, and how long they are together.
    measured: usize,
    length: usize,
    /// The first items, encoded, and how many they are.
    kept: BytesMut,
    n_kept: usize,
    /// The list without its items.
    shell: Map<String, Value>,
}

enum List {
    Measuring(Box<Measuring>),
    Sending(Box<Pieces>),
    Sent,
}

/// `shell` is the list without its items.
pub(super) fn body(
    print: Items,
    items: Vec<Arc<Object>>,
    shell: &Map<String, Value>,
) -> (Body, bool) {
    let mut list = Measuring {
        print,
        items,
        measured: 0,
        length: 0,
        kept: BytesMut::new(),
        n_kept: 0,
        shell: shell.clone(),
    };
    match list.measure() {
        true => list.finish().into_body(),
        false => (Body::new(List::Measuring(Box::new(list))), true),
    }
}

// === impl Measuring ===

impl Measuring {
    /// Measures a chunk of the items; whether these were the last.
    fn measure(&mut self) -> bool {
        let enough = self.length + CHUNK;
        while self.length < enough
            && let Some(item) = self.items.get(self.measured)
        {
            let start = self.kept.len();
            self.print.write(&mut self.kept, item);
            self.length += self.kept.len() - start;
            if self.n_kept == self.measured && self.kept.len() <= KEPT {
                self.n_kept += 1;
            } else {
                self.kept.truncate(start);
            }
            self.measured += 1;
        }
        self.measured == self.items.len()
    }

    fn finish(mut self) -> Pieces {
        let field = |name: &str| self.shell.get(name).unwrap_or(&Value::Null);
        let (version, kind) = (text(field("apiVersion"), &[]), text(field("kind"), &[]));
        let metadata = field("metadata").to_string();
        let head = protobuf::list_head(version, kind, metadata.as_bytes(), self.length);
        let head = head.expect("every kind of the table has a list of its own");
        let left = head.len() + self.length + protobuf::END.len();
        let mut made = BytesMut::with_capacity(head.len() + self.kept.len() + protobuf::END.len());
        made.extend_from_slice(&head);
        made.extend_from_slice(&self.kept);
        self.items.drain(..self.n_kept);
        let end = Bytes::from_static(protobuf::END);
        let items = self.items.into_iter();
        let mut pieces =
            Pieces { made, items, print: self.print, between: b"", end, left: Some(left) };
        if pieces.items.len() == 0 {
            pieces.make();
        }
        pieces
    }
}

// === impl List ===

impl http_body::Body for List {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        *self = match std::mem::replace(&mut *self, List::Sent) {
            List::Measuring(mut list) => match list.measure() {
                true => List::Sending(Box::new(list.finish())),
                false => List::Measuring(list),
            },
            other => other,
        };
        match &mut *self {
            List::Sending(pieces) => Pin::new(&mut **pieces).poll_frame(context),
            List::Sent => Poll::Ready(None),
            List::Measuring(_) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            List::Sending(pieces) => pieces.is_end_stream(),
            List::Measuring(_) => false,
            List::Sent => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            List::Sending(pieces) => pieces.size_hint(),
            List::Measuring(_) | List::Sent => SizeHint::default(),
        }
    }
}
