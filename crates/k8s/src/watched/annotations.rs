//! Annotations, of which few are of interest and some are long.

use std::{collections::BTreeMap, fmt};

use evenkeel_model::label;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor},
};

/// Those that are read. All others are not even copied.
const KEPT: [&str; 11] = [
    label::TOPOLOGY_MODE,
    label::TOPOLOGY_AWARE_HINTS,
    label::TRAFFIC_DISTRIBUTION,
    label::SELECTOR,
    label::OVERLOAD_THRESHOLD,
    label::ZONE_SHARES,
    label::TRIGGER_TIME,
    label::SERVICES_IN_FORCE,
    label::SLICES_IN_FORCE,
    label::NOT_IN_FORCE,
    label::NOT_IN_FORCE_LEFT_OUT,
];

#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations(pub(super) BTreeMap<String, String>);

struct AnnotationsVisitor;
struct Key;

// === impl Annotations ===

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        given.deserialize_any(AnnotationsVisitor)
    }
}

impl<'de> Visitor<'de> for AnnotationsVisitor {
    type Value = Annotations;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("annotations")
    }

    fn visit_unit<E: Error>(self) -> Result<Annotations, E> {
        Ok(Annotations::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Annotations, A::Error> {
        let mut kept = BTreeMap::new();
        while let Some(key) = entries.next_key_seed(Key)? {
            let Some(key) = key else {
                entries.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: Option<String> = entries.next_value()?;
            kept.insert(key.to_owned(), value.unwrap_or_default());
        }
        Ok(Annotations(kept))
    }
}

impl From<&BTreeMap<String, String>> for Annotations {
    fn from(given: &BTreeMap<String, String>) -> Annotations {
        let kept = given.iter().filter(|(key, _)| KEPT.contains(&key.as_str()));
        Annotations(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
    }
}

// === impl Key ===

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, given: D) -> Result<Self::Value, D::Error> {
        given.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the key of an annotation")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(KEPT.into_iter().find(|key| *key == text))
    }
}
