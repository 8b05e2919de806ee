//! Warnings about schemas: formats that are not checked, and sets of values that are not scalars.
//! An update warns only of what is new. Source: `strategy.go` of the kind's registry, and
//! `formats.go`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::schema;
use crate::{
    invalid::quoted,
    kinds::read::{at, text},
};

/// Formats of strings that are checked, without their dashes.
const FORMATS: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

pub(super) fn of(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(Found::of).unwrap_or_default();
    let found = Found::of(new);
    let formats = found.formats.into_iter().filter(|format| !known.seen.contains(format));
    let mut warnings: Vec<String> =
        formats.map(|format| format!("unrecognized format {}", quoted(format))).collect();
    let sets = found.sets.into_iter().filter(|type_| !known.sets.contains(type_));
    warnings.extend(sets.map(|type_| {
        let type_ = quoted(type_);
        format!("x-kubernetes-list-type: set for items of type {type_} is not supported by server-side apply or CEL validation rules")
    }));
    warnings
}

#[derive(Default)]
struct Found<'a> {
    /// Unrecognized formats, each once.
    formats: Vec<&'a str>,
    seen: BTreeSet<&'a str>,
    /// Types of items in sets.
    sets: BTreeSet<&'a str>,
}

impl<'a> Found<'a> {
    fn of(definition: &'a Value) -> Found<'a> {
        let mut found = Found::default();
        for schema in schema::all(definition) {
            let format = text(schema, &["format"]);
            if !is_recognized(format, text(schema, &["type"])) && found.seen.insert(format) {
                found.formats.push(format);
            }
            let items = text(at(schema, &["items"]), &["type"]);
            let is_set = text(schema, &["x-kubernetes-list-type"]) == "set";
            if is_set && ["array", "object"].contains(&items) {
                found.sets.insert(items);
            }
        }
        found
    }
}

/// Whether values are checked to be of this format.
fn is_recognized(format: &str, type_: &str) -> bool {
    match type_ {
        _ if format.is_empty() => true,
        "" | "string" => FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => ["int32", "int64"].contains(&format),
        "number" => ["float", "double"].contains(&format),
        _ => false,
    }
}
