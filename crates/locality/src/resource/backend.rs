//! References to the destination of a listener or of a split.

use std::{num::NonZeroU16, sync::Arc};

use evenkeel_model::mesh::PlainService;
use serde_json::Value;

use super::{
    Labels, SERVICE_TAG,
    scalar::{port, required_name, tags},
};
use crate::{Errors, FieldPath, TargetKind, decode::Fields};

/// A service, or those of its instances that have certain tags.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackendRef {
    /// MeshService, MeshMultiZoneService or MeshExternalService.
    pub kind: TargetKind,
    pub name: Arc<str>,
    pub port: Option<NonZeroU16>,
    /// What the instances must have.
    pub tags: Labels,
}

const KINDS: [(&str, TargetKind); 4] = [
    ("MeshService", TargetKind::MeshService),
    ("MeshServiceSubset", TargetKind::MeshServiceSubset),
    ("MeshMultiZoneService", TargetKind::MeshMultiZoneService),
    ("MeshExternalService", TargetKind::MeshExternalService),
];

impl BackendRef {
    /// What an outbound's tags refer to.
    pub(super) fn of_tags(mut tags: Labels) -> Option<Self> {
        let name = tags.remove(SERVICE_TAG)?;
        Some(BackendRef { kind: TargetKind::MeshService, name, port: None, tags })
    }

    pub(super) fn decode_outbound(
        value: &Value,
        path: FieldPath<'_>,
        errors: &mut Errors,
    ) -> Option<Self> {
        let fields =
            Fields::of(value, path, &["kind", "name", "namespace", "port", "tags"], errors)?;
        Self::read(&fields, errors)
    }

    /// A part of a split, with its weight.
    pub(super) fn decode_weighted(
        value: &Value,
        path: FieldPath<'_>,
        errors: &mut Errors,
    ) -> Option<(Self, u32)> {
        const KNOWN: [&str; 6] = ["kind", "name", "namespace", "port", "tags", "weight"];
        let fields = Fields::of(value, path, &KNOWN, errors)?;
        let weight = fields.number("weight", errors).unwrap_or(1);
        Some((Self::read(&fields, errors)?, weight))
    }

    fn read(fields: &Fields<'_, '_>, errors: &mut Errors) -> Option<Self> {
        if fields.get("kind").is_none() {
            errors.push(&fields.path.field("kind"), "must be set");
        }
        let kind = fields.one_of("kind", &KINDS, errors);
        let name = required_name(fields, "name", errors);
        let tags = tags(fields, "tags", errors);
        if kind == Some(TargetKind::MeshExternalService) && !tags.is_empty() {
            errors
                .push(&fields.path.field("tags"), "must not be set with kind MeshExternalService");
        }
        let port = port(fields, "port", errors);
        let namespace = fields.text("namespace", errors).filter(|namespace| !namespace.is_empty());
        let kind = match kind? {
            TargetKind::MeshServiceSubset => TargetKind::MeshService,
            kind => kind,
        };
        let Some(namespace) = namespace else {
            return Some(BackendRef { kind, name: name?, port, tags });
        };
        if kind != TargetKind::MeshService {
            let message = "must not be set with a kind other than MeshService";
            errors.push(&fields.path.field("namespace"), message);
        }
        let Some(port) = port else {
            errors.push(&fields.path.field("port"), "must be set with namespace");
            return None;
        };
        // A port of a Service is a service of its own.
        let name = PlainService::mesh_name(&name?, &namespace, port);
        Some(BackendRef { kind, name, port: None, tags })
    }
}
