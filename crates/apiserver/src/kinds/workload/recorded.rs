//! Recorded requests on pods and workloads, run through the strategies without a server.

use std::{collections::BTreeMap, fs};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::scale::{apply_scale, scale_of};
use crate::{
    invalid::{Errors, FieldError},
    kinds::{
        Admission, Kind, KindRef, Part,
        daemonset::DAEMON_SET,
        deployment::DEPLOYMENT,
        pod::{POD, binding},
        read::{entry, list, text},
        replicaset::REPLICA_SET,
    },
    settings::Features,
};

const FILES: &[&str] = &["pods", "workloads", "table", "verbs", "lifecycle", "patch", "watch"];

fn now() -> Timestamp {
    "2020-01-01T00:00:00Z".parse().unwrap()
}

fn admission() -> Admission {
    Admission { now: now(), features: Features::default() }
}

fn scenarios(file: &str) -> Vec<Value> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/apiserver");
    let lines = fs::read_to_string(format!("{root}/{file}.jsonl")).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The kind of a path, with name and subresource: `/…/namespaces/NS/PLURAL/NAME/SUB`.
fn place(path: &str) -> Option<(&'static KindRef, &str, &str)> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let start = parts.iter().position(|part| *part == "namespaces")? + 2;
    let kinds = [&POD, &DEPLOYMENT, &REPLICA_SET, &DAEMON_SET];
    let kind = kinds.into_iter().find(|kind| Some(&&*kind.plural) == parts.get(start))?;
    let part = |i: usize| parts.get(start + i).copied().unwrap_or_default();
    Some((kind, part(1), part(2)))
}

/// Fields that only the server sets.
const SERVER: &[&str] =
    &["uid", "resourceVersion", "creationTimestamp", "namespace", "managedFields"];

/// Whether an object equals the recorded one, except for zero values that only one side shows and
/// that depend on Go's types.
fn alike(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Object(one), Value::Object(other)) => {
            one.keys().chain(other.keys()).filter(|name| !SERVER.contains(&name.as_str())).all(
                |name| match (one.get(name), other.get(name)) {
                    (Some(ours), Some(theirs)) => alike(ours, theirs),
                    (Some(ours), None) => {
                        [json!(null), json!(""), json!(0), json!(false), json!({}), json!([])]
                            .contains(ours)
                    }
                    (None, Some(Value::Null)) => name.starts_with("last"),
                    (None, theirs) => name == "resources" && theirs == Some(&json!({})),
                },
            )
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(ours, theirs)| alike(ours, theirs))
        }
        (Value::String(ours), Value::String(theirs)) if theirs == "<time>" => {
            ours.parse::<Timestamp>().is_ok()
        }
        _ => ours == theirs,
    }
}

