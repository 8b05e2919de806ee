//! Values as Kubernetes reads them: `null` is the same as nothing at all, also for an item of a
//! list or of a map.

use std::{collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use evenkeel_model::Few;
use k8s_openapi::jiff::Timestamp;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor},
};

/// `null` is the default.
pub(super) fn or_default<'de, D, T>(given: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(given)?.unwrap_or_default())
}

pub(super) fn list<'de, D, T>(given: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    given.deserialize_any(ListVisitor(PhantomData))
}

/// A list that nearly always has one item.
pub(super) fn few<'de, D, T>(given: D) -> Result<Few<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    given.deserialize_any(FewVisitor(PhantomData))
}

/// Labels, and maps like them.
pub(super) fn texts<'de, D>(given: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    given.deserialize_any(TextsVisitor)
}

/// Whether there is this text. Another, or `null`, is not it.
pub(super) fn is<'de, D: Deserializer<'de>>(given: D, text: &str) -> Result<bool, D::Error> {
    given.deserialize_any(IsVisitor(text))
}

/// Whether there is anything but `null`.
pub(super) fn is_present<'de, D: Deserializer<'de>>(given: D) -> Result<bool, D::Error> {
    Ok(Option::<IgnoredAny>::deserialize(given)?.is_some())
}

/// Whether there is a list or a map with anything in it.
pub(super) fn is_filled<'de, D: Deserializer<'de>>(given: D) -> Result<bool, D::Error> {
    given.deserialize_any(FilledVisitor)
}

/// A moment in seconds since 1970; anything else is none.
pub(super) fn time<'de, D: Deserializer<'de>>(given: D) -> Result<Option<i64>, D::Error> {
    given.deserialize_any(TimeVisitor)
}

/// A number of any size. What is too large for a port stays so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Number(pub(crate) i64);

/// A text that the model keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Arc<str>);

/// The number or the name of a port.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NumberOrName {
    Number(i64),
    Name(String),
}

struct ListVisitor<T>(PhantomData<T>);
struct FewVisitor<T>(PhantomData<T>);
struct TextVisitor;
struct TextsVisitor;
struct IsVisitor<'t>(&'t str);
struct FilledVisitor;
struct TimeVisitor;
struct NumberVisitor;
struct NumberOrNameVisitor;

// === impl Visitor ===

impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Option<T>>()? {
            list.push(item.unwrap_or_default());
        }
        Ok(list)
    }
}

impl<'de, T: Default + Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<Few<T>, E> {
        Ok(Few::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Few<T>, A::Error> {
        let Some(first) = items.next_element::<Option<T>>()? else { return Ok(Few::None) };
        let Some(second) = items.next_element::<Option<T>>()? else {
            return Ok(Few::One(first.unwrap_or_default()));
        };
        let mut list = vec![first.unwrap_or_default(), second.unwrap_or_default()];
        while let Some(item) = items.next_element::<Option<T>>()? {
            list.push(item.unwrap_or_default());
        }
        Ok(list.into_iter().collect())
    }
}

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(text.into())
    }
}

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of texts")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(BTreeMap::new())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut texts = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry::<String, Option<String>>()? {
            texts.insert(key, value.unwrap_or_default());
        }
        Ok(texts)
    }
}

impl Visitor<'_> for IsVisitor<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
        Ok(text == self.0)
    }
}

impl<'de> Visitor<'de> for FilledVisitor {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let mut filled = false;
        while items.next_element::<IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(filled)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<bool, A::Error> {
        let mut filled = false;
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            filled = true;
        }
        Ok(filled)
    }
}

impl<'de> Visitor<'de> for TimeVisitor {
    type Value = Option<i64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<i64>, E> {
        Ok(text.parse().ok().map(Timestamp::as_second))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<i64>, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Option<i64>, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Option<i64>, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Option<i64>, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Option<i64>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Option<i64>, A::Error> {
        FilledVisitor.visit_seq(items).map(|_| None)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Option<i64>, A::Error> {
        FilledVisitor.visit_map(entries).map(|_| None)
    }
}

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    /// Whole numbers beyond 64 bits come this way.
    fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
        if number.fract() != 0.0 {
            return Err(E::invalid_type(Unexpected::Float(number), &self));
        }
        Ok(Number(number as i64))
    }
}

impl Visitor<'_> for NumberOrNameVisitor {
    type Value = NumberOrName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a name")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<NumberOrName, E> {
        Ok(NumberOrName::Number(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<NumberOrName, E> {
        let Number(number) = NumberVisitor.visit_u64(number)?;
        Ok(NumberOrName::Number(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<NumberOrName, E> {
        let Number(number) = NumberVisitor.visit_f64(number)?;
        Ok(NumberOrName::Number(number))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<NumberOrName, E> {
        Ok(NumberOrName::Name(name.to_owned()))
    }
}

// === impl Deserialize ===

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        given.deserialize_any(NumberVisitor)
    }
}

impl<'de> Deserialize<'de> for NumberOrName {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        given.deserialize_any(NumberOrNameVisitor)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        given.deserialize_str(TextVisitor)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text(text.into())
    }
}
