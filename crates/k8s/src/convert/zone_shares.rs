//! The annotation `evenkeel.dev/zone-shares`, read and written.
//!
//! `{"zone-a":{"zone-a":1000},"zone-b":{"zone-a":250,"zone-b":750}}`: for each client zone the parts
//! per 1,000 that go to the endpoints of each zone. Whatever is wrong with a table makes it unusable
//! as a whole, with a reason; the slice that carries it stays as good as it is. Reading takes time
//! in proportion to the text, and no text above [`MOST_SHARES_BYTES`] is looked at.

use std::{collections::BTreeMap, fmt, sync::Arc};

use evenkeel_model::{
    MOST_SHARES_BYTES, Names, PARTS, SharesAnnotation, SharesError, ZoneId, ZoneShares,
};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::excerpt;

/// What the annotation says.
pub fn zone_shares(text: &str, zones: &mut Names<ZoneId>) -> SharesAnnotation {
    match parse(text) {
        Ok(rows) => SharesAnnotation::Valid(Arc::new(ZoneShares::new(rows.into_iter().map(
            |(client, parts)| {
                let part = |(zone, part): (&str, u16)| (zones.intern(zone), part);
                let parts = parts.iter().map(|(zone, n)| (zone.as_str(), *n)).map(part).collect();
                (zones.intern(&client), parts)
            },
        )))),
        Err(why) => SharesAnnotation::Invalid(why),
    }
}

/// The text of the annotation: zones in the order of their names.
///
/// # Panics
/// With ids that are not from `zones`.
pub fn zone_shares_text(shares: &ZoneShares, zones: &Names<ZoneId>) -> String {
    let row = |parts: &[(ZoneId, u16)]| -> BTreeMap<&str, u16> {
        parts.iter().map(|(zone, part)| (&**zones.name(*zone), *part)).collect()
    };
    let rows: BTreeMap<&str, BTreeMap<&str, u16>> =
        shares.rows().iter().map(|r| (&**zones.name(r.client), row(&r.parts))).collect();
    serde_json::to_string(&rows).expect("names and numbers")
}

type Rows = Vec<(String, Vec<(String, u16)>)>;

fn parse(text: &str) -> Result<Rows, SharesError> {
    if text.len() > MOST_SHARES_BYTES {
        return Err(SharesError::SharesTooLong { bytes: text.len(), limit: MOST_SHARES_BYTES });
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let mut found = None;
    let table = Table { found: &mut found };
    let read = table.deserialize(&mut json).and_then(|rows| json.end().map(|()| rows));
    match (found, read) {
        (Some(found), _) => Err(found),
        (None, Ok(rows)) => Ok(rows),
        (None, Err(error)) => {
            Err(SharesError::SharesNotJson { problem: excerpt::message(&error.to_string()).into() })
        }
    }
}

/// Reads the whole table, so that its syntax is known; the first wrong value is kept.
struct Table<'a> {
    found: &'a mut Option<SharesError>,
}

struct Row<'a> {
    client: &'a str,
    found: &'a mut Option<SharesError>,
}

/// A whole number from 0 to 1,000, or `None`. No number is too large for it.
struct Part;

// === impl Table ===

impl<'de> DeserializeSeed<'de> for Table<'_> {
    type Value = Rows;

    fn deserialize<D: Deserializer<'de>>(self, given: D) -> Result<Rows, D::Error> {
        given.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Table<'_> {
    type Value = Rows;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of client zones")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Rows, A::Error> {
        let mut rows = BTreeMap::new();
        while let Some(client) = entries.next_key::<String>()? {
            let parts = entries.next_value_seed(Row { client: &client, found: self.found })?;
            if rows.insert(client.clone(), parts).is_some() {
                self.found.get_or_insert(repeated(&client));
            }
        }
        Ok(rows.into_iter().collect())
    }
}

