//! Atomic tests: one attribute against a literal.
//!
//! The proposal prints the operator as a key without a value, and the operands as its siblings:
//! `- superSet:`, then `field:` and `set:` at the same depth. The usual form has the operands
//! inside: `- superSet: {field: groups, set: […]}`. Both are read; the latter is written.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::json;

use crate::config::Field;

#[derive(Clone, Debug, PartialEq)]
pub struct AtomicTest {
    pub field: Field,
    pub operand: Operand,
    /// The inverse of the test, `notEquals` for instance.
    pub negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Equals(String),
    InSet(Vec<String>),
    SuperSet(Vec<String>),
    PatternMatch(String),
}

/// The attributes by the names they have in tests; headers are `header:<name>`.
const FIELDS: [(&str, Field); 10] = [
    ("user", Field::User),
    ("groups", Field::Groups),
    ("verb", Field::Verb),
    ("apiGroup", Field::ApiGroup),
    ("resource", Field::Resource),
    ("subresource", Field::Subresource),
    ("namespace", Field::Namespace),
    ("name", Field::Name),
    ("path", Field::Path),
    ("method", Field::Method),
];

const OPERATORS: [&str; 8] = [
    "equals",
    "inSet",
    "superSet",
    "patternMatch",
    "notEquals",
    "notInSet",
    "notSuperSet",
    "notPatternMatch",
];

/// The name of a header, in lower case, if it can be one.
pub(super) fn header_name(name: &str) -> Option<String> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    (!name.is_empty() && name.chars().all(token)).then(|| name.to_ascii_lowercase())
}

// === Reading ===

impl<'de> Deserialize<'de> for AtomicTest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TestVisitor)
    }
}

struct TestVisitor;

impl<'de> Visitor<'de> for TestVisitor {
    type Value = AtomicTest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a test: one of {}, with its operands", OPERATORS.join(", "))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AtomicTest, A::Error> {
        let mut operator: Option<(String, Option<Operands>)> = None;
        let mut siblings = Operands::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "field" => siblings.field = Some(map.next_value()?),
                "value" => siblings.value = Some(map.next_value()?),
                "set" => siblings.set = Some(map.next_value()?),
                "pattern" => siblings.pattern = Some(map.next_value()?),
                _ if !OPERATORS.contains(&key.as_str()) => {
                    return Err(de::Error::unknown_field(&key, &OPERATORS));
                }
                _ => {
                    if let Some((first, _)) = operator {
                        return Err(de::Error::custom(format!(
                            "both {first} and {key}; a test has one operator"
                        )));
                    }
                    operator = Some((key, map.next_value()?));
                }
            }
        }
        let Some((operator, nested)) = operator else {
            let operators = OPERATORS.join(", ");
            return Err(de::Error::custom(format!("has no operator, one of {operators}")));
        };
        match nested {
            None => siblings.test(&operator),
            Some(nested) if siblings.is_empty() => nested.test(&operator),
            Some(_) => {
                return Err(de::Error::custom(format!(
                    "has operands both inside and beside {operator}"
                )));
            }
        }
        .map_err(de::Error::custom)
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Operands {
    field: Option<FieldName>,
    value: Option<String>,
    set: Option<Vec<String>>,
    pattern: Option<String>,
}

impl Operands {
    fn is_empty(&self) -> bool {
        matches!(self, Operands { field: None, value: None, set: None, pattern: None })
    }

    fn test(self, operator: &str) -> Result<AtomicTest, String> {
        let Operands { field, value, set, pattern } = self;
        let Some(FieldName(field)) = field else {
            return Err(format!("{operator} needs `field`"));
        };
        let positive = operator.strip_prefix("not").unwrap_or(operator);
        let operand = match (positive, value, set, pattern) {
            ("equals" | "Equals", Some(value), None, None) => Operand::Equals(value),
            ("inSet" | "InSet", None, Some(set), None) => Operand::InSet(set),
            ("superSet" | "SuperSet", None, Some(set), None) => Operand::SuperSet(set),
            ("patternMatch" | "PatternMatch", None, None, Some(pattern)) => {
                Operand::PatternMatch(pattern)
            }
            _ => {
                let operand = operand_of(positive);
                return Err(format!("{operator} takes `field` and `{operand}`, and nothing else"));
            }
        };
        Ok(AtomicTest { field, operand, negated: operator.starts_with("not") })
    }
}

fn operand_of(positive: &str) -> &'static str {
    match positive {
        "equals" | "Equals" => "value",
        "patternMatch" | "PatternMatch" => "pattern",
        _ => "set",
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct FieldName(Field);

impl TryFrom<String> for FieldName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if let Some(header) = name.strip_prefix("header:") {
            return match header_name(header) {
                Some(header) => Ok(FieldName(Field::Header(header.into()))),
                None => Err(format!("{name:?} names no header")),
            };
        }
        let known = FIELDS.iter().find(|(known, _)| *known == name);
        known.map(|(_, field)| FieldName(field.clone())).ok_or_else(|| {
            let known = FIELDS.map(|(known, _)| known).join(", ");
            format!("no attribute {name:?}; there are {known} and header:<name>")
        })
    }
}

// === Writing ===

impl Serialize for AtomicTest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let field = match &self.field {
            Field::Header(name) => format!("header:{name}"),
            field => {
                let known = FIELDS.iter().find(|(_, known)| known == field);
                known.map_or_else(String::new, |(name, _)| (*name).to_owned())
            }
        };
        let (plain, inverse, operands) = match &self.operand {
            Operand::Equals(value) => {
                ("equals", "notEquals", json!({"field": field, "value": value}))
            }
            Operand::InSet(set) => ("inSet", "notInSet", json!({"field": field, "set": set})),
            Operand::SuperSet(set) => {
                ("superSet", "notSuperSet", json!({"field": field, "set": set}))
            }
            Operand::PatternMatch(pattern) => {
                ("patternMatch", "notPatternMatch", json!({"field": field, "pattern": pattern}))
            }
        };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(if self.negated { inverse } else { plain }, &operands)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_every_operator_read_the_same_and_write_the_usual_one() {
        for operator in OPERATORS {
            let positive = operator.strip_prefix("not").unwrap_or(operator);
            let name = operand_of(positive);
            let operand = if name == "set" { json!(["a"]) } else { json!("a") };
            let nested = json!({operator: {"field": "user", name: operand}});
            let printed = json!({operator: null, "field": "user", name: operand});
            let read: AtomicTest = serde_json::from_value(nested.clone()).unwrap();
            assert_eq!(read, serde_json::from_value(printed).unwrap(), "{operator}");
            assert_eq!(read.negated, operator.starts_with("not"), "{operator}");
            assert_eq!(serde_json::to_value(&read).unwrap(), nested, "{operator}");
        }
    }

    #[test]
    fn every_attribute_is_read_and_written() {
        let names = FIELDS.map(|(name, _)| name.to_owned());
        for name in names.into_iter().chain(["header:x-tenant".to_owned()]) {
            let test = json!({"equals": {"field": name, "value": "a"}});
            let read: AtomicTest = serde_json::from_value(test.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), test);
        }
    }
}
