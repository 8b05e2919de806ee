//! The shapes JSON comes in, as seeds that put what they read where the caller wants it.
//!
//! Everywhere but as an item of an array `null` is the same as nothing at all, as in Kubernetes.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
};

/// Where the fields of a JSON object go.
pub(super) trait Fields {
    /// What this is, for an error that tells that something else was found.
    const EXPECTED: &'static str;

    /// Takes the value of `key`, which comes next in `values`. One that is not wanted is to be
    /// [skipped](skip). A key may come again: its last value counts.
    fn field<'de, A: MapAccess<'de>>(&mut self, key: &str, values: &mut A) -> Result<(), A::Error>;
}

/// Where the items of a JSON array go.
pub(super) trait Items {
    /// Takes the next item, and tells whether there was one.
    fn item<'de, A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error>;
}

/// An object, but not `null`.
pub(super) struct Object<'f, F>(pub(super) &'f mut F);

/// A string, but not `null`. It is handed over as it stands in the input, without a copy.
pub(super) struct Text<R>(pub(super) R);

pub(super) fn skip<'de, A: MapAccess<'de>>(values: &mut A) -> Result<(), A::Error> {
    values.next_value::<IgnoredAny>().map(drop)
}

pub(super) fn text<'de, A: MapAccess<'de>, T>(
    values: &mut A,
    read: impl FnOnce(&str) -> T,
) -> Result<Option<T>, A::Error> {
    values.next_value_seed(Nullable(Text(read)))
}

pub(super) fn flag<'de, A: MapAccess<'de>>(values: &mut A) -> Result<Option<bool>, A::Error> {
    values.next_value_seed(Nullable(Flag))
}

/// `Some` if there is an object.
pub(super) fn object<'de, A: MapAccess<'de>>(
    values: &mut A,
    fields: &mut impl Fields,
) -> Result<Option<()>, A::Error> {
    values.next_value_seed(Nullable(Object(fields)))
}

pub(super) fn array<'de, A: MapAccess<'de>>(
    values: &mut A,
    items: &mut impl Items,
) -> Result<(), A::Error> {
    values.next_value_seed(Nullable(Array(items))).map(|_| ())
}

/// A text that can only be `expected`: what an object says of its own type.
pub(super) fn constant<'de, A: MapAccess<'de>>(
    values: &mut A,
    expected: &'static str,
) -> Result<(), A::Error> {
    values.next_value_seed(Constant(expected))
}

struct Array<'i, I>(&'i mut I);

struct Constant(&'static str);

struct Flag;

struct Nullable<V>(V);

/// Borrowed from the input, unless it is written with escapes.
struct Key<'de>(Cow<'de, str>);

struct KeyVisitor;

// === impl Object ===

impl<'de, F: Fields> DeserializeSeed<'de> for Object<'_, F> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de, F: Fields> Visitor<'de> for Object<'_, F> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(F::EXPECTED)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            // Told apart here so that a borrowed key, which nearly all are, needs no drop.
            match key {
                Cow::Borrowed(key) => self.0.field(key, &mut map)?,
                Cow::Owned(key) => self.0.field(&key, &mut map)?,
            }
        }
        Ok(())
    }
}

// === impl Array ===

impl<'de, I: Items> DeserializeSeed<'de> for Array<'_, I> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de, I: Items> Visitor<'de> for Array<'_, I> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while self.0.item(&mut items)? {}
        Ok(())
    }
}

// === impl Text ===

impl<'de, T, R: FnOnce(&str) -> T> DeserializeSeed<'de> for Text<R> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<T, D::Error> {
        json.deserialize_str(self)
    }
}

impl<T, R: FnOnce(&str) -> T> Visitor<'_> for Text<R> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Ok((self.0)(text))
    }
}

// === impl Constant ===

impl<'de> DeserializeSeed<'de> for Constant {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Constant {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match text == self.0 {
            true => Ok(()),
            false => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

// === impl Flag ===

impl Visitor<'_> for Flag {
    type Value = bool;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean")
    }
    fn visit_bool<E: Error>(self, flag: bool) -> Result<bool, E> {
        Ok(flag)
    }
}

// === impl Nullable ===

/// Looks at a value once and takes what it finds. Asking for an option and then for what is in it
/// would look twice, which takes a tenth more time in all.
impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Nullable<V> {
    type Value = Option<V::Value>;
    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Nullable<V> {
    type Value = Option<V::Value>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }
    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    #[inline]
    fn visit_bool<E: Error>(self, flag: bool) -> Result<Self::Value, E> {
        self.0.visit_bool(flag).map(Some)
    }
    #[inline]
    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        self.0.visit_str(text).map(Some)
    }
    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        self.0.visit_map(map).map(Some)
    }
    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        self.0.visit_seq(items).map(Some)
    }
}

// === impl Key ===

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_identifier(KeyVisitor)
    }
}

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Key<'de>, E> {
        Ok(Key(key.into()))
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<Key<'de>, E> {
        Ok(Key(key.to_owned().into()))
    }
}
