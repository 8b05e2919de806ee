//! OpenAPI documents: version 3 has one per group and version, version 2 one for everything.
//!
//! Paths come from the table of kinds, schemas from the table of types, descriptions from
//! `k8s-openapi`; those of custom resources come from their definitions (`custom`). Nothing is
//! generated before it is requested. What is built in is cached for ever, the parts of a custom
//! resource as long as clients see no change of it, the list of all documents as long as the
//! catalogue. A document with custom resources is put together from these (`assembled`).
//!
//! Documents are identified by their hash, and a response with the right hash may be cached
//! forever. The hash of a document with custom resources is that of their definitions, so that the
//! index needs no document.

mod assembled;
mod chunks;
mod connect;
mod custom;
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

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use self::{
    assembled::{Assembled, Base, hash_of},
    reply::DocumentType,
};
pub(crate) use self::{
    chunks::Chunks,
    custom::Published,
    reply::{DocumentRequest, Reply},
};
use crate::kinds::{Catalogue, Held, catalogue::CustomResource};

/// A document in both encodings.
#[derive(Debug)]
pub(crate) struct Document {
    name: String,
    type_: DocumentType,
    content: Content,
    hash: String,
}

#[derive(Debug)]
enum Content {
    Whole { json: Bytes, protobuf: OnceLock<Bytes> },
    Assembled(Assembled),
}

/// The documents about a whole catalogue. Holds no text except for the index.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    index: OnceLock<Arc<Document>>,
    v2: OnceLock<Arc<Document>>,
}

/// The index: every document with the URL that includes its hash.
pub(crate) fn v3_index(served: &Catalogue) -> Arc<Document> {
    let new = || Arc::new(Document::new("", DocumentType::Index, &index(served)));
    served.openapi.index.get_or_init(new).clone()
}

/// A document by its name in the index: `api/v1`, `apis/example.com/v1`, `version`.
pub(crate) fn v3(served: &Catalogue, name: &str) -> Option<Held<Document>> {
    let mut words = name.split('/');
    let customs = match (words.next(), words.next(), words.next(), words.next()) {
        (Some("apis"), Some(group), Some(version), None) => served.customs_of(group, version),
        _ => Vec::new(),
    };
    if customs.is_empty() {
        return built_in(name).map(Held::Static);
    }
    let customs: Vec<Arc<CustomResource>> = customs.into_iter().cloned().collect();
    let version = name.rsplit('/').next().map(Box::from);
    let assembled = Assembled { base: Base::of(name), version, customs };
    Some(Held::Shared(Arc::new(Document::assembled(name, DocumentType::V3, assembled))))
}

/// The one document of version 2.
pub(crate) fn v2(served: &Catalogue) -> Arc<Document> {
    let new = || {
        let customs = served.customs().into_iter().cloned().collect();
        let assembled = Assembled { base: Base::V2, version: None, customs };
        Arc::new(Document::assembled("", DocumentType::V2, assembled))
    };
    served.openapi.v2.get_or_init(new).clone()
}

/// A document without custom resources.
fn built_in(name: &str) -> Option<&'static Document> {
    let (_, document) = built_ins().iter().find(|(known, _)| known == name)?;
    Some(document.get_or_init(|| Document::new(name, DocumentType::V3, &v3::document(name))))
}

/// Names are few and known before any document is generated.
fn built_ins() -> &'static [(String, OnceLock<Document>)] {
    static DOCUMENTS: OnceLock<Vec<(String, OnceLock<Document>)>> = OnceLock::new();
    DOCUMENTS.get_or_init(|| v3::names().into_iter().map(|name| (name, OnceLock::new())).collect())
}

fn index(served: &Catalogue) -> Value {
    let documents = built_ins().iter().filter_map(|(name, _)| Some((name, built_in(name)?)));
    let mut hashes: BTreeMap<String, String> =
        documents.map(|(name, document)| (name.clone(), document.hash.clone())).collect();
    let mut customs: BTreeMap<String, Vec<&CustomResource>> = BTreeMap::new();
    for custom in served.customs() {
        for kind in &custom.versions {
            let name = format!("apis/{}/{}", kind.group, kind.version);
            customs.entry(name).or_default().push(custom);
        }
    }
    for (name, customs) in customs {
        let hash = hash_of(&Base::of(&name), customs.into_iter());
        hashes.insert(name, hash);
    }
    let addresses = hashes.into_iter().map(|(name, hash)| {
        let address = reply::location(&name, &hash);
        (name, json!({ "serverRelativeURL": address }))
    });
    json!({ "paths": addresses.collect::<Map<_, _>>() })
}

// === impl Document ===

impl Document {
    fn new(name: &str, type_: DocumentType, value: &Value) -> Document {
        let json = Bytes::from(value.to_string());
        let hash = hash(&json);
        let content = Content::Whole { json, protobuf: OnceLock::new() };
        Document { name: name.to_owned(), type_, content, hash }
    }

    fn assembled(name: &str, type_: DocumentType, assembled: Assembled) -> Document {
        let hash = hash_of(&assembled.base, assembled.customs.iter().map(|custom| &**custom));
        Document { name: name.to_owned(), type_, content: Content::Assembled(assembled), hash }
    }

    pub(crate) fn json(&self) -> Chunks {
        match &self.content {
            Content::Whole { json, .. } => json.clone().into(),
            Content::Assembled(parts) => parts.json(),
        }
    }

    /// Rarely requested: the parsed document is not cached for it.
    pub(crate) fn protobuf(&self) -> Chunks {
        let encode = |json: &Bytes| {
            let value = serde_json::from_slice(json).expect("a document is JSON");
            gnostic::v3(&value).into()
        };
        match &self.content {
            Content::Whole { json, protobuf } => {
                protobuf.get_or_init(|| encode(json)).clone().into()
            }
            Content::Assembled(parts) => parts.protobuf(),
        }
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
