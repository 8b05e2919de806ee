//! Replayed objects, with the selectable fields of this version of the program.
//!
//! The journal stores an object's fields by their position in the kind's table, which may differ in
//! the version that wrote it. So they are read again from the object itself. Kinds without such
//! fields cost nothing; of the others only the parts that a field may be read from are parsed, and
//! the rest is skipped.

use std::{borrow::Cow, fmt, sync::Arc};

use evenkeel_store::{Object, Replayed, ResourceId};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{document, kinds};

/// Parts of objects, at any depth, that no field is read from, and that make up most of their size.
const UNREAD: [&str; 18] = [
    "affinity",
    "annotations",
    "conditions",
    "containerStatuses",
    "containers",
    "data",
    "ephemeralContainers",
    "images",
    "initContainerStatuses",
    "initContainers",
    "managedFields",
    "message",
    "metadata",
    "ports",
    "resourceClaims",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];

/// Sets the selectable fields that the kind has now.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    buffer: Vec<u8>,
}

impl Fields {
    pub(crate) fn of(&mut self, mut item: Replayed) -> Replayed {
        match &mut item {
            Replayed::Base(_) | Replayed::Registered(..) => {}
            Replayed::Object(resource, object) => self.derive(*resource, object),
            Replayed::Change(change) => {
                if let Some(object) = change.object.as_mut().and_then(Arc::get_mut) {
                    self.derive(change.resource, object);
                }
            }
        }
        item
    }

    fn derive(&mut self, resource: ResourceId, object: &mut Object) {
        // Those of custom resources are read from the objects themselves (`custom`).
        let Some(kind) = kinds::of_id(resource) else { return };
        if kind.fields.is_empty() {
            object.fields = [].into();
            return;
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(b"{\"metadata\":{");
        self.buffer.extend_from_slice(&object.encoded);
        let mut text = serde_json::Deserializer::from_slice(&self.buffer);
        object.fields = match Selectable.deserialize(&mut text) {
            Ok(value) => document::fields(kind, &value),
            Err(_) => {
                // It can't be read, but it can be shown and deleted: keep the stored fields.
                let mut fields = std::mem::take(&mut object.fields).into_vec();
                fields.resize(kind.fields.len(), "".into());
                fields.into()
            }
        };
    }
}

/// A value without the [`UNREAD`] parts.
#[derive(Clone, Copy)]
struct Selectable;

impl<'de> DeserializeSeed<'de> for Selectable {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Selectable {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(self)? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<Cow<'_, str>>()? {
            if UNREAD.contains(&&*key) {
                members.next_value::<IgnoredAny>()?;
            } else {
                map.insert(key.into_owned(), members.next_value_seed(self)?);
            }
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_store::{Change, Journal, Limits, State};
    use serde_json::json;

    use super::*;
    use crate::{
        certificates::testing::scratch,
        journal::FileJournal,
        kinds::{KINDS, KindRef, POD, SECRET, SERVICE},
    };

    fn pod() -> Value {
        json!({
            "metadata": {"name": "a", "namespace": "b", "labels": {"app": "x"}},
            "spec": {
                "nodeName": "node-1", "restartPolicy": "Never", "hostNetwork": true,
                "schedulerName": "mine", "serviceAccountName": "me",
                "containers": [{"name": "c", "image": "d"}],
            },
            "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "conditions": []},
        })
    }

    fn derived(kind: &'static KindRef, value: &Value, kept: &[&str]) -> Box<[Box<str>]> {
        let stored = document::stored(kind, value);
        let fields = kept.iter().map(|field| Box::from(*field)).collect();
        let key = "b/a".into();
        let object =
            Object { key, revision: 1, labels: stored.labels, fields, encoded: stored.encoded };
        match Fields::default().of(Replayed::Object(kind.id(), object)) {
            Replayed::Object(_, object) => object.fields,
            other => panic!("{other:?}"),
        }
    }

    /// A field that is read from an unread part would be empty after a restart.
    #[test]
    fn every_kind_reads_the_same_fields_at_a_replay() {
        let everywhere = |name: &str| match name {
            "podIPs" => json!([{"ip": "10.0.0.1"}]),
            "hostNetwork" | "unschedulable" => json!(true),
            _ => json!(format!("the {name}")),
        };
        for kind in KINDS.iter().filter(|kind| kind.alias.is_none()) {
            let mut value = json!({"metadata": {"name": "a", "namespace": "b"}});
            for (label, _) in kind.fields {
                let mut at = &mut value;
                let mut names = label.split('.').peekable();
                while let Some(name) = names.next() {
                    let leaf = names.peek().is_none();
                    at = &mut at[name];
                    if leaf && at.is_null() {
                        *at = everywhere(name);
                    }
                }
            }
            if **kind == POD {
                value = pod();
            }
            let expected = document::fields(kind, &value);
            assert_eq!(derived(kind, &value, &[]), expected, "{}", kind.kind);
            assert!(kind.fields.is_empty() || expected.iter().any(|field| !field.is_empty()));
        }
    }

    #[test]
    fn an_object_that_cannot_be_read_keeps_what_was_kept_with_it() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let encoded = format!(r#""name":"a"}},"type":"t","x":{deep}}}"#).into_bytes().into();
        let fields = ["Opaque".into()].into();
        let object = Object { key: "b/a".into(), revision: 1, labels: [].into(), fields, encoded };
        let item = Fields::default().of(Replayed::Object(SECRET.id(), object));
        let Replayed::Object(_, object) = item else { panic!("{item:?}") };
        assert_eq!(*object.fields, ["Opaque".into()]);
    }

    /// As written by a version of the program with other fields, or in another order.
    #[test]
    fn a_folder_with_the_fields_of_another_version_is_read_by_this_ones() {
        let (_scratch, path) = scratch();
        let names: Vec<String> = kinds::names().collect();
        let open = || FileJournal::open(&path, names.iter().map(String::as_str)).unwrap();
        let service = json!({
            "metadata": {"name": "a", "namespace": "b"},
            "spec": {"type": "NodePort", "clusterIP": "10.96.0.9"},
        });
        let mut changes = Vec::new();
        for (kind, value, kept) in [
            (&POD, &pod(), &["Running", "node-1"][..]),
            (&SERVICE, &service, &["NodePort", "10.96.0.9", "more"]),
        ] {
            let stored = document::stored(kind, value);
            let fields = kept.iter().map(|field| Box::from(*field)).collect();
            let (key, revision) = (Box::<str>::from("b/a"), changes.len() as u64 + 1);
            let (labels, encoded) = (stored.labels, stored.encoded);
            let object = Arc::new(Object { key: key.clone(), revision, labels, fields, encoded });
            changes.push(Change { resource: kind.id(), revision, key, object: Some(object) });
        }
        let mut journal = open();
        journal.append(&changes).unwrap();
        journal.sync().unwrap();
        drop(journal);
        let (mut state, mut fields) =
            (State::new(kinds::names(), Limits::default()), Fields::default());
        open().replay(&mut |item| state.replay(fields.of(item))).unwrap();
        for (kind, value) in [(&POD, &pod()), (&SERVICE, &service)] {
            let object = state.object(kind.id(), "b/a").unwrap();
            assert_eq!(object.fields, document::fields(kind, value), "{}", kind.kind);
        }
    }
}
