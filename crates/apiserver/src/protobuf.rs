//! Objects in `application/vnd.kubernetes.protobuf`: bodies of requests and of responses.
//!
//! A body is four bytes of magic and a `runtime.Unknown` that names the object's kind and holds its
//! message. Messages are converted to and from the JSON of the same object, by the field numbers in
//! the table of types, so that all other code handles only one form.
//!
//! Go writes every field that is not a pointer, set or not. The zero value of such a field is
//! equivalent to its absence and is omitted in JSON; a pointer's zero value is kept. In the order of
//! their numbers, as Go writes fields, the bytes are those of kube-apiserver.
//!
//! The work and the result are linear in the body; messages nest at most [`MAX_DEPTH`] deep.

mod encode;
mod message;
mod special;
mod wire;
mod write;

use evenkeel_store::schema::{DecodeError, Type};
use serde_json::Value;

pub(crate) use self::write::{END, ListEncoder, list_head, object, watch_event};
use self::{
    message::MAX_DEPTH,
    wire::{Part, parts},
};
use crate::types;

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
    /// In a text to be encoded.
    #[error(transparent)]
    Text(#[from] DecodeError),
    #[error("the object is encoded as {0:?}, not as protobuf")]
    Encoding(String),
}

/// Decodes a body: its `apiVersion`, its `kind`, and the object as in JSON.
pub(crate) fn decode(body: &[u8]) -> Result<(String, String, Value), ProtobufError> {
    let envelope = Envelope::read(body.strip_prefix(MAGIC).ok_or(ProtobufError::NoMagic)?)?;
    let Some(of) = kind(envelope.version, envelope.kind) else {
        return Err(ProtobufError::UnknownKind {
            version: envelope.version.to_owned(),
            kind: envelope.kind.to_owned(),
        });
    };
    let mut object = message::object(of, envelope.raw)?;
    object.insert("apiVersion".to_owned(), envelope.version.into());
    object.insert("kind".to_owned(), envelope.kind.into());
    Ok((envelope.version.to_owned(), envelope.kind.to_owned(), Value::Object(object)))
}

/// The type of a kind. Delete options are a kind of every group; statuses and discovery documents
/// are kinds of the core group, or of none.
fn kind(version: &str, kind: &str) -> Option<&'static Type> {
    let name = match version.split_once('/') {
        None => format!("io.k8s.api.core.{version}.{kind}"),
        // Kubernetes' Go packages are named after the first label of their groups.
        Some(("apiextensions.k8s.io", version)) => {
            format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}.{kind}")
        }
        Some((group, version)) => {
            let package = group.split('.').next().unwrap_or(group);
            format!("io.k8s.api.{package}.{version}.{kind}")
        }
    };
    let is_meta = || {
        let has_meta = matches!(version, "" | "v1" | "meta.k8s.io/v1" | "meta.k8s.io/v1beta1");
        has_meta || kind == "DeleteOptions"
    };
    let meta = || format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}");
    let schema = types::schema();
    let found = schema.named(&name).or_else(|| is_meta().then(|| schema.named(&meta())).flatten());
    found.filter(|of| of.is_kind())
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
        for part in parts(bytes) {
            let part = part?;
            match part.number {
                1 => envelope.read_type(part.bytes("runtime.Unknown")?)?,
                2 => envelope.raw = part.bytes("runtime.Unknown")?,
                3 | 4 => plain_protobuf(&part)?,
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &'a [u8]) -> Result<(), ProtobufError> {
        for part in parts(bytes) {
            let part = part?;
            match part.number {
                1 => self.version = part.text("runtime.TypeMeta", "apiVersion")?,
                2 => self.kind = part.text("runtime.TypeMeta", "kind")?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The content encoding and type must be absent or name protobuf.
fn plain_protobuf(part: &Part<'_>) -> Result<(), ProtobufError> {
    match part.text("runtime.Unknown", "contentType")? {
        "" | "application/vnd.kubernetes.protobuf" => Ok(()),
        other => Err(ProtobufError::Encoding(other.to_owned())),
    }
}

#[cfg(test)]
mod tests;
