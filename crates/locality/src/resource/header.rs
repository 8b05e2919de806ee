//! What all resources have: a kind, a mesh, a name, labels.

use std::{borrow::Cow, sync::Arc};

use serde_json::{Map, Value};

use super::{
    DISPLAY_NAME, Dataplane, Form, Key, Kind, Labels, MeshExternalService, MeshMultiZoneService,
    MeshService, Policy, Resource, Spec,
    scalar::{check_name, required_name, tags},
};
use crate::{
    Compat, Errors, FieldError, FieldPath,
    decode::{Fields, one_of, unknown_value, wrong_type},
};

/// How deep a resource may be nested; the deepest schema takes 12.
const DEEPEST: usize = 64;
const DEFAULT_MESH: &str = "default";
const MESH_LABEL: &str = "kuma.io/mesh";
const API_VERSION: &str = "kuma.io/v1alpha1";
/// What stands beside `spec` in the universal layout.
const BESIDE_SPEC: [&str; 8] =
    ["type", "mesh", "name", "labels", "spec", "status", "creationTime", "modificationTime"];

pub(super) fn parse(
    value: &Value,
    form: Form,
    compat: Compat,
) -> Result<Resource, Vec<FieldError>> {
    let mut errors = Errors::default();
    let mut of_strategy = Vec::new();
    let resource = read(value, form, compat, &mut errors, &mut of_strategy);
    let mut errors = errors.into_vec();
    errors.append(&mut of_strategy);
    match resource {
        Some(resource) if errors.is_empty() => Ok(resource),
        _ => Err(errors),
    }
}

struct Header<'v> {
    key: Key,
    display_name: Arc<str>,
    labels: Labels,
    spec: Cow<'v, Value>,
}

fn read(
    value: &Value,
    form: Form,
    compat: Compat,
    errors: &mut Errors,
    of_strategy: &mut Vec<FieldError>,
) -> Option<Resource> {
    let root = FieldPath::root("resource");
    let Value::Object(object) = value else {
        wrong_type(value, &root, "an object", errors);
        return None;
    };
    if !is_shallow(value) {
        errors.push(&root, format!("must not be nested deeper than {DEEPEST}"));
        return None;
    }
    let is_universal = form == Form::File && object.contains_key("type");
    let header = match is_universal {
        true => universal(object, errors)?,
        false => custom(value, object, errors)?,
    };
    let spec = match header.key.kind {
        Kind::MeshLoadBalancingStrategy => Policy::strategy(&header.spec, form, compat)
            .map(Spec::Policy)
            .map_err(|errors| *of_strategy = errors)
            .ok()?,
        _ => spec(&header, is_universal, form, errors)?,
    };
    let Header { key, display_name, labels, .. } = header;
    Some(Resource { key, display_name, labels, spec })
}

fn spec(header: &Header<'_>, is_universal: bool, form: Form, errors: &mut Errors) -> Option<Spec> {
    let (value, path) = (&*header.spec, FieldPath::root("spec"));
    let spec = match header.key.kind {
        Kind::Mesh => Spec::Mesh,
        Kind::Dataplane => {
            // In the universal layout there is no `spec` to name.
            let has_spec = !is_universal || matches!(header.spec, Cow::Borrowed(_));
            Spec::Dataplane(Dataplane::decode(value, has_spec.then_some(path), errors)?.into())
        }
        Kind::MeshService => Spec::MeshService(MeshService::decode(value, path, errors)?),
        Kind::MeshMultiZoneService => {
            Spec::MeshMultiZoneService(MeshMultiZoneService::decode(value, path, errors)?)
        }
        Kind::MeshExternalService => {
            Spec::MeshExternalService(MeshExternalService::decode(value, path, errors)?)
        }
        kind => Spec::Policy(Policy::decode(kind, value, path, form, errors)?),
    };
    Some(spec)
}