/// A merge patch; with `keyed`, lists with a known key are merged as in a strategic merge patch.
fn merged(mut object: Value, patch: &Value, keyed: bool) -> Value {
    let Some(patch) = patch.as_object() else { return patch.clone() };
    for (field, value) in patch {
        let key = match field.as_str() {
            "containers" | "env" | "volumes" => "name",
            "ports" => "containerPort",
            "volumeMounts" => "mountPath",
            "conditions" => "type",
            _ => "",
        };
        let place = entry(&mut object, &[field]);
        *place = match (place.take(), value) {
            (Value::Array(old), Value::Array(new)) if keyed && !key.is_empty() => {
                merged_by(key, old, new)
            }
            (old, value) => merged(old, value, keyed),
        };
    }
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

fn merged_by(key: &str, mut old: Vec<Value>, patch: &[Value]) -> Value {
    let mut all = Vec::new();
    for item in patch {
        let present = old.iter().position(|old| old[key] == item[key]).map(|i| old.remove(i));
        all.push(present.map_or_else(|| item.clone(), |present| merged(present, item, true)));
    }
    all.append(&mut old);
    Value::Array(all)
}

#[derive(Default)]
struct Bench {
    stored: BTreeMap<String, Value>,
    compared: usize,
}

impl Bench {
    fn step(&mut self, step: &Value) {
        let request = &step["request"];
        let Some((kind, name, part)) = place(text(request, &["path"])) else { return };
        let body = &request["body"];
        let name = if name.is_empty() { text(body, &["metadata", "name"]) } else { name };
        let key = format!("{}/{name}", kind.plural);
        let stored = self.stored.get(&key).cloned();
        let directs = body.to_string().contains('$');
        let scales = kind.subresource("scale").is_some();
        let dry = request["query"]["dryRun"].is_string();
        match (text(request, &["method"]), text(request, &["content_type"]), part, stored) {
            ("POST", _, "", None) if body.is_object() && !name.is_empty() && !dry => {
                self.create(kind, &key, step);
            }
            ("POST", _, "binding", Some(old)) => self.bind(&key, old, step),
            ("GET", _, "scale", Some(old)) if scales => self.same(step, &scale_of(kind, &old)),
            ("PUT", _, "scale", Some(mut old)) => {
                let errors = apply_scale(&mut old, body);
                self.update(kind, &key, "", old.clone(), step, Some(errors));
            }
            ("PUT", _, "" | "status", Some(_)) if body.is_object() => {
                self.update(kind, &key, part, body.clone(), step, None);
            }
            ("PATCH", content, "" | "status", Some(old))
                if content.contains("merge-patch") && !directs =>
            {
                let new = merged(old, body, content.contains("strategic"));
                self.update(kind, &key, part, new, step, None);
            }
            ("DELETE", ..) => drop(self.stored.remove(&key)),
            ("PATCH", _, _, Some(_)) => drop(self.stored.remove(&key)),
            _ => {}
        }
    }

    fn create(&mut self, kind: &Kind, key: &str, step: &Value) {
        let mut object = step["request"]["body"].clone();
        if !object["metadata"]["resourceVersion"].is_null() {
            return;
        }
        let at = admission();
        kind.strategy.default(&mut object, &at);
        kind.strategy.prepare_create(&mut object, &at);
        let errors = kind.strategy.validate_create(&object, &at);
        if self.compare(step, &object, &errors) {
            self.stored.insert(key.to_owned(), object);
        }
    }

    fn update(
        &mut self,
        kind: &Kind,
        key: &str,
        part: &str,
        mut new: Value,
        step: &Value,
        of_scale: Option<Errors>,
    ) {
        let at = admission();
        let old = self.stored[key].clone();
        let part = if part == "status" { Part::Status } else { Part::Main };
        kind.strategy.default(&mut new, &at);
        kind.strategy.prepare_update(part, &mut new, &old, &at);
        let mut errors = of_scale.unwrap_or_default();
        errors.extend(kind.strategy.validate_update(part, &new, &old, &at));
        if step["response"]["body"]["kind"] == "Scale" {
            new = scale_of(kind, &new);
        }
        if self.compare(step, &new, &errors) {
            self.stored.insert(key.to_owned(), new);
        }
    }

    fn bind(&mut self, key: &str, mut pod: Value, step: &Value) {
        let outcome = binding::bind(&mut pod, &step["request"]["body"], now());
        let response = &step["response"];
        match outcome {
            Ok(()) => {
                assert_eq!(response["status"], 201);
                self.stored.insert(key.to_owned(), pod);
            }
            Err(error) => {
                assert!(
                    text(response, &["body", "message"]).contains(&error.to_string()),
                    "{response} {error}"
                );
            }
        }
        self.compared += 1;
    }

    /// Whether the write was accepted.
    fn compare(&mut self, step: &Value, object: &Value, errors: &Errors) -> bool {
        let (request, response) = (&step["request"], &step["response"]);
        if response["status"] != 422 {
            let taken = [json!(200), json!(201)].contains(&response["status"]);
            if taken {
                let texts: Vec<String> = errors.iter().map(FieldError::to_string).collect();
                assert!(texts.is_empty(), "{request}: {texts:?}");
                self.same(step, object);
            }
            return taken;
        }
        let cause = |error: &FieldError| {
            let short = step["compare"] == "short422";
            let message = error.message();
            let message = if short { message.lines().next().unwrap_or_default() } else { &message };
            json!({"field": error.path.to_string(), "message": message, "reason": error.reason()})
        };
        let causes: Vec<Value> = errors.iter().map(cause).collect();
        let recorded = &response["body"]["details"]["causes"];
        if !list(recorded, &[]).iter().any(|cause| text(cause, &["field"]).starts_with("metadata."))
        {
            assert_eq!(&json!(causes), recorded, "{request}");
            self.compared += 1;
        }
        false
    }

    fn same(&mut self, step: &Value, object: &Value) {
        let recorded = &step["response"]["body"];
        let parts: &[&str] = match text(step, &["compare"]) {
            "" => &["spec", "status", "metadata"],
            "meta" => &["metadata"],
            "spec" => &["spec"],
            "nometa" => &["spec", "status"],
            _ => return,
        };
        for part in parts {
            let (ours, theirs) = (&object[*part], &recorded[*part]);
            assert!(alike(ours, theirs), "{part} of {}:\n{ours}\n{theirs}", step["request"]);
        }
        self.compared += 1;
    }
}

#[test]
fn objects_come_out_as_recorded() {
    let mut compared = BTreeMap::new();
    for file in FILES {
        for scenario in scenarios(file) {
            let mut bench = Bench::default();
            for step in list(&scenario, &["steps"]).iter().filter(|step| step["setup"].is_null()) {
                bench.step(step);
            }
            *compared.entry(*file).or_insert(0) += bench.compared;
        }
    }
    for (file, least) in [("pods", 26), ("workloads", 13), ("verbs", 19), ("patch", 7)] {
        assert!(compared[file] >= least, "{file}: {compared:?}");
    }
}

#[test]
fn pods_are_shown_as_recorded() {
    let scenario =
        scenarios("table").into_iter().find(|scenario| scenario["id"] == "table.pods").unwrap();
    let mut bench = Bench::default();
    for step in list(&scenario, &["steps"]) {
        if step["compare"] == "tbl" {
            let rows = list(&step["response"]["body"], &["rows"]);
            assert_eq!(rows.len(), bench.stored.len());
            for (row, pod) in rows.iter().zip(bench.stored.values()) {
                let cell = |column: &crate::kinds::Column| (column.cell)(pod, now());
                let mut cells: Vec<Value> = POD.columns.iter().map(cell).collect();
                cells[4] = json!("<age>");
                assert_eq!(json!(cells), row["cells"]);
            }
        } else if step["request"]["method"] == "DELETE" && step["cleanup"].is_null() {
            let (_, name, _) = place(text(step, &["request", "path"])).unwrap();
            let pod = bench.stored.get_mut(&format!("pods/{name}")).unwrap();
            pod["metadata"]["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
        } else if step["setup"].is_null() {
            bench.step(step);
        }
    }
}
