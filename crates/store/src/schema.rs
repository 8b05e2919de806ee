//! One table of type information: which fields exist and how they are decoded, printed and merged.
//!
//! The table is text (see [`Schema::parse`]), and the only source for everything that depends on a
//! type: [`decode`] reads a client's JSON, [`canonical`] converts a value to its printed form,
//! `patch` looks up merge keys, and the server describes its API with it. The rules are those of
//! Go's `encoding/json` as Kubernetes uses it (`sigs.k8s.io/json`).

mod base64;
mod canonical;
mod decode;
mod parse;
mod scan;
mod time;

use std::fmt;

use rustc_hash::FxHashMap;
use serde_json::Value;

pub(crate) use self::decode::{decode_list, read_alone};
pub use self::{
    canonical::canonical,
    decode::{any_json, check, check_within, decode, levels, type_meta, untyped},
    parse::SchemaError,
    scan::{Literal, Scanner, check_syntax, quoted},
    time::{Precision, canonical_time, unix_time},
};

/// Maximum nesting of objects and lists in stored values, including the outermost. The one limit
/// for JSON, YAML, protobuf and the results of patches.
///
/// Every later reader must be able to read what is stored: `serde_json`, here and in clients, stops
/// at 127, and a watch of tables adds four levels around an object. Kubernetes' own types need
/// fewer than 30. Go reads 10,000; every function that handles a value, even freeing it, would need
/// the stack for that.
pub const MOST_LEVELS: usize = 100;

/// All types, by name.
#[derive(Debug, Default)]
pub struct Schema {
    types: Vec<Type>,
    by_name: FxHashMap<Box<str>, TypeId>,
    /// The definition of a named list or map: `v1.ResourceList` to
    /// `map[v1.ResourceName]resource.Quantity`.
    aliases: FxHashMap<Box<str>, Box<str>>,
}

/// An index into the table. Valid only for the schema that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(u16);

/// A struct.
#[derive(Debug)]
pub struct Type {
    /// As OpenAPI names it: `io.k8s.api.core.v1.ServiceSpec`.
    pub name: Box<str>,
    /// As Go names it: `ServiceSpec`.
    pub go: Box<str>,
    /// Go's name of the package: `v1`.
    pub package: Box<str>,
    /// In the order of declaration, embedded ones in place.
    pub fields: Vec<Field>,
    /// Its index in the table.
    pub id: TypeId,
    /// Treated as a whole (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
    /// The fields are alternatives, see [`Shape::Either`].
    pub either: bool,
    /// `x-kubernetes-unions`.
    pub unions: Option<Value>,
    by_name: FxHashMap<Box<str>, u16>,
    /// Fields that are printed even if absent.
    printed: Vec<u16>,
    /// Numbered fields in the order of protobuf, each beside its number.
    numbered: Vec<(FieldNumber, u16)>,
}

/// One field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: Box<str>,
    pub shape: Shape,
    /// Go's type without the pointer: `[]v1.ServicePort`.
    pub go: Box<str>,
    pub pointer: bool,
    pub omit: Omit,
    /// Published in OpenAPI; not enforced here.
    pub required: bool,
    /// The default published in OpenAPI.
    pub default: Option<Value>,
    pub list: Option<ListType>,
    /// For a list of type map.
    pub keys: Box<[Box<str>]>,
    /// `x-kubernetes-map-type` of the field itself.
    pub map: Option<MapType>,
    pub patch: PatchStrategy,
    /// `patchMergeKey`.
    pub merge_key: Option<Box<str>>,
    /// The embedded structs that the field comes from, as errors name them: `VolumeSource`.
    pub via: Option<Box<str>>,
    /// In protobuf; kind and version have none, since the envelope of an object names them.
    pub number: Option<FieldNumber>,
}

/// The number of a field in protobuf, from the `protobuf:` tags of the Go types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldNumber {
    /// The number of the embedded struct, which is a message of its own in protobuf.
    pub within: Option<u32>,
    pub number: u32,
}

/// The type of a field, list element or map value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A string, with Go's name for its type: `string`, `v1.Protocol`.
    Text(Box<str>),
    Int32,
    Int64,
    Float,
    Bool,
    /// Base64.
    Bytes,
    Quantity,
    IntOrString,
    /// RFC 3339, whole seconds.
    Time,
    /// RFC 3339 with six digits.
    MicroTime,
    /// Read as text: no served kind uses it.
    Duration,
    /// Kept unchanged.
    Any,
    List(Box<Shape>),
    /// With string keys.
    Map(Box<Shape>),
    Struct(TypeId),
    /// The value of one field of a struct: the one that fits, see [`Type::alternative`]. In protobuf
    /// it is the struct.
    Either(TypeId),
}

