//! Request bodies: JSON, YAML or protobuf in, a validated value out.
//!
//! The error message depends on how far Kubernetes gets: no kind can be read, the kind is a
//! different one, or a field has the wrong type. Source: `endpoints/handlers/{create,rest}.go`.

use std::borrow::Cow;

use evenkeel_store::schema::{self, DecodeError, Finding, Type};
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;

use crate::{
    custom::decode::{self, Pruned},
    invalid::{FieldError, Path, quoted},
    kinds::{self, Kind, read::text},
    protobuf,
    request::query::FieldValidation,
    status::{Failure, Result},
    types,
};

/// Maximum body size.
pub(crate) const LIMIT: usize = 3 << 20;

pub(crate) const SCHEME: &str = "pkg/api/legacyscheme/scheme.go:30";

/// A body as received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) content_type: &'a str,
    pub(crate) bytes: &'a [u8],
}

/// A decoded body.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) value: Value,
    pub(crate) warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

/// An object of a kind.
pub(crate) fn object(body: Body<'_>, kind: &Kind, strictness: FieldValidation) -> Result<Read> {
    if kind.custom.is_some() {
        return custom(body, kind, strictness);
    }
    typed(
        body,
        Expected {
            group: &kind.group,
            version: &kind.version,
            kind: &kind.kind,
            schema: &kind.schema,
        },
        strictness,
    )
}

/// The kind that a path accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) schema: &'a str,
}

pub(crate) fn typed(
    body: Body<'_>,
    expected: Expected<'_>,
    strictness: FieldValidation,
) -> Result<Read> {
    let of = types::schema().named(expected.schema).expect("every kind has its type");
    match encoding(body.content_type)? {
        Encoding::Json => from_json(body.bytes, body.bytes, expected, of, strictness),
        Encoding::Yaml => {
            let json = yaml_as_json(body.bytes, expected)?;
            from_json(&json, body.bytes, expected, of, strictness)
        }
        Encoding::Protobuf => from_protobuf(body.bytes, expected, of),
    }
}

/// An object of a custom resource. Source: `customresource_handler.go`, `handlers/create.go`.
fn custom(body: Body<'_>, kind: &Kind, strictness: FieldValidation) -> Result<Read> {
    let of = expected(kind);
    let json = match encoding(body.content_type)? {
        Encoding::Json => Cow::Borrowed(body.bytes),
        Encoding::Yaml => Cow::Owned(yaml_as_json(body.bytes, of)?),
        Encoding::Protobuf => {
            let problem = "custom resources have no protobuf encoding";
            return Err(unrecognized(body.bytes, of, problem));
        }
    };
    let unreadable = |problem: DecodeError| {
        let problem = no_kind(&json).unwrap_or_else(|| problem.to_string());
        unrecognized(body.bytes, of, &problem)
    };
    let object = decode::parsed(&json).map_err(unreadable)?;
    let is_text = |name: &str| matches!(object.value.get(name), None | Some(Value::String(_)));
    if !(is_text("kind") && is_text("apiVersion"))
        && let Some(problem) = no_kind(&json)
    {
        return Err(unrecognized(body.bytes, of, &problem));
    }
    if text(&object.value, &["kind"]).is_empty() {
        let shown = String::from_utf8_lossy(&json);
        let problem = format!("Object 'Kind' is missing in '{shown}'");
        return Err(unrecognized(body.bytes, of, &problem));
    }
    let claimed = text(&object.value, &["apiVersion"]).to_owned();
    if claimed != kinds::api_version(of.group, of.version) {
        return Err(other_version(&object, of, &claimed, strictness));
    }
    let claimed_kind = text(&object.value, &["kind"]).to_owned();
    if claimed_kind != of.kind {
        return Err(wrong_kind(kind, &object.value));
    }
    let Pruned { value, findings } = decode::pruned(kind, object)
        .map_err(|problem| cannot_handle(of, &claimed, &claimed_kind, &problem.to_string()))?;
    let warnings = reported(&findings, strictness, of, &claimed, &claimed_kind)?;
    Ok(Read { value, warnings })
}

/// An object that declares another kind than the custom resource of the path.
pub(crate) fn wrong_kind(kind: &Kind, object: &Value) -> Failure {
    let words = format!("must be {}", kind.kind);
    let error = FieldError::invalid(Path::root("kind"), &object["kind"], words);
    let name = text(object, &["metadata", "name"]);
    Failure::invalid_as(&kind.group, text(object, &["kind"]), name, &[error])
}

