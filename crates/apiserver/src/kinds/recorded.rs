//! The recorded scenarios, as far as strategies, metadata and pools determine them: creates,
//! replaces, merge patches and deletes of Services and EndpointSlices, and the metadata of
//! ConfigMaps. A scenario is followed until a step needs more than that.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{
    Admission, DeleteAnswers, Held, Kind, Part, Strategy,
    endpointslice::ENDPOINT_SLICE,
    fixed, metadata,
    read::{at, entry, list, remove, text},
    service::SERVICE,
};
use crate::{
    invalid::{Errors, FieldError},
    pools::{Holdings, PoolError, Pools},
    settings::{Features, IpRange},
};

#[derive(Debug)]
struct NoStrategy;

impl Strategy for NoStrategy {}

const CONFIG_MAP: Kind = Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("ConfigMap"),
    plural: fixed("configmaps"),
    singular: fixed("configmap"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed(""),
    verbs: &[],
    subresources: &[],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[],
    strategy: Held::Static(&NoStrategy),
    custom: None,
};

/// A server without HTTP, store and schema.
struct Server {
    pools: Arc<Pools>,
    stored: BTreeMap<String, Value>,
    seed: u64,
    /// The values of the scenario's placeholders.
    bound: BTreeMap<String, Value>,
}

enum Answer {
    Object(Value, Vec<String>),
    Refused(Errors),
    Failed(String),
}

#[derive(Default)]
struct Counts {
    compared: usize,
    wrong: Vec<String>,
}

impl Server {
    fn new(dual_stack: bool) -> Server {
        let range = |first: &str, prefix| IpRange { first: first.parse().unwrap(), prefix };
        let mut ranges = vec![range("10.96.0.0", 12)];
        if dual_stack {
            ranges.push(range("fd00:10:96::", 112));
        }
        let pools = Arc::new(Pools::new(&ranges, (30000, 32767)));
        Server { pools, stored: BTreeMap::new(), seed: 1, bound: BTreeMap::new() }
    }

