//! OpenAPI documents: version 3 has one per group and version, version 2 one for everything.
//!
//! Paths come from the table of kinds, schemas from the table of types, descriptions from
//! `k8s-openapi`. A document is generated on first request and then cached. The documents never
//! change during the life of the process, so they are identified by their hash, and a response with
//! the right hash may be cached forever.

mod connect;
mod described;
mod gnostic;
mod operation;
mod parameters;
mod paths;
mod reply;
mod resources;
mod schemas;
mod v2;
mod v3;

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use self::reply::DocumentType;
pub(crate) use self::reply::{DocumentRequest, Reply};

/// A document in both encodings.
#[derive(Debug)]
pub(crate) struct Document {
    name: String,
    type_: DocumentType,
    json: Bytes,
    protobuf: OnceLock<Bytes>,
    hash: String,
}

/// The index: every document with the URL that includes its hash.
pub(crate) fn v3_index() -> &'static Document {
    static INDEX: OnceLock<Document> = OnceLock::new();
    INDEX.get_or_init(|| Document::new("", DocumentType::Index, &index()))
}

/// A document by its name in the index: `api/v1`, `apis/apps/v1`, `version`.
pub(crate) fn v3(name: &str) -> Option<&'static Document> {
    let (_, document) = v3_documents().iter().find(|(known, _)| known == name)?;
    Some(document.get_or_init(|| Document::new(name, DocumentType::V3, &v3::document(name))))
}

/// The one document of version 2.
pub(crate) fn v2() -> &'static Document {
    static DOCUMENT: OnceLock<Document> = OnceLock::new();
    DOCUMENT.get_or_init(|| Document::new("", DocumentType::V2, &v2::document()))
}

/// Names are few and known before any document is generated.
fn v3_documents() -> &'static [(String, OnceLock<Document>)] {
    static DOCUMENTS: OnceLock<Vec<(String, OnceLock<Document>)>> = OnceLock::new();
    DOCUMENTS.get_or_init(|| v3::names().into_iter().map(|name| (name, OnceLock::new())).collect())
}

fn index() -> Value {
    let documents = v3_documents().iter().filter_map(|(name, _)| Some((name.clone(), v3(name)?)));
    let addresses = documents
        .map(|(name, document)| (name, json!({ "serverRelativeURL": document.location() })));
    json!({ "paths": addresses.collect::<Map<_, _>>() })
}

// === impl Document ===

impl Document {
    fn new(name: &str, type_: DocumentType, value: &Value) -> Document {
        let json = Bytes::from(value.to_string());
        let hash = hash(&json);
        Document { name: name.to_owned(), type_, json, protobuf: OnceLock::new(), hash }
    }

    pub(crate) fn json(&self) -> Bytes {
        self.json.clone()
    }

    /// Rarely requested: the parsed document is not cached for it.
    pub(crate) fn protobuf(&self) -> Bytes {
        let encode = || {
            let value = serde_json::from_slice(&self.json).expect("a document is JSON");
            let encoded = if self.type_ == DocumentType::V2 {
                gnostic::v2(&value)
            } else {
                gnostic::v3(&value)
            };
            encoded.into()
        };
        self.protobuf.get_or_init(encode).clone()
    }

    /// The value of `?hash=`.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// The hash in quotes, as in the header `ETag`. Both encodings share it, as in Kubernetes:
    /// `Vary: Accept` distinguishes them.
    pub(crate) fn etag(&self) -> String {
        format!("\"{}\"", self.hash)
    }
}

/// 128 bits of FNV-1a in upper-case hexadecimal. It identifies versions of our own documents;
/// nobody gains from a collision, so it need not be cryptographic.
fn hash(bytes: &[u8]) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in bytes {
        hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
    }
    format!("{hash:032X}")
}

#[cfg(test)]
mod tests;
