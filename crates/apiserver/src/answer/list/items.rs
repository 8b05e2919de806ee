//! One item of a list, in the requested format.

use std::sync::Arc;

use bytes::{BufMut as _, BytesMut};
use evenkeel_store::Object;
use serde_json::{Value, json};

use super::super::{View, indent::indent, options, yaml};
use crate::{
    document,
    kinds::KindRef,
    negotiate::{Media, Shape},
    protobuf::ListEncoder,
    table,
};

/// Nesting depth of list items.
const DEPTH: usize = 2;

pub(super) struct Items {
    kind: KindRef,
    view: View,
    /// The text of one item, before printing.
    text: BytesMut,
    /// If they are sent in protobuf.
    encoder: Option<ListEncoder>,
}

impl Items {
    pub(super) fn new(kind: KindRef, view: View) -> Items {
        let encoder = match (view.format.media, view.format.shape) {
            (Media::Protobuf, Shape::PartialList(_) | Shape::Partial(_)) => {
                ListEncoder::new("meta.k8s.io/v1", "PartialObjectMetadata").ok()
            }
            (Media::Protobuf, _) => ListEncoder::new(&kind.api_version(), &kind.kind).ok(),
            _ => None,
        };
        Items { kind, view, text: BytesMut::new(), encoder }
    }

    /// The rows of a table in their order, everything else as it is.
    pub(super) fn ordered(&self, mut items: Vec<Arc<Object>>) -> Vec<Arc<Object>> {
        if let (Shape::Table(_), Some(rank)) =
            (self.view.format.shape, self.kind.strategy.row_rank())
        {
            items.sort_by_cached_key(|item| rank(&self.parsed(item)));
        }
        items
    }

    /// The total length of all items, if known before they are encoded.
    pub(super) fn lengths(&self, items: &[Arc<Object>]) -> Option<usize> {
        let known = items.iter().all(|item| self.view.is_stored_text(&self.kind, item));
        known.then(|| items.iter().map(|item| document::item_len(&self.kind, item)).sum())
    }

    pub(super) fn write(&mut self, out: &mut BytesMut, object: &Object) {
        let format = self.view.format;
        match format.media {
            Media::Yaml => {
                // Printed inside a list of one item, so that its lines are indented correctly.
                let list = yaml(&json!({"items": [self.value(object)]}));
                out.put_slice(list.strip_prefix("items:\n").unwrap_or(&list).as_bytes());
            }
            Media::Json if format.pretty => {
                let mut text = std::mem::take(&mut self.text);
                text.clear();
                self.compact(&mut text, object);
                indent(out, &text, DEPTH);
                self.text = text;
            }
            Media::Json => self.compact(out, object),
            Media::Protobuf => self.message(out, object),
        }
    }

    fn message(&mut self, out: &mut BytesMut, object: &Object) {
        let Some(mut encoder) = self.encoder.take() else { return };
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        self.compact(&mut text, object);
        if encoder.item(&text, out).is_err() {
            let shown = encoder.item(self.value(object).to_string().as_bytes(), out);
            debug_assert!(shown.is_ok(), "what is shown instead is an object of its type");
        }
        (self.text, self.encoder) = (text, Some(encoder));
    }

    fn compact(&self, out: &mut BytesMut, object: &Object) {
        if self.view.is_as_stored(&self.kind, object) {
            return document::write_item(out, &self.kind, object);
        }
        let wrote = serde_json::to_writer(out.writer(), &self.value(object));
        debug_assert!(wrote.is_ok(), "writing to memory does not fail");
    }

    fn value(&self, object: &Object) -> Value {
        let View { format, now, .. } = self.view;
        let mut value = self.kind.presented(self.parsed(object));
        self.view.hide(&self.kind, &mut value);
        match format.shape {
            Shape::Table(version) => {
                table::row(&self.kind, &value, options(self.view, version), now)
            }
            Shape::PartialList(version) | Shape::Partial(version) => {
                table::partial(&value, version)
            }
            Shape::Object => {
                if self.kind.custom.is_none()
                    && let Some(fields) = value.as_object_mut()
                {
                    fields.remove("kind");
                    fields.remove("apiVersion");
                }
                value
            }
        }
    }

    /// An object that can't be read is shown by its name, so that the rest of the list remains
    /// readable.
    fn parsed(&self, object: &Object) -> Value {
        document::value(self.kind.stored_kind(), object).unwrap_or_else(|_| {
            let mut metadata = super::super::revision_meta(object.revision);
            metadata["name"] = object.name().into();
            if let Some(namespace) = object.namespace() {
                metadata["namespace"] = namespace.into();
            }
            json!({"metadata": metadata})
        })
    }
}