    fn write(&mut self, kind: &Kind, key: &str, mut new: Value, dry_run: bool) -> Answer {
        let at = Admission {
            now: "2026-08-20T12:00:00Z".parse().unwrap(),
            features: Features::default(),
        };
        let old = self.stored.get(key).cloned();
        kind.strategy.default(&mut new, &at);
        let mut warnings: Vec<String> =
            metadata::drop_duplicate_owners(&mut new).into_iter().collect();
        match &old {
            None => metadata::prepare_create(&mut new, &at, "some-uid", "abcde"),
            Some(old) => metadata::prepare_update(&mut new, old),
        }
        let seed = &mut self.seed;
        let mut random = |below: u64| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            (*seed >> 20) % below
        };
        let mut reservation = None;
        if kind.kind == "Service" {
            match self.pools.reserve(&mut new, old.as_ref(), dry_run, &mut random) {
                Ok(taken) => reservation = Some(taken),
                Err(PoolError::Invalid(errors)) => return Answer::Refused(errors),
                Err(other) => return Answer::Failed(other.to_string()),
            }
        }
        let errors = match &old {
            None => {
                kind.strategy.prepare_create(&mut new, &at);
                let mut errors = metadata::validate_create(kind, &new);
                errors.extend(kind.strategy.validate_create(&new, &at));
                errors
            }
            Some(old) => {
                kind.strategy.prepare_update(Part::Main, &mut new, old, &at);
                let mut errors = metadata::validate_update(kind, &new, old);
                errors.extend(kind.strategy.validate_update(Part::Main, &new, old, &at));
                errors
            }
        };
        let errors = metadata::distinct(errors);
        if !errors.is_empty() {
            return Answer::Refused(errors);
        }
        warnings.extend(kind.strategy.warnings(&new, old.as_ref()));
        if !dry_run {
            if reservation.is_some() {
                let before = old.as_ref().map(Holdings::of).unwrap_or_default();
                self.pools.committed(&before, &Holdings::of(&new));
            }
            self.stored.insert(key.to_owned(), new.clone());
        }
        Answer::Object(new, warnings)
    }

    /// `false`: the scenario continues with something not supported here.
    fn step(&mut self, id: &str, step: &Value, counts: &mut Counts) -> bool {
        let request = &step["request"];
        let path = text(request, &["path"]);
        let parts: Vec<&str> = path.split('/').collect();
        let (namespace, plural, name) = match parts[..] {
            ["", "api", "v1", "namespaces", namespace, plural, ref name @ ..] => {
                (namespace, plural, name)
            }
            [
                "",
                "apis",
                "discovery.k8s.io",
                "v1",
                "namespaces",
                namespace,
                plural,
                ref name @ ..,
            ] => (namespace, plural, name),
            _ => return true,
        };
        let kinds = [&SERVICE, &ENDPOINT_SLICE, &CONFIG_MAP];
        let Some(kind) = kinds.into_iter().find(|kind| kind.plural == plural) else { return true };
        let method = text(request, &["method"]);
        let status = step["response"]["status"].as_u64().unwrap_or_default();
        let undecoded = expected_field(step) == "patch";
        if method == "GET" || status >= 400 && status != 422 || undecoded {
            // Reads, and rejections by the verbs, the schema and the store.
            return true;
        }
        if name.len() > 1 || !request["body_raw"].is_null() || !request["body_repeat"].is_null() {
            return false;
        }
        let mut body = request["body"].clone();
        fill_in(&mut body, &self.bound);
        let named = name.first().copied().unwrap_or(text(&body, &["metadata", "name"])).to_owned();
        let key = format!("{namespace}/{plural}/{named}");
        match method {
            "DELETE" if name.len() == 1 => {
                let Some(mut old) = self.stored.remove(&key) else { return false };
                if list(&old, &["metadata", "finalizers"]).is_empty() {
                    self.pools.committed(&Holdings::of(&old), &Holdings::default());
                    return true;
                }
                *entry(&mut old, &["metadata", "deletionTimestamp"]) =
                    json!("2026-08-20T12:00:00Z");
                *entry(&mut old, &["metadata", "deletionGracePeriodSeconds"]) = json!(0);
                self.stored.insert(key, old);
                return true;
            }
            "POST" if self.stored.contains_key(&key) => return false,
            "PATCH" if text(request, &["content_type"]) == "application/merge-patch+json" => {
                let Some(old) = self.stored.get(&key) else { return false };
                let mut patched = old.clone();
                merge(&mut patched, &body);
                body = patched;
            }
            "PUT" if !self.stored.contains_key(&key) && kind.kind != "Service" => return false,
            "PUT" | "POST" => {}
            _ => return false,
        }
        if !body.is_object() {
            return false;
        }
        remove(&mut body, &["metadata", "resourceVersion"]);
        *entry(&mut body, &["metadata", "namespace"]) = json!(namespace);
        let dry_run = !at(request, &["query", "dryRun"]).is_null();
        let answer = self.write(kind, &key, body, dry_run);
        self.compare(id, kind, &named, step, &answer, counts)
    }

    fn compare(
        &mut self,
        id: &str,
        kind: &Kind,
        name: &str,
        step: &Value,
        answer: &Answer,
        counts: &mut Counts,
    ) -> bool {
        let expected = &step["response"];
        let status = expected["status"].as_u64().unwrap_or_default();
        let ours = kind.kind != "ConfigMap";
        let differ = match answer {
            Answer::Object(object, warnings) if status / 100 == 2 => {
                let mut differ = Vec::new();
                if let Some(recorded) = expected["body"].as_object() {
                    counts.compared += 1;
                    let whole = step["compare"].is_null();
                    for (name, value) in recorded {
                        let known = ["apiVersion", "kind"].contains(&name.as_str());
                        if known || !ours && name != "metadata" {
                            continue;
                        }
                        same(name, value, &object[name], whole, &mut self.bound, &mut differ);
                    }
                    let recorded: Vec<String> = list(expected, &["headers", "Warning"])
                        .iter()
                        .map(|line| line.as_str().unwrap().replace("299 - ", ""))
                        .map(|quoted| serde_json::from_str::<String>(&quoted).unwrap())
                        .filter(|warning| !warning.starts_with("unknown field"))
                        .collect();
                    if recorded != *warnings {
                        differ.push(format!("warnings {warnings:?} instead of {recorded:?}"));
                    }
                }
                differ
            }
            Answer::Refused(errors) if status == 422 => {
                counts.compared += 1;
                refused(kind, name, errors, &expected["body"])
            }
            // Rejections by a ConfigMap's own strategy.
            _ if !ours => return false,
            Answer::Object(..) => {
                vec![format!("accepted instead of {status} {}", expected["body"]["message"])]
            }
            Answer::Refused(errors) => {
                let texts: Vec<String> = errors.iter().map(FieldError::to_string).collect();
                vec![format!("refused instead of {status}: {texts:?}")]
            }
            Answer::Failed(text) => vec![format!("failed instead of {status}: {text}")],
        };
        counts.wrong.extend(differ.into_iter().map(|text| format!("{id}: {text}")));
        true
    }
}

/// The field of the first cause in a recorded error.
fn expected_field(step: &Value) -> &str {
    let causes = list(&step["response"], &["body", "details", "causes"]);
    causes.first().map(|cause| text(cause, &["field"])).unwrap_or_default()
}

