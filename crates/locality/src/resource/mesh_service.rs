//! MeshService: a service whose instances are selected by tags.

use std::{num::NonZeroU16, sync::Arc};

use evenkeel_model::mesh::MeshProtocol;
use serde_json::Value;

use super::{
    Labels,
    dataplane::PROTOCOLS,
    scalar::{required_port, tags},
};
use crate::{Errors, FieldPath, decode::Fields};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshService {
    /// Never empty.
    pub dataplane_tags: Labels,
    pub ports: Vec<ServicePort>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePort {
    pub port: NonZeroU16,
    pub target: TargetPort,
    pub name: Option<Arc<str>>,
    /// That of the inbounds if `None`.
    pub protocol: Option<MeshProtocol>,
}

/// The port of an inbound, or its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPort {
    Number(NonZeroU16),
    Name(Arc<str>),
}

impl MeshService {
    pub(super) fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        let fields =
            Fields::of(value, path, &["selector", "ports", "identities", "state"], errors)?;
        let selector = fields.path.field("selector");
        let dataplane_tags = fields.nested("selector", errors, |value, path, errors| {
            let fields = Fields::of(value, path, &["dataplaneTags"], errors)?;
            Some(tags(&fields, "dataplaneTags", errors))
        });
        let dataplane_tags = dataplane_tags.unwrap_or_default();
        if dataplane_tags.is_empty() {
            errors.push(&selector.field("dataplaneTags"), "must not be empty");
        }
        let ports = fields.list("ports", errors, ServicePort::decode).unwrap_or_default();
        Some(MeshService { dataplane_tags, ports })
    }
}

impl ServicePort {
    fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        const KNOWN: [&str; 4] = ["port", "targetPort", "name", "appProtocol"];
        let fields = Fields::of(value, path, &KNOWN, errors)?;
        let port = required_port(&fields, "port", errors)?;
        let target = match fields.get("targetPort") {
            None => TargetPort::Number(port),
            Some(Value::String(name)) => TargetPort::Name(name.as_str().into()),
            Some(_) => TargetPort::Number(required_port(&fields, "targetPort", errors)?),
        };
        let name = fields.text("name", errors);
        let protocol = fields.one_of("appProtocol", &PROTOCOLS, errors);
        Some(ServicePort { port, target, name, protocol })
    }

    /// A port of a service that only names ports.
    pub(super) fn decode_plain(
        value: &Value,
        path: FieldPath<'_>,
        errors: &mut Errors,
    ) -> Option<Self> {
        Fields::of(value, path, &["port", "name", "appProtocol"], errors)?;
        Self::decode(value, path, errors)
    }
}
