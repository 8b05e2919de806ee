//! Objects, lists and watch events as they are sent.

use bytes::{BufMut as _, BytesMut};
use evenkeel_store::schema::Type;

use super::{
    MAGIC, ProtobufError, encode, kind,
    wire::{COUNTED, put_counted, put_tag, put_varint, wrap},
};

/// What follows the message: no encoding, and no other content type.
pub(crate) const END: &[u8] = &[3 << 3 | COUNTED, 0, 4 << 3 | COUNTED, 0];

/// The number of the items in the message of a list.
const ITEMS: u32 = 2;

/// The body of an object, which is JSON.
pub(crate) fn object(version: &str, name: &str, json: &[u8]) -> Result<Vec<u8>, ProtobufError> {
    let mut out = Vec::with_capacity(json.len() + 64);
    put_type(version, name, &mut out);
    let start = out.len();
    encode::message(of(version, name)?, json, &mut out)?;
    wrap(&mut out, 2, start);
    out.extend_from_slice(END);
    Ok(out)
}

/// A frame of a watch: its length in four bytes, and a `WatchEvent` with the body of an
/// object.
pub(crate) fn watch_event(what: &str, object: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.len() + 32);
    out.extend_from_slice(&[0; 4]);
    put_counted(&mut out, 1, what.as_bytes());
    let start = out.len();
    put_counted(&mut out, 1, object);
    wrap(&mut out, 2, start);
    let length = u32::try_from(out.len() - 4).unwrap_or(u32::MAX);
    out[..4].copy_from_slice(&length.to_be_bytes());
    out
}

/// The beginning of a list whose items have this total length; they and [`END`]
/// follow. `metadata` is JSON.
pub(crate) fn list_head(
    version: &str,
    name: &str,
    metadata: &[u8],
    items: usize,
) -> Result<Vec<u8>, ProtobufError> {
    let mut out = Vec::new();
    put_type(version, name, &mut out);
    let shell = [b"{\"metadata\":", metadata, b"}"].concat();
    let mut head = Vec::new();
    encode::message(of(version, name)?, &shell, &mut head)?;
    put_tag(&mut out, 2, COUNTED);
    put_varint(&mut out, (head.len() + items) as u64);
    out.extend_from_slice(&head);
    Ok(out)
}

/// Encodes the items of a list.
#[derive(Debug)]
pub(crate) struct ListEncoder {
    item: &'static Type,
    message: Vec<u8>,
}

// === impl ListEncoder ===

impl ListEncoder {
    /// For items of this kind.
    pub(crate) fn new(version: &str, name: &str) -> Result<ListEncoder, ProtobufError> {
        Ok(ListEncoder { item: of(version, name)?, message: Vec::new() })
    }

    /// Appends an item, which is JSON; nothing if it can't be encoded.
    pub(crate) fn item(&mut self, json: &[u8], out: &mut BytesMut) -> Result<(), ProtobufError> {
        self.message.clear();
        encode::message(self.item, json, &mut self.message)?;
        wrap(&mut self.message, ITEMS, 0);
        out.put_slice(&self.message);
        Ok(())
    }
}

fn put_type(version: &str, kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    let start = out.len();
    put_counted(out, 1, version.as_bytes());
    put_counted(out, 2, kind.as_bytes());
    wrap(out, 1, start);
}

fn of(version: &str, name: &str) -> Result<&'static Type, ProtobufError> {
    kind(version, name).ok_or_else(|| ProtobufError::UnknownKind {
        version: version.to_owned(),
        kind: name.to_owned(),
    })
}
