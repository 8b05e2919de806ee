//! Documents with custom resources, put together from parts.
//!
//! ```text
//! {"openapi":…,"paths":{ part part … base },"components":{"schemas":{ part part … base }}}
//! ```
//!
//! A part is encoded once, so a document costs one pointer per part, however large: its chunks are
//! sent as they are cached. In protobuf the parts are just concatenated: a message that occurs
//! twice is merged by its reader.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{Chunks, custom::OpenApi, gnostic, hash, v2, v3};
use crate::kinds::catalogue::CustomResource;

/// A part of a document in both encodings, each generated at first request.
#[derive(Debug, Default)]
pub(super) struct Part {
    json: OnceLock<Members>,
    protobuf: OnceLock<Bytes>,
}

/// The members of the objects for paths and for schemas, each with a comma behind it.
#[derive(Debug)]
struct Members {
    paths: Bytes,
    schemas: Bytes,
}

/// The document of a group version, or of version 2, with its custom resources.
#[derive(Debug)]
pub(super) struct Assembled {
    pub(super) base: Base,
    /// `None`: all, in version 2.
    pub(super) version: Option<Box<str>>,
    pub(super) customs: Vec<Arc<CustomResource>>,
}

/// The part of a document that does not depend on custom resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Everything built in.
    V2,
    /// The types that custom resources refer to.
    V3,
    /// A group version that has built-in kinds too.
    BuiltIn(String),
}

// === impl Assembled ===

impl Assembled {
    pub(super) fn json(&self) -> Chunks {
        let own = self.base.part();
        let own = own.members(self.openapi(), || self.base.value());
        let customs = || self.customs.iter().filter_map(|custom| self.members(custom));
        let paths = customs().map(|one| &one.paths).chain([&own.paths]);
        let schemas = customs().map(|one| &one.schemas).chain([&own.schemas]);
        let [head, between, end] = self.frame();
        let mut chunks = vec![head];
        chunks.extend(without_last_comma(paths));
        chunks.push(between);
        chunks.extend(without_last_comma(schemas));
        chunks.push(end);
        chunks.into()
    }

    pub(super) fn protobuf(&self) -> Chunks {
        let version = self.version.as_deref();
        let own = self.base.part().encoded(self.openapi(), || self.whole_base());
        let customs = self.customs.iter().filter_map(|custom| {
            let part = custom.part(version)?;
            Some(part.encoded(self.openapi(), || custom.described(version)))
        });
        [own].into_iter().chain(customs).collect::<Vec<_>>().into()
    }

    fn members<'a>(&self, custom: &'a CustomResource) -> Option<&'a Members> {
        let version = self.version.as_deref();
        let part = custom.part(version)?;
        Some(part.members(self.openapi(), || custom.described(version)))
    }

    fn openapi(&self) -> OpenApi {
        if self.base == Base::V2 { OpenApi::V2 } else { OpenApi::V3 }
    }

    /// What is around the paths and the schemas.
    fn frame(&self) -> [Bytes; 3] {
        let between: &[u8] = match self.openapi() {
            OpenApi::V2 => b"},\"definitions\":{",
            OpenApi::V3 => b"},\"components\":{\"schemas\":{",
        };
        let fields = self.outside();
        let fields: String =
            fields.iter().map(|(name, value)| format!("\"{name}\":{value},")).collect();
        let end = if self.openapi() == OpenApi::V2 { "}}" } else { "}}}" };
        [format!("{{{fields}\"paths\":{{").into(), Bytes::from_static(between), end.into()]
    }

    /// The fields of the document beside paths and schemas.
    fn outside(&self) -> Map<String, Value> {
        match self.openapi() {
            OpenApi::V2 => v2::about(),
            OpenApi::V3 => v3::about_custom(),
        }
    }

    fn whole_base(&self) -> Value {
        let mut value = self.base.value();
        if let Value::Object(document) = &mut value {
            document.extend(self.outside());
        }
        value
    }
}

/// Of what is in a document, in the order of its parts.
pub(super) fn hash_of<'a>(
    base: &Base,
    customs: impl Iterator<Item = &'a CustomResource>,
) -> String {
    // Another version of this program may generate other documents from the same definitions.
    let mut bytes = concat!(env!("CARGO_PKG_VERSION"), "\n").as_bytes().to_vec();
    bytes.extend(base.hash().as_bytes());
    customs.for_each(|custom| bytes.extend(custom.serving.to_le_bytes()));
    hash(&bytes)
}

// === impl Base ===

impl Base {
    /// Of a group version; `name` is that of its document.
    pub(super) fn of(name: &str) -> Base {
        match super::built_in(name) {
            Some(_) => Base::BuiltIn(name.to_owned()),
            None => Base::V3,
        }
    }

    fn value(&self) -> Value {
        match self {
            Base::V2 => v2::document(),
            Base::V3 => v3::with_common(None),
            Base::BuiltIn(name) => v3::with_common(Some(name)),
        }
    }

    /// Few groups have both, so that one is not cached.
    fn part(&self) -> BasePart {
        static V2: Part = Part::new();
        static V3: Part = Part::new();
        match self {
            Base::V2 => BasePart::Static(&V2),
            Base::V3 => BasePart::Static(&V3),
            Base::BuiltIn(_) => BasePart::Shared(Arc::default()),
        }
    }

    fn hash(&self) -> String {
        static V2: OnceLock<String> = OnceLock::new();
        static V3: OnceLock<String> = OnceLock::new();
        let new = |openapi| {
            let part = self.part();
            let Members { paths, schemas } = part.members(openapi, || self.value());
            hash(&[&paths[..], &schemas[..]].concat())
        };
        match self {
            Base::V2 => V2.get_or_init(|| new(OpenApi::V2)).clone(),
            Base::V3 => V3.get_or_init(|| new(OpenApi::V3)).clone(),
            Base::BuiltIn(name) => {
                super::built_in(name).map_or_else(String::new, |one| one.hash().to_owned())
            }
        }
    }
}

type BasePart = crate::kinds::Held<Part>;

// === impl Part ===

impl Part {
    const fn new() -> Part {
        Part { json: OnceLock::new(), protobuf: OnceLock::new() }
    }

    fn members(&self, openapi: OpenApi, generate: impl FnOnce() -> Value) -> &Members {
        self.json.get_or_init(|| {
            let value = generate();
            let schemas = match openapi {
                OpenApi::V2 => &value["definitions"],
                OpenApi::V3 => &value["components"]["schemas"],
            };
            Members { paths: members(&value["paths"]), schemas: members(schemas) }
        })
    }

    fn encoded(&self, openapi: OpenApi, generate: impl FnOnce() -> Value) -> Bytes {
        let encode = || match openapi {
            OpenApi::V2 => gnostic::v2(&generate()).into(),
            OpenApi::V3 => gnostic::v3(&generate()).into(),
        };
        self.protobuf.get_or_init(encode).clone()
    }
}

/// The text of an object's members.
fn members(object: &Value) -> Bytes {
    let mut text = object.to_string();
    if text.len() <= "{}".len() {
        return Bytes::new();
    }
    text.truncate(text.len() - 1);
    text.push(',');
    Bytes::from(text).slice(1..)
}

fn without_last_comma<'a>(members: impl Iterator<Item = &'a Bytes>) -> Vec<Bytes> {
    let mut all: Vec<Bytes> = members.filter(|one| !one.is_empty()).cloned().collect();
    if let Some(last) = all.last_mut() {
        last.truncate(last.len() - 1);
    }
    all
}
