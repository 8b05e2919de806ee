//! A tree of fields to a typed object.

use k8s_openapi::{
    api::{
        autoscaling::{v1 as autoscaling_v1, v2::HorizontalPodAutoscaler},
        coordination::v1::Lease,
        core::v1::{Event, Node, Pod, Service},
        discovery::v1::EndpointSlice,
        events::v1 as events,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Problem, Trouble, document::TypeName, error::object_name, older};
use crate::{convert::report::is_report, excerpt};

#[derive(Debug)]
pub(super) enum Decoded {
    Known(Known),
    /// An object of a kind that is not used.
    Skipped(String),
}

#[derive(Debug)]
pub(super) enum Known {
    Service(Box<Service>),
    Node(Box<Node>),
    Pod(Box<Pod>),
    Slice(Box<EndpointSlice>),
    Event(Box<Event>),
    Autoscaler(Box<HorizontalPodAutoscaler>),
    /// With the report of a proxy.
    Lease(Box<Lease>),
}

/// An item that does not say what it is: what its list says, or else a problem.
pub(super) fn decode_item(
    fields: Map<String, Value>,
    of: Option<&TypeName>,
) -> Result<Decoded, Trouble> {
    if let Some(name) = of {
        return decode(name, fields);
    }
    let kind = fields.get("kind").and_then(Value::as_str);
    let kind = kind.filter(|kind| !kind.is_empty());
    Err(Trouble {
        object: kind.map(|kind| named(kind, &fields)),
        field: None,
        problem: match kind {
            None => Problem::NoKind,
            Some(_) => Problem::NoApiVersion,
        },
    })
}

pub(super) fn decode(name: &TypeName, fields: Map<String, Value>) -> Result<Decoded, Trouble> {
    let TypeName { api_version, kind } = name;
    let known = match (api_version.as_str(), kind.as_str()) {
        ("v1", "Node") => Known::Node(typed(kind, fields, |_| {})?),
        ("v1", "Service") => Known::Service(typed(kind, fields, in_namespace)?),
        ("v1", "Pod") => Known::Pod(typed(kind, fields, in_namespace)?),
        ("discovery.k8s.io/v1", "EndpointSlice") => {
            Known::Slice(typed(kind, fields, in_namespace)?)
        }
        ("v1", "Event") => Known::Event(typed(kind, fields, in_namespace)?),
        ("events.k8s.io/v1", "Event") => {
            let event: Box<events::Event> = typed(kind, fields, in_namespace)?;
            Known::Event(Box::new(older::event(*event)))
        }
        ("autoscaling/v2", "HorizontalPodAutoscaler") => {
            Known::Autoscaler(typed(kind, fields, in_namespace)?)
        }
        ("autoscaling/v1", "HorizontalPodAutoscaler") => {
            let scaler: Box<autoscaling_v1::HorizontalPodAutoscaler> =
                typed(kind, fields, in_namespace)?;
            Known::Autoscaler(Box::new(older::autoscaler(*scaler)))
        }
        ("coordination.k8s.io/v1", "Lease") => {
            let lease: Box<Lease> = typed(kind, fields, in_namespace)?;
            match is_report(&lease) {
                true => Known::Lease(lease),
                false => return Ok(Decoded::Skipped(skipped(name))),
            }
        }
        _ => return Ok(Decoded::Skipped(skipped(name))),
    };
    Ok(Decoded::Known(known))
}

/// Kinds that are only called like one of ours carry their group and version: a skipped
/// `Service` would be a riddle.
fn skipped(name: &TypeName) -> String {
    let TypeName { api_version, kind } = name;
    let ours = ["Service", "Node", "Pod", "EndpointSlice", "Event", "HorizontalPodAutoscaler"];
    if ours.contains(&kind.as_str()) {
        excerpt::name(&format!("{kind} ({api_version})"))
    } else {
        excerpt::name(kind)
    }
}

/// The fields as a `T` with a name. `complete` fills in what the API server would.
fn typed<T>(
    kind: &str,
    fields: Map<String, Value>,
    complete: fn(&mut ObjectMeta),
) -> Result<Box<T>, Trouble>
where
    T: DeserializeOwned + Resource<DynamicType = ()>,
{
    let object = named(kind, &fields);
    let decoded = serde_path_to_error::deserialize::<_, T>(Value::Object(fields));
    let mut decoded = match decoded {
        Ok(decoded) => Box::new(decoded),
        Err(error) => return Err(wrong_type(object, &error)),
    };
    let meta = decoded.meta_mut();
    if meta.name.as_deref().unwrap_or_default().is_empty() {
        return Err(Trouble {
            object: Some(object),
            field: Some("metadata.name".into()),
            problem: Problem::NoName,
        });
    }
    complete(meta);
    Ok(decoded)
}

fn in_namespace(meta: &mut ObjectMeta) {
    let namespace = meta.namespace.take().filter(|name| !name.is_empty());
    meta.namespace = Some(namespace.unwrap_or_else(|| "default".to_owned()));
}

fn wrong_type(object: Box<str>, error: &serde_path_to_error::Error<serde_json::Error>) -> Trouble {
    let path = error.path().to_string();
    let message = error.inner().to_string();
    let message = message
        .replace("expected i32", "expected a whole number")
        .replace("expected i64", "expected a whole number");
    Trouble {
        object: Some(object),
        field: (path != ".").then(|| excerpt::name(&path).into()),
        problem: Problem::WrongType { message: excerpt::message(&message) },
    }
}

/// The name to call an object by before its fields are known to be right.
fn named(kind: &str, fields: &Map<String, Value>) -> Box<str> {
    let meta = fields.get("metadata");
    let text = |key| meta.and_then(|meta| meta.get(key)).and_then(Value::as_str);
    object_name(kind, text("namespace"), text("name"))
}