/// No schema is known for another version, so everything but metadata is unknown.
fn other_version(
    object: &Pruned,
    of: Expected<'_>,
    claimed: &str,
    strictness: FieldValidation,
) -> Failure {
    let wanted = kinds::api_version(of.group, of.version);
    let in_group = claimed.split_once('/').is_some_and(|(group, _)| group == of.group);
    let unknown = object.value.as_object().into_iter().flatten().filter_map(|(name, _)| {
        let known = matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        (in_group && !known).then(|| Finding::Unknown(name.clone()).to_string())
    });
    let warnings = match strictness {
        FieldValidation::Warn => unknown.collect(),
        FieldValidation::Strict | FieldValidation::Ignore => Vec::new(),
    };
    Failure::bad_request(format!(
        "the API version in the data ({claimed}) does not match the expected API version ({wanted})"
    ))
    .with_warnings(warnings)
}

pub(crate) fn expected(kind: &Kind) -> Expected<'_> {
    Expected { group: &kind.group, version: &kind.version, kind: &kind.kind, schema: &kind.schema }
}

/// A body whose kind the caller checks.
pub(crate) fn of_any_kind(body: Body<'_>, schema: &str) -> Result<Value> {
    let of = types::schema().named(schema).expect("the caller names a type of the table");
    let expected = Expected { group: "", version: "v1", kind: of.go.as_ref(), schema };
    let (bytes, value);
    let json = match encoding(body.content_type)? {
        Encoding::Json => body.bytes,
        Encoding::Yaml => {
            bytes = yaml_as_json(body.bytes, expected)?;
            &bytes
        }
        Encoding::Protobuf => {
            let read = protobuf::decode(body.bytes);
            value =
                read.map_err(|problem| unrecognized(body.bytes, expected, &problem.to_string()))?.2;
            let checked = schema::check(types::schema(), of, value);
            return checked
                .map(|read| read.value)
                .map_err(|problem| Failure::bad_request(problem.to_string()));
        }
    };
    schema::decode(types::schema(), of, json)
        .map(|read| read.value)
        .map_err(|problem| Failure::bad_request(no_kind(json).unwrap_or(problem.to_string())))
}

/// Kubernetes' error for a text without a kind, which it looks for first: invalid JSON, or not an
/// object.
fn no_kind(json: &[u8]) -> Option<String> {
    let problem = schema::type_meta(json).err()?;
    Some(format!("couldn't get version/kind; json parse error: {problem}"))
}