fn universal<'v>(object: &'v Map<String, Value>, errors: &mut Errors) -> Option<Header<'v>> {
    let kind = kind(object, "type", errors)?;
    let known = object.iter().filter(|(name, _)| BESIDE_SPEC.contains(&name.as_str()));
    let head = Value::Object(known.map(|(name, value)| (name.clone(), value.clone())).collect());
    let head_path = FieldPath::root("metadata");
    let fields = Fields::of(&head, head_path, &BESIDE_SPEC, errors)?;
    let labels = tags(&fields, "labels", errors);
    let name = required_name(&fields, "name", errors);
    let mesh = fields.text("mesh", errors).filter(|mesh| !mesh.is_empty());
    let spec = match object.get("spec") {
        Some(spec) => {
            let beside = object.keys().filter(|name| !BESIDE_SPEC.contains(&name.as_str()));
            for name in beside.filter(|_| kind != Kind::Mesh) {
                errors.push(&FieldPath::root(name), "unknown field beside spec");
            }
            Cow::Borrowed(spec)
        }
        None => {
            let rest = object.iter().filter(|(name, _)| !BESIDE_SPEC.contains(&name.as_str()));
            Cow::Owned(Value::Object(rest.map(|(n, v)| (n.clone(), v.clone())).collect()))
        }
    };
    let name = name?;
    let display_name = labels.get(DISPLAY_NAME).unwrap_or(&name).clone();
    let key = key(kind, mesh, name, errors)?;
    Some(Header { key, display_name, labels, spec })
}

fn custom<'v>(
    value: &'v Value,
    object: &'v Map<String, Value>,
    errors: &mut Errors,
) -> Option<Header<'v>> {
    const KNOWN: [&str; 6] = ["apiVersion", "kind", "metadata", "mesh", "spec", "status"];
    static EMPTY: Value = Value::Null;
    let kind = kind(object, "kind", errors)?;
    if object.get("apiVersion").and_then(Value::as_str) != Some(API_VERSION) {
        errors.push(&FieldPath::root("apiVersion"), format!("must be {API_VERSION}"));
    }
    for name in object.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
        errors.push(&FieldPath::root(name), unknown_value(name, &KNOWN));
    }
    let metadata_path = FieldPath::root("metadata");
    let metadata = value.get("metadata").unwrap_or(&EMPTY);
    let Value::Object(metadata_fields) = metadata else {
        wrong_type(metadata, &metadata_path, "an object", errors);
        return None;
    };
    // An API server adds fields of its own, in every version others.
    let names: Vec<&str> = metadata_fields.keys().map(String::as_str).collect();
    let fields = Fields::of(metadata, metadata_path, &names, errors)?;
    let labels = fields.text_map("labels", errors);
    let name = required_name(&fields, "name", errors)?;
    let namespace = fields.text("namespace", errors).filter(|namespace| !namespace.is_empty());
    let display_name = labels.get(DISPLAY_NAME).unwrap_or(&name).clone();
    let name = match namespace {
        Some(namespace) if !matches!(kind, Kind::Mesh) => format!("{name}.{namespace}").into(),
        _ => name,
    };
    let beside = object.get("mesh").and_then(Value::as_str).map(Arc::from);
    let mesh = labels.get(MESH_LABEL).cloned().or(beside);
    let key = key(kind, mesh, name, errors)?;
    let spec = Cow::Borrowed(object.get("spec").unwrap_or(&EMPTY));
    Some(Header { key, display_name, labels, spec })
}

fn kind(object: &Map<String, Value>, field: &str, errors: &mut Errors) -> Option<Kind> {
    let path = FieldPath::root(field);
    match object.get(field) {
        Some(value) => one_of(value, &path, &Kind::ALL, errors),
        None => {
            let known = Kind::ALL.map(|(name, _)| name).join(", ");
            errors.push(&path, format!("must be set to one of {known}"));
            None
        }
    }
}

fn key(kind: Kind, mesh: Option<Arc<str>>, name: Arc<str>, errors: &mut Errors) -> Option<Key> {
    let mesh = match kind {
        Kind::Mesh => name.clone(),
        _ => mesh.unwrap_or_else(|| DEFAULT_MESH.into()),
    };
    check_name(&mesh, &FieldPath::root("mesh"), errors).then_some(Key { mesh, kind, name })
}

/// Without recursion, so that no depth is too much for it.
fn is_shallow(value: &Value) -> bool {
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        if depth > DEEPEST {
            return false;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    true
}