// === impl Row ===

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = Vec<(String, u16)>;

    fn deserialize<D: Deserializer<'de>>(self, given: D) -> Result<Self::Value, D::Error> {
        given.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = Vec<(String, u16)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of zones with their parts for client zone {}", self.client)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut parts: BTreeMap<String, u16> = BTreeMap::new();
        while let Some(zone) = entries.next_key::<String>()? {
            let Some(part) = entries.next_value_seed(Part)? else {
                let (client, zone) = (self.client.into(), zone.into());
                self.found.get_or_insert(SharesError::SharePartOutOfRange { client, zone });
                continue;
            };
            if parts.insert(zone.clone(), part).is_some() {
                self.found.get_or_insert(repeated(&zone));
            }
        }
        let sum: u32 = parts.values().map(|part| u32::from(*part)).sum();
        if sum != u32::from(PARTS) {
            let client = self.client.into();
            self.found.get_or_insert(SharesError::ShareSumWrong { client, sum });
        }
        Ok(parts.into_iter().collect())
    }
}

fn repeated(zone: &str) -> SharesError {
    SharesError::ShareZoneRepeated { zone: zone.into() }
}

// === impl Part ===

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Option<u16>;

    fn deserialize<D: Deserializer<'de>>(self, given: D) -> Result<Option<u16>, D::Error> {
        given.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Option<u16>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 to 1000")
    }

    fn visit_u64<E: Error>(self, part: u64) -> Result<Option<u16>, E> {
        Ok(u16::try_from(part).ok().filter(|part| *part <= PARTS))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Option<u16>, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Option<u16>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<u16>, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Option<u16>, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Option<u16>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Option<u16>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Option<u16>, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"{"zone-a":{"zone-a":1000},"zone-b":{"zone-a":250,"zone-b":750}}"#;

    fn read(text: &str) -> Result<Arc<ZoneShares>, SharesError> {
        match zone_shares(text, &mut Names::default()) {
            SharesAnnotation::Valid(shares) => Ok(shares),
            SharesAnnotation::Invalid(why) => Err(why),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut zones = Names::default();
        // Interned in another order than that of the names.
        zones.intern("zone-b");
        let SharesAnnotation::Valid(shares) = zone_shares(EXAMPLE, &mut zones) else {
            panic!("the example is valid");
        };
        assert_eq!(zone_shares_text(&shares, &zones), EXAMPLE);
    }

    #[test]
    fn whatever_is_wrong_is_named() {
        use SharesError as E;
        let [a, b]: [Arc<str>; 2] = ["a", "b"].map(Into::into);
        let range = || E::SharePartOutOfRange { client: a.clone(), zone: b.clone() };
        let sum = |sum| E::ShareSumWrong { client: a.clone(), sum };
        let cases = [
            (r#"{"a":{"b":-1,"a":1001}}"#, range()),
            (r#"{"a":{"b":1e99,"a":1000}}"#, range()),
            (r#"{"a":{"b":999999999999999999999999,"a":1000}}"#, range()),
            (r#"{"a":{"b":1001}}"#, range()),
            (r#"{"a":{"b":0.5,"a":1000}}"#, range()),
            (r#"{"a":{"b":"500","a":500}}"#, range()),
            (r#"{"a":{"b":[1,[2]],"a":1000}}"#, range()),
            (r#"{"a":{"b":null,"a":1000}}"#, range()),
            (r#"{"a":{"a":999}}"#, sum(999)),
            (r#"{"a":{"a":1000,"b":1}}"#, sum(1001)),
            (r#"{"a":{}}"#, sum(0)),
            (r#"{"a":{"b":500,"b":500,"a":500}}"#, E::ShareZoneRepeated { zone: b.clone() }),
            (r#"{"a":{"a":1000},"a":{"a":1000}}"#, E::ShareZoneRepeated { zone: a.clone() }),
        ];
        for (text, why) in cases {
            assert_eq!(read(text), Err(why), "{text}");
        }
        for text in ["", "[]", "{", "null", "{\"a\":1}", "{\"a\":{\"a\":1000}} x", "{\"a\":[1000]}"]
        {
            assert!(matches!(read(text), Err(E::SharesNotJson { .. })), "{text}");
        }
        assert_eq!(read("{}").expect("a table without rows").rows().len(), 0);
    }

    #[test]
    fn a_long_text_is_not_looked_at() {
        let text = "[".repeat(1 << 20);
        let (bytes, limit) = (1 << 20, MOST_SHARES_BYTES);
        assert_eq!(read(&text), Err(SharesError::SharesTooLong { bytes, limit }));
        let deep = "[".repeat(MOST_SHARES_BYTES);
        assert!(matches!(read(&deep), Err(SharesError::SharesNotJson { .. })));
    }
}
