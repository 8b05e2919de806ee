//! Request bodies in `application/vnd.kubernetes.protobuf`.
//!
//! A body is four bytes of magic and a `runtime.Unknown` that names the object's kind and holds its
//! message. The message is decoded with a table of field numbers (`protobuf/numbers.txt`) into the
//! JSON value of the same object, so that all later code handles only one form.
//!
//! Go writes every field that is not a pointer, set or not. The zero value of such a field is
//! equivalent to its absence and is omitted here; a pointer's zero value is kept.
//!
//! The work and the value are linear in the body; messages nest at most [`MAX_DEPTH`] deep.

mod message;
mod special;
mod table;
mod wire;

use serde_json::Value;

use self::{
    message::{MAX_DEPTH, Messages},
    table::Table,
    wire::{Field, fields},
};

const MAGIC: &[u8] = b"k8s\0";

/// Why a body can't be decoded.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum ProtobufError {
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    NoMagic,
    #[error("the message ends in the middle of {0}")]
    Truncated(&'static str),
    #[error("varint is longer than ten bytes")]
    Overflow,
    #[error("field {field} of {message} has wire type {wire}, which does not match its type")]
    WireType { message: String, field: u32, wire: u8 },
    #[error("{message}.{field} is not valid UTF-8")]
    Utf8 { message: String, field: String },
    #[error("messages are nested deeper than {MAX_DEPTH}")]
    TooDeep,
    #[error("{0} contains a time outside the years 1 to 9999")]
    Time(String),
    #[error("{0} contains invalid JSON")]
    Json(String),
    #[error("{0}")]
    JsonTooDeep(String),
    #[error("no kind {kind:?} is registered for version {version:?}")]
    UnknownKind { version: String, kind: String },
    #[error("the object is encoded as {0:?}, not as protobuf")]
    Encoding(String),
}

/// Decodes a body: its `apiVersion`, its `kind`, and the object as in JSON.
pub(crate) fn decode(body: &[u8]) -> Result<(String, String, Value), ProtobufError> {
    let envelope = Envelope::read(body.strip_prefix(MAGIC).ok_or(ProtobufError::NoMagic)?)?;
    let table = Table::kubernetes();
    let Some(message) = table.kind(envelope.version, envelope.kind) else {
        return Err(ProtobufError::UnknownKind {
            version: envelope.version.to_owned(),
            kind: envelope.kind.to_owned(),
        });
    };
    let mut object = Messages::of(table).object(message, envelope.raw)?;
    object.insert("apiVersion".to_owned(), envelope.version.into());
    object.insert("kind".to_owned(), envelope.kind.into());
    Ok((envelope.version.to_owned(), envelope.kind.to_owned(), Value::Object(object)))
}

/// `runtime.Unknown`: the type of the message, and the message.
#[derive(Debug, Default)]
struct Envelope<'a> {
    version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
}

// === impl Envelope ===

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Envelope<'a>, ProtobufError> {
        let mut envelope = Envelope::default();
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => envelope.read_type(field.bytes("runtime.Unknown")?)?,
                2 => envelope.raw = field.bytes("runtime.Unknown")?,
                3 | 4 => plain_protobuf(&field)?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &'a [u8]) -> Result<(), ProtobufError> {
        for field in fields(bytes) {
            let field = field?;
            match field.number {
                1 => self.version = field.text("runtime.TypeMeta", "apiVersion")?,
                2 => self.kind = field.text("runtime.TypeMeta", "kind")?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The content encoding and type must be absent or name protobuf.
fn plain_protobuf(field: &Field<'_>) -> Result<(), ProtobufError> {
    match field.text("runtime.Unknown", "contentType")? {
        "" | "application/vnd.kubernetes.protobuf" => Ok(()),
        other => Err(ProtobufError::Encoding(other.to_owned())),
    }
}

#[cfg(test)]
mod tests;
