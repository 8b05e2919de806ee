//! The folders of `deploy/` as objects.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::by_hand;

/// What `kubectl apply -k FOLDER` would send.
pub(crate) struct Rendered {
    pub(crate) folder: String,
    pub(crate) objects: Vec<Value>,
}

/// Verbs by API group and resource, or resource and name.
pub(crate) type Allowed = BTreeMap<(String, String), BTreeSet<String>>;

pub(crate) fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(file)
}

pub(crate) fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|problem| panic!("deploy/{file}: {problem}"))
}

pub(crate) fn documents(file: &str) -> Vec<Value> {
    parse(&read(file))
}

pub(crate) fn files(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(path(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

pub(crate) fn parse(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).unwrap_or_else(|problem| panic!("{problem}\n{yaml}"))
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}"))
}

pub(crate) fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().unwrap_or_else(|| panic!("not a list: {list}")).iter().map(text)
}

pub(crate) fn allowed(role: &Value) -> Allowed {
    let mut allowed = Allowed::new();
    for rule in role["rules"].as_array().unwrap() {
        let names = rule.get("resourceNames").map(|names| strings(names).collect::<Vec<_>>());
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                for place in places(resource, names.as_deref()) {
                    let verbs = strings(&rule["verbs"]).map(str::to_owned);
                    allowed.entry((group.to_owned(), place)).or_default().extend(verbs);
                }
            }
        }
    }
    allowed
}

pub(crate) fn table(rows: &[(&str, &str, &[&str])]) -> Allowed {
    let rows = rows.iter().map(|(group, resource, verbs)| {
        let verbs = verbs.iter().map(|verb| (*verb).to_owned()).collect();
        (((*group).to_owned(), (*resource).to_owned()), verbs)
    });
    rows.collect()
}

// === impl Rendered ===

impl Rendered {
    pub(crate) fn new(folder: &str) -> Self {
        let output = Command::new("kubectl").arg("kustomize").arg(path(folder)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let mut by_hand = by_hand::render(folder);
        let is_too_old = said.contains("cannot unmarshal") || said.contains("unknown field");
        if !is_too_old {
            assert!(output.status.success() && said.is_empty(), "{folder}: {said}");
            let mut objects = parse(&String::from_utf8(output.stdout).unwrap());
            objects.sort_by_key(ToString::to_string);
            by_hand.sort_by_key(ToString::to_string);
            assert_eq!(objects, by_hand, "{folder}");
        }
        assert!(!by_hand.is_empty(), "{folder}");
        Rendered { folder: folder.to_owned(), objects: by_hand }
    }

    pub(crate) fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    /// The only one of that kind and name.
    pub(crate) fn one(&self, kind: &str, name: &str) -> &Value {
        let named: Vec<_> =
            self.of(kind).filter(|object| object["metadata"]["name"] == name).collect();
        let [object] = named[..] else {
            panic!("{}: {} of {kind} {name}", self.folder, named.len());
        };
        object
    }

    /// What runs the Pods: each component has one.
    pub(crate) fn workload(&self) -> &Value {
        let all: Vec<_> = self.of("Deployment").chain(self.of("DaemonSet")).collect();
        let [workload] = all[..] else { panic!("{}: {} workloads", self.folder, all.len()) };
        workload
    }

    pub(crate) fn pod(&self) -> &Value {
        &self.workload()["spec"]["template"]["spec"]
    }

    pub(crate) fn container(&self) -> &Value {
        let containers = self.pod()["containers"].as_array().unwrap();
        let [container] = &containers[..] else { panic!("one container, not {containers:?}") };
        container
    }

    /// The values of `NAME=VALUE` among the component's arguments.
    pub(crate) fn argument(&self, name: &str) -> Vec<&str> {
        let pairs = strings(&self.container()["args"]).filter_map(|arg| arg.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).collect()
    }
}

fn places(resource: &str, names: Option<&[&str]>) -> Vec<String> {
    match names {
        None => vec![resource.to_owned()],
        Some(names) => names.iter().map(|name| format!("{resource}/{name}")).collect(),
    }
}
