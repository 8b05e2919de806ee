//! Decodes an object of either dialect, by its apiVersion and kind.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::printed;
use crate::dialect::{
    Fault, Located, Location, Objects, Problem, kubernetes, problem::excerpt, proposal,
};

/// What an object is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Type {
    api_version: String,
    kind: String,
}

/// Whether this is a list, and of what if it says so: `FlowSchemaList`.
pub(super) fn list_of(object: &Map<String, Value>) -> Option<Option<Type>> {
    let kind = text(object, "kind")?.strip_suffix("List")?;
    let api_version = text(object, "apiVersion").unwrap_or_default();
    let of = (!kind.is_empty())
        .then(|| Type { api_version: api_version.to_owned(), kind: kind.to_owned() });
    Some(of)
}

/// Decodes an object into `objects`, or what is wrong with it.
pub(super) fn decode(
    mut object: Map<String, Value>,
    location: &Location,
    of: Option<&Type>,
    objects: &mut Objects,
) {
    let location = named(&object, location, of);
    let kind = location.kind.clone();
    let api_version = text(&object, "apiVersion")
        .or(of.map(|of| of.api_version.as_str()))
        .map_or_else(String::new, str::to_owned);
    let prose = if api_version.is_empty() { printed::normalize(&mut object) } else { None };
    let outcome = match (api_version.as_str(), kind.as_str()) {
        (_, "") => Err((String::new(), Fault::NoKind)),
        (kubernetes::API_VERSION, "FlowSchema") => strict(&kind, object).map(Decoded::FlowSchema),
        (kubernetes::API_VERSION, "PriorityLevelConfiguration") => {
            strict(&kind, object).map(Decoded::PriorityLevel)
        }
        (proposal::API_VERSION, "FlowSchema") => body(object).map(Decoded::Schema),
        (proposal::API_VERSION, "RequestPriority") => body(object).map(Decoded::Level),
        ("", "FlowSchema") if prose.is_some() => body(object).map(Decoded::Schema),
        ("", "RequestPriority") if prose.is_some() => body(object).map(Decoded::Level),
        ("", "FlowSchema" | "RequestPriority" | "PriorityLevelConfiguration") => {
            Err(("apiVersion".to_owned(), Fault::NoApiVersion))
        }
        _ => {
            let (api_version, kind) = (excerpt(&api_version), excerpt(&kind));
            Err(match read_version(&api_version, &kind) {
                Some(read) => {
                    let fault = Fault::OtherVersion { api_version, kind, read };
                    ("apiVersion".to_owned(), fault)
                }
                None => ("kind".to_owned(), Fault::UnknownKind { api_version, kind }),
            })
        }
    };
    match outcome {
        Err((field, fault)) => objects.problems.push(Problem::at(&location, field, fault)),
        Ok(Decoded::FlowSchema(object)) => {
            objects.kubernetes.schemas.push(Located { location, object });
        }
        Ok(Decoded::PriorityLevel(object)) => {
            objects.kubernetes.levels.push(Located { location, object });
        }
        Ok(Decoded::Level(object)) => objects.proposal.levels.push(Located { location, object }),
        Ok(Decoded::Schema(mut object)) => {
            object.prose = prose.unwrap_or_default();
            objects.proposal.schemas.push(Located { location, object });
        }
    }
}

/// The version of this kind that is read, if the group is one of ours.
fn read_version(api_version: &str, kind: &str) -> Option<&'static str> {
    let (group, _) = api_version.split_once('/')?;
    let known = [
        (kubernetes::API_VERSION, ["FlowSchema", "PriorityLevelConfiguration"]),
        (proposal::API_VERSION, ["FlowSchema", "RequestPriority"]),
    ];
    let is_it = |(read, kinds): &(&'static str, [&str; 2])| {
        read.split_once('/').is_some_and(|(known, _)| known == group) && kinds.contains(&kind)
    };
    known.into_iter().find(is_it).map(|(read, _)| read)
}

enum Decoded {
    FlowSchema(kubernetes::FlowSchema),
    PriorityLevel(kubernetes::PriorityLevelConfiguration),
    Schema(proposal::FlowSchema),
    Level(proposal::RequestPriority),
}

/// What is wrong, and in which field.
type Trouble = (String, Fault);

fn named(object: &Map<String, Value>, location: &Location, of: Option<&Type>) -> Location {
    let kind = text(object, "kind").or(of.map(|of| of.kind.as_str())).unwrap_or_default();
    let metadata = object.get("metadata").or_else(|| object.get("meta"));
    let name = metadata.and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    let name = name.unwrap_or_default();
    Location { kind: kind.to_owned(), name: name.to_owned(), ..location.clone() }
}

fn text<'o>(object: &'o Map<String, Value>, field: &str) -> Option<&'o str> {
    object.get(field).and_then(Value::as_str)
}

/// Kubernetes' objects decode with fields that don't exist; files should not have them.
fn strict<T: DeserializeOwned>(kind: &str, object: Map<String, Value>) -> Result<T, Trouble> {
    let object = Value::Object(object);
    match kubernetes::unknown_fields(kind, &object).into_iter().next() {
        Some(field) => Err((field, Fault::UnknownField)),
        None => typed(object),
    }
}

/// What every object may have beside its own fields is taken out, so that the types can reject
/// what is left over.
fn body<T: DeserializeOwned>(mut object: Map<String, Value>) -> Result<T, Trouble> {
    for field in ["apiVersion", "kind", "status"] {
        object.remove(field);
    }
    typed(Value::Object(object))
}

fn typed<T: DeserializeOwned>(object: Value) -> Result<T, Trouble> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { String::new() } else { path };
        (field, Fault::Decode { message: excerpt(&error.inner().to_string()) })
    })
}