fn encoding(content_type: &str) -> Result<Encoding> {
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media.as_str() {
        "" if content_type.is_empty() => Ok(Encoding::Json),
        "application/json" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Encoding::Protobuf),
        _ => Err(Failure::unknown_format(
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// The media type of a body; also used for patches.
pub(crate) fn media(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// `body` is the body as received, and `bytes` the same converted to JSON.
fn from_json(
    bytes: &[u8],
    body: &[u8],
    expected: Expected<'_>,
    of: &Type,
    strictness: FieldValidation,
) -> Result<Read> {
    let decoded = match schema::decode(types::schema(), of, bytes) {
        Ok(decoded) => decoded,
        Err(problem) => {
            // The kind is checked before the fields.
            if let Some(problem) = no_kind(bytes) {
                return Err(unrecognized(body, expected, &problem));
            }
            let problem = problem.to_string();
            let claimed = schema::type_meta(bytes).unwrap_or_default();
            let (api_version, kind) = (claimed.api_version, claimed.kind);
            check_kind(body, expected, &api_version, &kind)?;
            return Err(cannot_handle(expected, &api_version, &kind, &problem));
        }
    };
    let text = |key: &str| decoded.value[key].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    check_kind(body, expected, &api_version, &kind)?;
    let warnings = reported(&decoded.unknown, strictness, expected, &api_version, &kind)?;
    Ok(Read { value: named(decoded.value, expected), warnings })
}

/// The findings as warnings, or a failure, or nothing.
fn reported(
    findings: &[Finding],
    strictness: FieldValidation,
    expected: Expected<'_>,
    api_version: &str,
    kind: &str,
) -> Result<Vec<String>> {
    let texts = || findings.iter().map(ToString::to_string).collect::<Vec<String>>();
    match strictness {
        FieldValidation::Strict if !findings.is_empty() => {
            let problem = format!("strict decoding error: {}", texts().join(", "));
            Err(cannot_handle(expected, api_version, kind, &problem))
        }
        FieldValidation::Warn => Ok(texts()),
        FieldValidation::Strict | FieldValidation::Ignore => Ok(Vec::new()),
    }
}

fn from_protobuf(bytes: &[u8], expected: Expected<'_>, of: &Type) -> Result<Read> {
    let (api_version, kind, value) = protobuf::decode(bytes)
        .map_err(|problem| unrecognized(bytes, expected, &problem.to_string()))?;
    check_kind(bytes, expected, &api_version, &kind)?;
    let checked = schema::check(types::schema(), of, value)
        .map_err(|problem| cannot_handle(expected, &api_version, &kind, &problem.to_string()))?;
    Ok(Read { value: named(checked.value, expected), warnings: Vec::new() })
}

fn yaml_as_json(bytes: &[u8], expected: Expected<'_>) -> Result<Vec<u8>> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: schema::MOST_LEVELS },
    };
    let parsed =
        std::str::from_utf8(bytes).map_err(|problem| problem.to_string()).and_then(|text| {
            serde_saphyr::from_str_with_options::<Value>(text, options)
                .map_err(|e| yaml_problem(&e))
        });
    match parsed {
        Ok(value) => Ok(value.to_string().into_bytes()),
        Err(problem) => {
            let first = problem.lines().next().unwrap_or_default();
            let problem = format!("error converting YAML to JSON: yaml: {first}");
            Err(unrecognized(bytes, expected, &problem))
        }
    }
}

fn yaml_problem(problem: &serde_saphyr::Error) -> String {
    match problem.without_snippet() {
        serde_saphyr::Error::Budget { breach: BudgetBreach::Depth { .. }, location } => {
            let place = format!("line {}", location.line());
            DecodeError::TooDeep(place).to_string()
        }
        _ => problem.to_string(),
    }
}

/// Kind and version from the path: a client may omit them.
fn named(mut value: Value, expected: Expected<'_>) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.insert("kind".into(), expected.kind.into());
        object.insert(
            "apiVersion".into(),
            kinds::api_version(expected.group, expected.version).into(),
        );
    }
    value
}

fn check_kind(bytes: &[u8], expected: Expected<'_>, api_version: &str, kind: &str) -> Result<()> {
    let wanted = kinds::api_version(expected.group, expected.version);
    if (api_version.is_empty() || api_version == wanted)
        && (kind.is_empty() || kind == expected.kind)
    {
        return Ok(());
    }
    if api_version.matches('/').count() > 1 {
        let problem = format!("unexpected GroupVersion string: {api_version}");
        return Err(unrecognized(bytes, expected, &problem));
    }
    let api_version = if api_version.is_empty() { wanted.as_str() } else { api_version };
    let kind = if kind.is_empty() { expected.kind } else { kind };
    let problem = match kinds::of_kind(api_version, kind) {
        Some(other) => format!(
            "converting ({}.{kind}) to ({}.{}): unknown conversion",
            other.version,
            internal(expected.group),
            expected.kind
        ),
        None => not_registered(api_version, kind, scheme(expected.group)),
    };
    Err(cannot_handle(expected, api_version, kind, &problem))
}

/// Where Kubernetes registers the kinds of a group.
fn scheme(group: &str) -> &'static str {
    match group {
        "apiextensions.k8s.io" => "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:56",
        _ => SCHEME,
    }
}

pub(crate) fn not_registered(api_version: &str, kind: &str, scheme: &str) -> String {
    format!(
        "no kind {} is registered for version {} in scheme {scheme:?}",
        quoted(kind),
        quoted(api_version)
    )
}

/// Go's name for the group's internal package.
pub(crate) fn internal(group: &str) -> &str {
    match group.split('.').next().unwrap_or_default() {
        "" => "core",
        first => first,
    }
}

fn cannot_handle(expected: Expected<'_>, api_version: &str, kind: &str, problem: &str) -> Failure {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let version = if version.is_empty() { expected.version } else { version };
    let kind = if kind.is_empty() { expected.kind } else { kind };
    Failure::bad_request(format!(
        "{kind} in version {} cannot be handled as a {}: {problem}",
        quoted(version),
        expected.kind
    ))
}

fn unrecognized(bytes: &[u8], expected: Expected<'_>, problem: &str) -> Failure {
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {problem} ({})",
        expected.kind,
        summary(bytes)
    ))
}

/// The first thirty bytes: unchanged for JSON, in hexadecimal otherwise.
fn summary(bytes: &[u8]) -> String {
    const MOST: usize = 30;
    let (start, more) = match bytes.get(..MOST) {
        Some(start) if bytes.len() > MOST => (start, " ..."),
        _ => (bytes, ""),
    };
    match start.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => {
            let digits: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_is_read_as_a_media_type() {
        for (content_type, expected) in [
            ("", Some(Encoding::Json)),
            ("application/json", Some(Encoding::Json)),
            ("Application/JSON; charset=utf-8", Some(Encoding::Json)),
            ("application/yaml", Some(Encoding::Yaml)),
            (";;", None),
            ("json", None),
        ] {
            assert_eq!(encoding(content_type).ok(), expected, "{content_type}");
        }
    }
}
