//! MeshHTTPRoute and MeshTCPRoute: which request takes which split.

use std::sync::Arc;

use evenkeel_model::mesh::{HeaderMatch, PathMatch, QueryMatch, RouteMatch, ValueMatch};
use serde_json::{Value, json};

use super::{BackendRef, Form, Kind, policy::is_set};
use crate::{
    Errors, FieldPath,
    decode::{Fields, text},
};

/// The rules for traffic to one destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteConf {
    pub rules: Vec<RouteRule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRule {
    pub matches: RuleMatches,
    /// With weights; `None`: the destination itself.
    pub backends: Option<Vec<(BackendRef, u32)>>,
}

/// One of these must match. Empty for TCP.
pub type RuleMatches = Vec<RouteMatch>;

const METHODS: [&str; 9] =
    ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];

impl RouteConf {
    /// Checks the rules and writes them in Kuma's form, as `{"rules": […]}`.
    pub(super) fn normalise(
        kind: Kind,
        rules: Option<&Value>,
        fields: &Fields<'_, '_>,
        form: Form,
        errors: &mut Errors,
    ) -> Option<Value> {
        let rules = match rules {
            Some(rule @ Value::Object(_)) if form == Form::File => vec![in_kumas_form(rule)],
            Some(Value::Array(rules)) if form == Form::File => {
                rules.iter().map(in_kumas_form).collect()
            }
            Some(rules @ Value::Array(_)) => rules.as_array().cloned().unwrap_or_default(),
            _ => {
                errors.push(&fields.path.field("rules"), "must be a list");
                return None;
            }
        };
        if kind == Kind::MeshTcpRoute && rules.len() > 1 {
            errors.push(&fields.path.field("rules"), "must not have more than one rule");
        }
        let conf = json!({ "rules": rules });
        Self::decode(kind, &conf, fields.path, errors)?;
        Some(conf)
    }

    pub(crate) fn decode(
        kind: Kind,
        value: &Value,
        path: FieldPath<'_>,
        errors: &mut Errors,
    ) -> Option<Self> {
        let fields = Fields::of(value, path, &["rules"], errors)?;
        let rules = fields.list("rules", errors, |value, path, errors| {
            RouteRule::decode(kind, value, path, errors)
        });
        Some(RouteConf { rules: rules.unwrap_or_default() })
    }
}

/// `backendRef` of the decision record becomes `backendRefs`. Both are left for the check to refuse.
fn in_kumas_form(rule: &Value) -> Value {
    let mut rule = rule.clone();
    let default = rule.get_mut("default").and_then(Value::as_object_mut);
    let Some(default) = default.filter(|default| !default.contains_key("backendRefs")) else {
        return rule;
    };
    if let Some(backends) = default.remove("backendRef") {
        let backends = match backends {
            one @ Value::Object(_) => Value::Array(vec![one]),
            many => many,
        };
        default.insert("backendRefs".to_owned(), backends);
    }
    rule
}

impl RouteRule {
    fn decode(kind: Kind, value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        let known: &[&str] = match kind {
            Kind::MeshTcpRoute => &["default"],
            _ => &["matches", "default"],
        };
        let fields = Fields::of(value, path, known, errors)?;
        let matches = fields.list("matches", errors, decode_match).unwrap_or_default();
        let backends = fields.nested("default", errors, |value, path, errors| {
            let known = ["backendRefs", "filters"];
            let fields = Fields::of(value, path, &known, errors)?;
            if fields.get("filters").is_some_and(is_set) {
                errors.push(&fields.path.field("filters"), "is not supported");
            }
            fields.list("backendRefs", errors, BackendRef::decode_weighted)
        });
        if kind == Kind::MeshTcpRoute && backends.is_none() && errors.is_empty() {
            errors.push(&fields.path.field("default").field("backendRefs"), "must be set");
        }
        Some(RouteRule { matches, backends })
    }
}

