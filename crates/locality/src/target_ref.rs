//! References to what a policy is about, as written.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{Errors, FieldPath, decode::Fields};

/// Kuma's `targetRef`. Empty texts count as absent, as in Kuma.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetRef {
    pub kind: TargetKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<Arc<str>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<Arc<str>, Arc<str>>,
    /// The name or the number of a port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_name: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proxy_types: Vec<ProxyType>,
}

/// What kind of object a reference names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetKind {
    #[default]
    Mesh,
    MeshSubset,
    MeshGateway,
    MeshService,
    MeshServiceSubset,
    MeshMultiZoneService,
    MeshExternalService,
    MeshHttpRoute,
    MeshTcpRoute,
    Dataplane,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum ProxyType {
    Sidecar,
    Gateway,
}

const FIELDS: [&str; 8] =
    ["kind", "name", "namespace", "mesh", "labels", "tags", "sectionName", "proxyTypes"];

impl TargetRef {
    /// Reads a reference; whether it is allowed where it stands is for the caller to say.
    pub fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        let fields = Fields::of(value, path, &FIELDS, errors)?;
        let text =
            |name, errors: &mut Errors| fields.text(name, errors).filter(|text| !text.is_empty());
        if fields.get("kind").is_none() {
            errors.push(&path.field("kind"), "must be set");
        }
        let proxy_types = [("Sidecar", ProxyType::Sidecar), ("Gateway", ProxyType::Gateway)];
        let proxy_type = |value: &Value, path: FieldPath<'_>, errors: &mut Errors| {
            crate::decode::one_of(value, &path, &proxy_types, errors)
        };
        Some(TargetRef {
            kind: fields.one_of("kind", &TargetKind::ALL, errors).unwrap_or_default(),
            name: text("name", errors),
            namespace: text("namespace", errors),
            mesh: text("mesh", errors),
            labels: fields.text_map("labels", errors),
            tags: fields.text_map("tags", errors),
            section_name: text("sectionName", errors),
            proxy_types: fields.list("proxyTypes", errors, proxy_type).unwrap_or_default(),
        })
    }
}

impl TargetKind {
    pub const ALL: [(&'static str, TargetKind); 10] = [
        ("Mesh", TargetKind::Mesh),
        ("MeshSubset", TargetKind::MeshSubset),
        ("MeshGateway", TargetKind::MeshGateway),
        ("MeshService", TargetKind::MeshService),
        ("MeshServiceSubset", TargetKind::MeshServiceSubset),
        ("MeshMultiZoneService", TargetKind::MeshMultiZoneService),
        ("MeshExternalService", TargetKind::MeshExternalService),
        ("MeshHTTPRoute", TargetKind::MeshHttpRoute),
        ("MeshTCPRoute", TargetKind::MeshTcpRoute),
        ("Dataplane", TargetKind::Dataplane),
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        let entry = Self::ALL.iter().find(|(_, kind)| *kind == self);
        entry.map_or("", |(name, _)| name)
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for TargetKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decode(value: &Value) -> (Option<TargetRef>, Vec<String>) {
        let mut errors = Errors::default();
        let target = TargetRef::decode(value, FieldPath::root("targetRef"), &mut errors);
        (target, errors.into_vec().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_reference_is_written_as_it_was_read() {
        let value = json!({
            "kind": "MeshHTTPRoute", "name": "n", "namespace": "s", "mesh": "m",
            "labels": {"a": "b"}, "tags": {"c": "d"}, "sectionName": "http",
            "proxyTypes": ["Sidecar", "Gateway"],
        });
        let (target, errors) = decode(&value);
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(serde_json::to_value(target.unwrap()).unwrap(), value);
    }

    #[test]
    fn every_kind_has_its_own_name() {
        for (name, kind) in TargetKind::ALL {
            assert_eq!(decode(&json!({"kind": name})).0.unwrap().kind, kind);
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn a_bad_reference_says_what_is_wrong() {
        let table = [
            (json!({}), "targetRef.kind: must be set"),
            (json!([]), "targetRef: must be an object, not a list"),
            (
                json!({"kind": "meshservice"}),
                "targetRef.kind: value 'meshservice' is not known; did you mean 'MeshService'?",
            ),
            (
                json!({"kind": "Mesh", "proxyTypes": ["Ingress"]}),
                "targetRef.proxyTypes[0]: value 'Ingress' is not known; expected one of Sidecar, Gateway",
            ),
            (
                json!({"kind": "Mesh", "nmae": "x"}),
                "targetRef.nmae: unknown field; did you mean 'name'?",
            ),
        ];
        for (value, expected) in table {
            assert_eq!(decode(&value).1, [expected], "{value}");
        }
    }
}
