//! Values of a peer that cannot grow with what it sends.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// The first items of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List<T, const MOST: usize> {
    pub items: Vec<T>,
    pub left_out: usize,
}

/// The first fields of an object, in the order in which they came.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pairs<T, const MOST: usize>(pub Vec<(String, T)>);

/// A part of the traffic, from 0 to 1. Another number is as good as none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share(pub Option<f64>);

/// Of a list of endpoints, how many there are and how many of them are healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Healthy {
    pub healthy: usize,
    pub all: usize,
}

/// Sums of floating-point numbers that are meant to be 1 may be slightly more.
const TOLERANCE: f64 = 1e-6;

struct Items<T>(PhantomData<T>);

#[derive(Deserialize)]
struct Endpoint {
    health: Option<String>,
}

// === impl List ===

impl<T, const MOST: usize> List<T, MOST> {
    pub(super) fn len(&self) -> usize {
        self.items.len() + self.left_out
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for List<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items::<Self>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Items<List<T, MOST>> {
    type Value = List<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut list = List { items: Vec::new(), left_out: 0 };
        while list.items.len() < MOST {
            match seq.next_element()? {
                Some(item) => list.items.push(item),
                None => return Ok(list),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {
            list.left_out += 1;
        }
        Ok(list)
    }
}

// === impl Pairs ===

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Pairs<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Items::<Self>(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Items<Pairs<T, MOST>> {
    type Value = Pairs<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while pairs.len() < MOST {
            match map.next_entry()? {
                Some(pair) => pairs.push(pair),
                None => return Ok(Pairs(pairs)),
            }
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Pairs(pairs))
    }
}

// === impl Share ===

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = Option::<f64>::deserialize(deserializer)?;
        let is_share = |share: &f64| (0.0..=1.0 + TOLERANCE).contains(share);
        Ok(Share(share.filter(is_share)))
    }
}

// === impl Healthy ===

impl<'de> Deserialize<'de> for Healthy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items::<Healthy>(PhantomData))
    }
}

impl<'de> Visitor<'de> for Items<Healthy> {
    type Value = Healthy;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of endpoints")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Healthy, A::Error> {
        let mut counts = Healthy::default();
        while let Some(endpoint) = seq.next_element::<Endpoint>()? {
            counts.all += 1;
            counts.healthy += usize::from(endpoint.health.as_deref() == Some("HEALTHY"));
        }
        Ok(counts)
    }
}
