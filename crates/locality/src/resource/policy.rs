//! What all policies have: whose traffic, to where, and what holds for it.
//!
//! What holds is kept as JSON, because policies are merged field by field before they are understood;
//! it has passed the parser of its kind, which also bounds its depth.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{BreakerConf, Form, HealthCheckConf, Kind, RouteConf};
use crate::{
    Compat, Errors, FieldError, FieldPath, TargetKind, TargetRef,
    decode::Fields,
    strategy::{Spec, WrittenIn},
};

#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Whose traffic.
    pub target: TargetRef,
    pub to: Vec<ToItem>,
}

/// What holds for traffic to one destination.
#[derive(Clone, Debug, PartialEq)]
pub struct ToItem {
    pub target: TargetRef,
    /// Shared, since it is part of many merged policies. For routes, an object with `rules`.
    pub conf: Arc<Value>,
}

const CLIENTS: [TargetKind; 5] = [
    TargetKind::Mesh,
    TargetKind::MeshSubset,
    TargetKind::MeshService,
    TargetKind::MeshServiceSubset,
    TargetKind::Dataplane,
];
const SERVICES: [TargetKind; 3] =
    [TargetKind::MeshService, TargetKind::MeshMultiZoneService, TargetKind::MeshExternalService];

impl Policy {
    /// A strategy has a schema and a validation of its own.
    pub(super) fn strategy(
        value: &Value,
        form: Form,
        compat: Compat,
    ) -> Result<Self, Vec<FieldError>> {
        let written_in = match form {
            Form::File => WrittenIn::File,
            Form::Custom => WrittenIn::Resource,
        };
        let spec = Spec::decode(value, written_in)?;
        let errors = spec.validate(compat);
        if !errors.is_empty() {
            return Err(errors);
        }
        let to = spec.to.unwrap_or_default().into_iter().map(|to| {
            let conf = serde_json::to_value(&to.default).unwrap_or_default();
            ToItem { target: to.target_ref, conf: Arc::new(conf) }
        });
        Ok(Policy { to: to.collect(), target: spec.target_ref.unwrap_or_default() })
    }

    pub(super) fn decode(
        kind: Kind,
        value: &Value,
        path: FieldPath<'_>,
        form: Form,
        errors: &mut Errors,
    ) -> Option<Self> {
        let fields = Fields::of(value, path, &["targetRef", "to", "from", "rules"], errors)?;
        for name in ["from", "rules"].into_iter().filter(|name| fields.get(name).is_some()) {
            errors.push(&fields.path.field(name), "is not supported: only to is");
        }
        let target = fields.nested("targetRef", errors, TargetRef::decode).unwrap_or_default();
        check_kind(&target, &CLIENTS, &fields.path.field("targetRef"), errors);
        let read = |value: &Value, path: FieldPath<'_>, errors: &mut Errors| {
            ToItem::decode(kind, value, path, form, errors)
        };
        let to = match fields.get("to") {
            Some(to @ Value::Object(_)) if form == Form::File => {
                read(to, fields.path.field("to"), errors).into_iter().collect()
            }
            _ => fields.list("to", errors, read).unwrap_or_default(),
        };
        Some(Policy { target, to })
    }
}

impl ToItem {
    fn decode(
        kind: Kind,
        value: &Value,
        path: FieldPath<'_>,
        form: Form,
        errors: &mut Errors,
    ) -> Option<Self> {
        let is_route = matches!(kind, Kind::MeshHttpRoute | Kind::MeshTcpRoute);
        let known: &[&str] = match (is_route, form) {
            (true, _) if kind == Kind::MeshHttpRoute => &["targetRef", "rules", "hostnames"],
            (true, _) => &["targetRef", "rules"],
            (false, Form::File) => &["targetRef", "default", "defaults"],
            (false, Form::Custom) => &["targetRef", "default"],
        };
        let fields = Fields::of(value, path, known, errors)?;
        let target_path = fields.path.field("targetRef");
        if fields.get("targetRef").is_none() {
            errors.push(&target_path, "must be set");
        }
        if fields.get("hostnames").is_some_and(is_set) {
            let message = "is not supported: it is for built-in gateways";
            errors.push(&fields.path.field("hostnames"), message);
        }
        let target = fields.nested("targetRef", errors, TargetRef::decode)?;
        let allowed = if is_route { &SERVICES[..] } else { &with_mesh()[..] };
        check_kind(&target, allowed, &target_path, errors);
        let conf = match is_route {
            true => RouteConf::normalise(kind, fields.get("rules"), &fields, form, errors)?,
            false => conf(kind, &fields, errors)?,
        };
        Some(ToItem { target, conf: Arc::new(conf) })
    }
}

/// An empty list says nothing.
pub(super) fn is_set(value: &Value) -> bool {
    value.as_array().is_none_or(|list| !list.is_empty())
}

const fn with_mesh() -> [TargetKind; 4] {
    [TargetKind::Mesh, SERVICES[0], SERVICES[1], SERVICES[2]]
}

fn conf(kind: Kind, fields: &Fields<'_, '_>, errors: &mut Errors) -> Option<Value> {
    let name = match (fields.get("default"), fields.get("defaults")) {
        (Some(_), Some(_)) => {
            errors.push(&fields.path.field("defaults"), "must not be set beside default");
            return None;
        }
        (None, Some(_)) => "defaults",
        _ => "default",
    };
    let Some(value) = fields.get(name) else { return Some(json!({})) };
    let path = fields.path.field(name);
    match kind {
        Kind::MeshHealthCheck => {
            HealthCheckConf::decode(value, path, errors)?;
        }
        _ => {
            BreakerConf::decode(value, path, errors)?;
        }
    }
    Some(value.clone())
}

fn check_kind(
    target: &TargetRef,
    allowed: &[TargetKind],
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    let kind = target.kind;
    if !allowed.contains(&kind) {
        errors.push(&path.field("kind"), format!("value '{kind}' is not supported"));
    }
    let needs_name =
        !matches!(kind, TargetKind::Mesh | TargetKind::MeshSubset | TargetKind::Dataplane);
    if needs_name && target.name.is_none() && target.labels.is_empty() {
        errors.push(&path.field("name"), format!("must be set with kind {kind}"));
    }
    if target.mesh.is_some() {
        errors.push(&path.field("mesh"), "is not supported: a policy never leaves its mesh");
    }
}
