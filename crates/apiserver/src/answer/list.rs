//! Lists, in every format, encoded while they are sent.
//!
//! An item is a short prefix followed by the stored bytes, or derived from them: a row, the
//! metadata alone, indented lines, YAML. Items are encoded one at a time, as the client reads: the
//! first byte does not wait for the last object, and a list never needs as much memory again as its
//! objects.

mod items;
mod measured;
#[cfg(test)]
mod tests;

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
use serde_json::{Map, Value};

use self::items::Items;
use super::{View, indent::indent, yaml};
use crate::{
    kinds::KindRef,
    negotiate::{Media, ResponseFormat},
};

/// About as much as TLS sends at once.
const PIECE: usize = 64 << 10;

/// The parts of a list around its items.
struct ListFrame {
    head: Bytes,
    /// Before each item except the first.
    between: &'static [u8],
    end: Bytes,
}

/// The part of a list not yet sent.
struct Pieces {
    /// Encoded and not yet sent; initially the head.
    made: BytesMut,
    items: vec::IntoIter<Arc<Object>>,
    print: Items,
    between: &'static [u8],
    end: Bytes,
    /// Remaining bytes, if known.
    left: Option<usize>,
}

/// `shell` is the list without its items, which go into its field `name`. Returns the body, and
/// whether a part of it is encoded while it is sent.
pub(super) fn body(
    kind: &KindRef,
    items: Vec<Arc<Object>>,
    (shell, name): (&Map<String, Value>, &str),
    view: View,
) -> (Body, bool) {
    let print = Items::new(kind.clone(), view);
    let items = print.ordered(items);
    if view.format.media == Media::Protobuf {
        return measured::body(print, items, shell);
    }
    let ListFrame { head, between, end } = around(shell, name, view.format, items.is_empty());
    let left = print.lengths(&items).map(|texts| {
        let commas = items.len().saturating_sub(1) * between.len();
        head.len() + texts + commas + end.len()
    });
    let items = items.into_iter();
    let mut pieces = Pieces { made: BytesMut::from(head), items, print, between, end, left };
    pieces.make();
    pieces.into_body()
}

fn around(
    shell: &Map<String, Value>,
    name: &str,
    format: ResponseFormat,
    is_empty: bool,
) -> ListFrame {
    match format.media {
        Media::Yaml => in_yaml(shell, name, is_empty),
        Media::Json | Media::Protobuf => in_json(shell, name, format.pretty, is_empty),
    }
}

/// Kubernetes' field order, with the items last.
fn in_json(shell: &Map<String, Value>, name: &str, pretty: bool, is_empty: bool) -> ListFrame {
    let order = ["kind", "apiVersion", "metadata", "columnDefinitions"];
    let fields = order.iter().filter_map(|name| Some((name, shell.get(*name)?)));
    let fields: String = fields.map(|(name, value)| format!("\"{name}\":{value},")).collect();
    let (head, end) = (format!("{{{fields}\"{name}\":["), "]}");
    match pretty {
        false => ListFrame { head: head.into(), between: b",", end: end.into() },
        true => {
            let mut text = BytesMut::new();
            indent(&mut text, format!("{head}{end}").as_bytes(), 0);
            text.truncate(text.len() - "]\n}".len());
            let (before, end) = if is_empty { ("", "]\n}\n") } else { ("\n    ", "\n  ]\n}\n") };
            text.put_slice(before.as_bytes());
            ListFrame { head: text.freeze(), between: b",\n    ", end: end.into() }
        }
    }
}

/// Sorted by name, as in Kubernetes' YAML.
fn in_yaml(shell: &Map<String, Value>, name: &str, is_empty: bool) -> ListFrame {
    let part = |wanted: &dyn Fn(&str) -> bool| {
        let fields = shell.iter().filter(|(field, _)| wanted(field));
        let fields: Map<String, Value> =
            fields.map(|(field, value)| (field.clone(), value.clone())).collect();
        if fields.is_empty() { String::new() } else { yaml(&Value::Object(fields)) }
    };
    let (before, after) = (part(&|other| other < name), part(&|other| other > name));
    let none = if is_empty { " []" } else { "" };
    let head = format!("{before}{name}:{none}\n");
    ListFrame { head: head.into(), between: b"", end: after.into() }
}

impl Pieces {
    /// Encodes items until they fill a chunk.
    fn make(&mut self) {
        self.made.reserve(self.left.unwrap_or(PIECE).min(PIECE));
        while self.made.len() < PIECE
            && let Some(item) = self.items.next()
        {
            self.print.write(&mut self.made, &item);
            if self.items.len() > 0 {
                self.made.put_slice(self.between);
            }
        }
        if self.items.len() == 0 {
            self.made.put_slice(&std::mem::take(&mut self.end));
        }
    }

    fn into_body(self) -> (Body, bool) {
        match self.is_made() {
            // Its length is known and it is ready.
            true => (Body::from(self.made.freeze()), false),
            false => (Body::new(self), true),
        }
    }

    fn is_made(&self) -> bool {
        self.items.len() == 0 && self.end.is_empty()
    }

    fn next(&mut self) -> Option<Bytes> {
        if self.made.is_empty() {
            self.make();
        }
        let length = if self.made.len() > 2 * PIECE { PIECE } else { self.made.len() };
        let piece = self.made.split_to(length).freeze();
        debug_assert!(self.left.is_none_or(|left| piece.len() <= left), "no more than was told");
        self.left = self.left.map(|left| left.saturating_sub(piece.len()));
        (!piece.is_empty()).then_some(piece)
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.made.is_empty() && self.is_made()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, |left| SizeHint::with_exact(left as u64))
    }
}