/// When a field is omitted from the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omit {
    Never,
    /// If it is an empty list, map or string, zero, false or a nil pointer; never a struct.
    Empty,
    /// The same, and zero structs.
    Zero,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListType {
    Atomic,
    Set,
    Map,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    Atomic,
    Granular,
}

/// `patchStrategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    pub merge: bool,
    pub replace: bool,
    pub retain_keys: bool,
}

/// The result of decoding a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub value: Value,
    /// In document order, at most a hundred, and fewer if their paths are very long.
    pub unknown: Vec<Finding>,
}

/// A part of a text that was ignored. Displayed in Kubernetes' wording.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    Unknown(String),
    Duplicate(String),
    /// In the operations of a JSON patch.
    InPatch(Box<Finding>),
}

/// Why a text cannot be decoded into a type. Displayed in Go's wording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Invalid JSON.
    #[error("{0}")]
    Syntax(String),
    /// A value of the wrong type, or one that cannot be parsed.
    #[error("{0}")]
    Type(String),
    /// The value at this path is nested too deeply. Not Go's wording: its limit differs.
    #[error(
        "{0}: nested more than {MOST_LEVELS} levels deep; reduce the nesting, or keep the inner \
         part as a string"
    )]
    TooDeep(String),
}

/// The kind that a text declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMeta {
    pub api_version: String,
    pub kind: String,
}

// === impl Schema ===

impl Schema {
    pub fn named(&self, name: &str) -> Option<&Type> {
        self.by_name.get(name).map(|id| self.of(*id))
    }

    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.types.iter()
    }

    /// The type at an index returned by this schema.
    pub fn of(&self, id: TypeId) -> &Type {
        &self.types[usize::from(id.0)]
    }

    /// Go's name of the element type of a list or map type.
    pub(crate) fn inner<'a>(&'a self, go: &'a str) -> &'a str {
        let go = self.aliases.get(go).map_or(go, |target| target);
        match go.strip_prefix("[]") {
            Some(element) => element,
            None => go.split_once(']').map_or(go, |(_, element)| element),
        }
    }
}

// === impl TypeId ===

impl TypeId {
    /// The position of the type among [`Schema::types`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

// === impl Type ===

impl Type {
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.by_name.get(name).map(|at| &self.fields[usize::from(*at)])
    }

    /// The index of the field that a JSON value is of, by its first byte; for [`Shape::Either`].
    pub fn alternative(&self, first: u8) -> Option<usize> {
        self.fields.iter().position(|field| match field.shape {
            Shape::Struct(_) => first == b'{',
            Shape::List(_) => first == b'[',
            Shape::Bool => matches!(first, b't' | b'f'),
            _ => false,
        })
    }

    /// Whether values declare their kind.
    pub fn is_kind(&self) -> bool {
        self.field("kind").is_some_and(|field| field.via.as_deref() == Some("TypeMeta"))
    }

    /// The field of this number, in the type itself or in an embedded struct.
    pub fn numbered(&self, within: Option<u32>, number: u32) -> Option<&Field> {
        let wanted = FieldNumber { within, number };
        let found = self.numbered.binary_search_by_key(&wanted.order(), |(at, _)| at.order());
        let (at, field) = self.numbered[found.ok()?];
        (at == wanted).then(|| &self.fields[usize::from(field)])
    }

    /// Whether an embedded struct has this number.
    pub fn embeds(&self, number: u32) -> bool {
        let first = self.numbered.partition_point(|(at, _)| at.order() < (number, 0));
        self.numbered.get(first).is_some_and(|(at, _)| at.within == Some(number))
    }

    /// The numbered fields with their indices in `fields`, in the order of their numbers; those of
    /// an embedded struct are together.
    pub fn by_number(&self) -> impl Iterator<Item = (FieldNumber, usize, &Field)> {
        self.numbered.iter().map(|(number, at)| {
            let at = usize::from(*at);
            (*number, at, &self.fields[at])
        })
    }

    fn always_printed(&self) -> impl Iterator<Item = &Field> {
        self.printed.iter().map(|at| &self.fields[usize::from(*at)])
    }

    /// The index of a field in `fields`.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).map(|at| usize::from(*at))
    }
}

// === impl FieldNumber ===

impl FieldNumber {
    fn order(self) -> (u32, u32) {
        (self.within.unwrap_or(self.number), self.number)
    }
}

// === impl Finding ===

impl Finding {
    /// The path of the field.
    pub fn path(&self) -> &str {
        match self {
            Finding::Unknown(path) | Finding::Duplicate(path) => path,
            Finding::InPatch(finding) => finding.path(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Unknown(path) => write!(f, "unknown field {}", quoted(path)),
            Finding::Duplicate(path) => write!(f, "duplicate field {}", quoted(path)),
            Finding::InPatch(finding) => write!(f, "json patch {finding}"),
        }
    }
}

#[cfg(test)]
mod tests;
