//! One document of a manifest, as the parsers hand it out.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

use super::{
    Trouble,
    decode::{self, Decoded},
};

#[derive(Debug)]
pub(super) enum Document {
    Nothing,
    /// Not a mapping, but this, in words.
    NotAnObject(String),
    Object(Result<Decoded, Trouble>),
    /// Decoded by whoever knows whether its fields are to be kept.
    Service(Map<String, Value>),
    /// Without kind or apiVersion: fine in a typed list, wrong elsewhere.
    Untyped(Map<String, Value>),
    /// A mapping with `items`, which is what makes a list for `kubectl` too. Its own kind may
    /// stand behind its items.
    List(Option<TypeName>, Vec<Document>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeName {
    pub(super) api_version: String,
    pub(super) kind: String,
}

// === impl TypeName ===

impl TypeName {
    pub(super) fn of(fields: &Map<String, Value>) -> Option<Self> {
        let text = |key| fields.get(key).and_then(Value::as_str);
        let found = |key| text(key).filter(|text| !text.is_empty()).map(str::to_owned);
        Some(TypeName { api_version: found("apiVersion")?, kind: found("kind")? })
    }

    pub(super) fn is_service(&self) -> bool {
        self.api_version == "v1" && self.kind == "Service"
    }

    /// `Service` for `ServiceList`; nothing for a plain `List`.
    pub(super) fn of_items(self) -> Option<Self> {
        let kind = self.kind.strip_suffix("List")?;
        (!kind.is_empty())
            .then(|| TypeName { kind: kind.to_owned(), api_version: self.api_version })
    }
}

// === impl Document ===

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyDocument)
    }
}

struct AnyDocument;

impl<'de> Visitor<'de> for AnyDocument {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut fields = Map::new();
        let mut items = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "items" {
                fields.insert(key, map.next_value()?);
            } else if let Items::List(list) = map.next_value()? {
                items = Some(list);
            }
        }
        let name = TypeName::of(&fields);
        Ok(match (items, name) {
            (Some(items), name) => Document::List(name, items),
            (None, Some(name)) if name.is_service() => Document::Service(fields),
            (None, Some(name)) => Document::Object(decode::decode(&name, fields)),
            (None, None) => Document::Untyped(fields),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Document, A::Error> {
        let mut count = 0usize;
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        let s = if count == 1 { "" } else { "s" };
        Ok(Document::NotAnObject(format!("a list of {count} item{s}")))
    }

    fn visit_str<E>(self, text: &str) -> Result<Document, E> {
        let count = text.chars().count();
        let s = if count == 1 { "" } else { "s" };
        let found = format!("a string of {count} character{s}");
        Ok(Document::NotAnObject(found))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Document, E> {
        Ok(Document::NotAnObject(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Document, E> {
        Ok(Document::NotAnObject(format!("the number {value}")))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Document, E> {
        Ok(Document::NotAnObject(format!("the number {value}")))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Document, E> {
        Ok(Document::NotAnObject(format!("the number {value}")))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Document, E> {
        Ok(Document::NotAnObject(format!("the number {value}")))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Document, E> {
        Ok(Document::NotAnObject(format!("the number {value:e}")))
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::Nothing)
    }

    fn visit_none<E>(self) -> Result<Document, E> {
        Ok(Document::Nothing)
    }
}

/// What stands under the key `items`. None of the kinds that are read here has such a field, so
/// whatever is not a list belongs to a kind that is skipped.
enum Items {
    List(Vec<Document>),
    Other,
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyItems)
    }
}

struct AnyItems;

impl<'de> Visitor<'de> for AnyItems {
    type Value = Items;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Items::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Items, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Items::Other)
    }

    /// An empty list is `null` when Go wrote it.
    fn visit_unit<E>(self) -> Result<Items, E> {
        Ok(Items::List(Vec::new()))
    }

    fn visit_str<E>(self, _: &str) -> Result<Items, E> {
        Ok(Items::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Items, E> {
        Ok(Items::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Items, E> {
        Ok(Items::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Items, E> {
        Ok(Items::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Items, E> {
        Ok(Items::Other)
    }
}
