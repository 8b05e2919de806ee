//! Services as they were read, for commands that print them whole.
//!
//! A typed object knows the fields of one version of the API. Writing it back would drop the fields
//! that a newer server added, so the untyped object is kept beside it where it is needed.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::ServiceKey;
use serde_json::{Map, Value};

use crate::{
    Origin,
    convert::topology_keys,
    manifest::{ManifestError, Problem},
};

/// The fields of each Service, by its key.
#[derive(Clone, Debug, Default)]
pub struct RawServices {
    fields: BTreeMap<ServiceKey, RawService>,
}

#[derive(Clone, Debug)]
struct RawService {
    origin: Origin,
    fields: Map<String, Value>,
}

impl RawServices {
    pub fn get(&self, key: &ServiceKey) -> Option<&Map<String, Value>> {
        self.fields.get(key).map(|service| &service.fields)
    }

    /// The field `spec.topologyKeys` of a Service, which Kubernetes removed and no typed object has.
    pub fn topology_keys(&self, key: &ServiceKey) -> Result<Option<Vec<Arc<str>>>, ManifestError> {
        let Some(RawService { origin, fields }) = self.fields.get(key) else {
            return Ok(None);
        };
        let keys = fields.get("spec").and_then(|spec| spec.get("topologyKeys"));
        topology_keys(keys).map_err(|error| {
            let problem = Problem::WrongValue { problem: error.problem };
            let object = Some(format!("Service/{key}").into());
            let field = Some(error.field.into());
            ManifestError { object, field, ..ManifestError::new(origin.clone(), problem) }
        })
    }

    /// Takes a Service in. Like the API server, it puts one without namespace into `default`.
    pub(crate) fn add(&mut self, origin: Origin, mut fields: Map<String, Value>) {
        let Some(Value::Object(meta)) = fields.get_mut("metadata") else {
            return;
        };
        meta.remove("managedFields");
        let text = |key: &str| {
            meta.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let Some(name) = text("name") else {
            return;
        };
        let namespace = text("namespace").unwrap_or_else(|| "default".to_owned());
        meta.insert("namespace".to_owned(), namespace.clone().into());
        fields.insert("apiVersion".to_owned(), "v1".into());
        fields.insert("kind".to_owned(), "Service".into());
        let service = RawService { origin, fields };
        self.fields.entry(ServiceKey::new(namespace, name)).or_insert(service);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Objects, manifest};

    const SERVICES: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web, managedFields: [{manager: x}]}
spec: {ports: [{port: 80}], tomorrow: 1}
---
apiVersion: v1
kind: ServiceList
items:
- metadata: {name: api, namespace: shop}
---
apiVersion: v1
kind: Node
metadata: {name: node-1}
";

    fn parsed(raw_services: Option<RawServices>) -> Objects {
        let mut objects = Objects { raw_services, ..Objects::default() };
        manifest::parse("test", SERVICES, &mut objects).unwrap();
        assert_eq!(objects.services.len(), 2);
        objects
    }

    #[test]
    fn removed_keys_are_read_and_errors_name_their_place() {
        let of = |keys: &str| {
            let text = format!(
                "---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{topologyKeys: {keys}}}\n"
            );
            let raw_services = Some(RawServices::default());
            let mut objects = Objects { raw_services, ..Objects::default() };
            manifest::parse("old.yaml", &text, &mut objects).unwrap();
            let raw = objects.raw_services.unwrap();
            raw.topology_keys(&ServiceKey::new("default", "web")).map_err(|e| e.to_string())
        };
        assert_eq!(of("null"), Ok(None));
        assert_eq!(of("[a, '*']"), Ok(Some(vec!["a".into(), "*".into()])));
        let error = of("[5]").unwrap_err();
        assert!(error.starts_with("old.yaml"), "{error}");
        let end =
            "Service/default/web: spec.topologyKeys[0]: expected the key of a label, or \"*\"";
        assert!(error.ends_with(end), "{error}");
    }

    #[test]
    fn services_are_kept_with_unknown_fields_where_they_are_needed() {
        let raw = parsed(Some(RawServices::default())).raw_services.unwrap();
        let web = raw.get(&ServiceKey::new("default", "web")).unwrap();
        assert_eq!(web["spec"]["tomorrow"], 1);
        assert_eq!(web["metadata"], serde_json::json!({"name": "web", "namespace": "default"}));
        let api = raw.get(&ServiceKey::new("shop", "api")).unwrap();
        assert_eq!((&api["kind"], &api["apiVersion"]), (&"Service".into(), &"v1".into()));
        assert!(parsed(None).raw_services.is_none());
    }
}
