//! Services as they were read, for commands that print them whole.
//!
//! A typed object knows the fields of one version of the API. Writing it back would drop the fields
//! that a newer server added, so the untyped object is kept beside it where it is needed.

use std::collections::BTreeMap;

use evenkeel_model::ServiceKey;
use serde_json::{Map, Value};

/// The fields of each Service, by its key.
#[derive(Clone, Debug, Default)]
pub struct RawServices {
    fields: BTreeMap<ServiceKey, Map<String, Value>>,
}

impl RawServices {
    pub fn get(&self, key: &ServiceKey) -> Option<&Map<String, Value>> {
        self.fields.get(key)
    }

    /// Takes a Service in. Like the API server, it puts one without namespace into `default`.
    pub(crate) fn add(&mut self, mut fields: Map<String, Value>) {
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
        self.fields.entry(ServiceKey::new(namespace, name)).or_insert(fields);
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