fn decode_match(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<RouteMatch> {
    let fields = Fields::of(value, path, &["path", "method", "headers", "queryParams"], errors)?;
    let method = fields.text("method", errors);
    if method.as_deref().is_some_and(|method| !METHODS.contains(&method)) {
        let message = format!("must be one of {}", METHODS.join(", "));
        errors.push(&fields.path.field("method"), message);
    }
    Some(RouteMatch {
        path: fields.nested("path", errors, decode_path).unwrap_or_default(),
        method,
        headers: fields.list("headers", errors, decode_header).unwrap_or_default(),
        query: fields.list("queryParams", errors, decode_query).unwrap_or_default(),
    })
}

#[derive(Clone, Copy)]
enum MatchType {
    Exact,
    Prefix,
    Regex,
    Present,
    Absent,
}

fn decode_path(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<PathMatch> {
    const TYPES: [(&str, MatchType); 3] = [
        ("Exact", MatchType::Exact),
        ("PathPrefix", MatchType::Prefix),
        ("RegularExpression", MatchType::Regex),
    ];
    let fields = Fields::of(value, path, &["type", "value"], errors)?;
    let kind = required_type(&fields, &TYPES, errors);
    let value = required_text(&fields, "value", errors)?;
    let is_absolute = value.starts_with('/');
    match kind? {
        MatchType::Regex => checked_regex(value, &fields, errors).map(PathMatch::Regex),
        _ if !is_absolute => {
            errors.push(&fields.path.field("value"), "must be an absolute path");
            None
        }
        MatchType::Prefix if &*value == "/" => Some(PathMatch::Any),
        MatchType::Prefix => Some(PathMatch::Prefix(value.trim_end_matches('/').into())),
        _ => Some(PathMatch::Exact(value)),
    }
}

fn decode_header(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<HeaderMatch> {
    const TYPES: [(&str, MatchType); 5] = [
        ("Exact", MatchType::Exact),
        ("Prefix", MatchType::Prefix),
        ("RegularExpression", MatchType::Regex),
        ("Present", MatchType::Present),
        ("Absent", MatchType::Absent),
    ];
    let (name, value) = named_value(value, path, &TYPES, errors)?;
    Some(HeaderMatch { name: name.to_ascii_lowercase().into(), value })
}

fn decode_query(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<QueryMatch> {
    const TYPES: [(&str, MatchType); 2] =
        [("Exact", MatchType::Exact), ("RegularExpression", MatchType::Regex)];
    let (name, value) = named_value(value, path, &TYPES, errors)?;
    Some(QueryMatch { name, value })
}

fn named_value(
    value: &Value,
    path: FieldPath<'_>,
    types: &[(&str, MatchType)],
    errors: &mut Errors,
) -> Option<(Arc<str>, ValueMatch)> {
    let fields = Fields::of(value, path, &["type", "name", "value"], errors)?;
    let kind = match fields.get("type") {
        None => MatchType::Exact,
        Some(_) => fields.one_of("type", types, errors)?,
    };
    let name = required_text(&fields, "name", errors)?;
    let value = match kind {
        MatchType::Present => ValueMatch::Present,
        MatchType::Absent => ValueMatch::Absent,
        MatchType::Exact => ValueMatch::Exact(required_text(&fields, "value", errors)?),
        MatchType::Prefix => ValueMatch::Prefix(required_text(&fields, "value", errors)?),
        MatchType::Regex => {
            let value = required_text(&fields, "value", errors)?;
            ValueMatch::Regex(checked_regex(value, &fields, errors)?)
        }
    };
    Some((name, value))
}

/// Envoy has RE2, whose language is almost that of the crate `regex`.
fn checked_regex(
    value: Arc<str>,
    fields: &Fields<'_, '_>,
    errors: &mut Errors,
) -> Option<Arc<str>> {
    const LONGEST: usize = 1024;
    if value.len() > LONGEST || regex::Regex::new(&value).is_err() {
        let message = format!("must be a regular expression of at most {LONGEST} bytes");
        errors.push(&fields.path.field("value"), message);
        return None;
    }
    Some(value)
}

fn required_type(
    fields: &Fields<'_, '_>,
    types: &[(&str, MatchType)],
    errors: &mut Errors,
) -> Option<MatchType> {
    if fields.get("type").is_none() {
        errors.push(&fields.path.field("type"), "must be set");
    }
    fields.one_of("type", types, errors)
}

fn required_text(fields: &Fields<'_, '_>, name: &str, errors: &mut Errors) -> Option<Arc<str>> {
    const LONGEST: usize = 4096;
    let path = fields.path.field(name);
    let Some(value) = fields.get(name) else {
        errors.push(&path, "must be set");
        return None;
    };
    let value = text(value, &path, errors)?;
    if value.is_empty() || value.len() > LONGEST || value.chars().any(char::is_control) {
        errors.push(&path, format!("must be a text of 1 to {LONGEST} bytes"));
        return None;
    }
    Some(value)
}