fn refused(kind: &Kind, name: &str, errors: &Errors, expected: &Value) -> Vec<String> {
    let causes: Vec<Value> = errors
        .iter()
        .map(|error| {
            json!({"field": error.path.as_str(), "message": error.message(), "reason": error.reason()})
        })
        .collect();
    let texts: Vec<String> = errors.iter().map(FieldError::to_string).collect();
    let all = if texts.len() == 1 { texts[0].clone() } else { format!("[{}]", texts.join(", ")) };
    let full = if kind.group.is_empty() {
        kind.kind.to_string()
    } else {
        format!("{}.{}", kind.kind, kind.group)
    };
    let message = format!("{full} {name:?} is invalid: {all}");
    let mut differ = Vec::new();
    if json!(causes) != expected["details"]["causes"] {
        differ.push(format!(
            "causes {} instead of {}",
            json!(causes),
            expected["details"]["causes"]
        ));
    }
    if json!(message) != expected["message"] && !name.is_empty() {
        differ.push(format!("message {message} instead of {}", expected["message"]));
    }
    differ
}

/// Compares the recorded object with the result, before the schema drops empty values and adds
/// those that Go always writes.
fn same(
    path: &str,
    recorded: &Value,
    found: &Value,
    whole: bool,
    bound: &mut BTreeMap<String, Value>,
    differ: &mut Vec<String>,
) {
    let differs =
        |differ: &mut Vec<String>| differ.push(format!("{path}: {found} instead of {recorded}"));
    match (recorded, found) {
        (Value::String(mask), _) if mask.starts_with("<rv:") => {}
        (Value::String(mask), _) if mask.starts_with('<') && mask.ends_with('>') => {
            if mask == "<time>" {
                if !found.is_string() {
                    differs(differ);
                }
            } else if found.is_null()
                || bound.entry(mask.clone()).or_insert_with(|| found.clone()) != found
            {
                differs(differ);
            }
        }
        (Value::String(mask), Value::String(text)) if mask.contains("<rand:") => {
            let prefix = mask.split('<').next().unwrap_or_default();
            if !text.starts_with(prefix) {
                differs(differ);
            }
        }
        (Value::Object(recorded), _) => {
            for (name, value) in recorded {
                same(&format!("{path}.{name}"), value, &found[name], whole, bound, differ);
            }
            for (name, value) in found.as_object().into_iter().flatten() {
                if whole && !recorded.contains_key(name) && !is_zero(value) {
                    differ.push(format!("{path}.{name}: {value} should not be there"));
                }
            }
        }
        (Value::Array(recorded), Value::Array(found_items))
            if recorded.len() == found_items.len() =>
        {
            for (i, (recorded, found)) in recorded.iter().zip(found_items).enumerate() {
                same(&format!("{path}[{i}]"), recorded, found, whole, bound, differ);
            }
        }
        _ if recorded != found && !is_zero(recorded) => differs(differ),
        _ => {}
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        other => other.is_null() || *other == json!(0) || *other == json!(false),
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            remove(target, &[name]);
        } else {
            merge(entry(target, &[name]), value);
        }
    }
}

fn fill_in(value: &mut Value, bound: &BTreeMap<String, Value>) {
    match value {
        Value::String(text) => {
            if let Some(real) = bound.get(text.as_str()) {
                *value = real.clone();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in(item, bound)),
        Value::Object(fields) => fields.values_mut().for_each(|item| fill_in(item, bound)),
        _ => {}
    }
}

/// Follows all scenarios of a file.
fn follow(file: &str, counts: &mut Counts) {
    let path = format!("{}/../../conformance/apiserver/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text_ = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    for line in text_.lines() {
        let scenario: Value = serde_json::from_str(line).unwrap();
        let mut server = Server::new(scenario["server"] == json!("dualstack"));
        for step in list(&scenario, &["steps"]) {
            if step["cleanup"] == json!(true) || step["request"].is_null() {
                continue;
            }
            if !server.step(text(&scenario, &["id"]), step, counts) {
                break;
            }
        }
    }
}

#[test]
fn recorded_services_and_slices_come_out_as_recorded() {
    let mut counts = Counts::default();
    for file in ["services", "endpointslices"] {
        follow(file, &mut counts);
    }
    assert!(counts.wrong.is_empty(), "{}", counts.wrong.join("\n"));
    assert!(counts.compared > 80, "only {} steps compared", counts.compared);
}

#[test]
fn recorded_metadata_comes_out_as_recorded() {
    let mut counts = Counts::default();
    for file in ["errors", "lifecycle", "verbs", "patch", "kinds", "list", "watch"] {
        follow(file, &mut counts);
    }
    assert!(counts.wrong.is_empty(), "{}", counts.wrong.join("\n"));
    assert!(counts.compared > 80, "only {} steps compared", counts.compared);
}
