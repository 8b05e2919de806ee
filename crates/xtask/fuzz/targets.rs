//! The fuzz targets.

use evenkeel_apiserver::fuzzing;
use evenkeel_fairness::dialect;
use evenkeel_k8s::{Objects, manifest, snapshot};

pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// The folder of the corpus.
    pub(crate) examples: &'static str,
    /// Whether the input is accepted. It may be rejected, but nothing may panic.
    pub(crate) accepts: fn(&str) -> bool,
}

pub(crate) const TARGETS: &[Target] = &[
    Target { name: "manifests", examples: "examples/three-zones", accepts: manifests },
    Target {
        name: "flowcontrol",
        examples: "crates/fairness/src/dialect/kubernetes",
        accepts: fairness,
    },
    Target { name: "request-priority", examples: "examples/fairness/tenants", accepts: fairness },
    Target { name: "objects", examples: "crates/xtask/fuzz/examples/objects", accepts: objects },
    Target { name: "patch", examples: "crates/xtask/fuzz/examples/patch", accepts: patch },
    Target {
        name: "selectors",
        examples: "crates/xtask/fuzz/examples/selectors",
        accepts: selectors,
    },
    Target {
        name: "request-paths",
        examples: "crates/xtask/fuzz/examples/request-paths",
        accepts: request_paths,
    },
];

fn manifests(input: &str) -> bool {
    let mut objects = Objects::default();
    let parsed = manifest::parse("input.yaml", input, &mut objects);
    parsed.is_ok() && snapshot::build(&objects).is_ok()
}

fn fairness(input: &str) -> bool {
    dialect::load("input.yaml", input).compile().is_ok()
}

/// Each object is stored by a server with a journal, and read, changed and deleted in every way.
fn objects(input: &str) -> bool {
    let Some(mut server) = fuzzing::Server::start() else { return false };
    let (mut resource, mut good) = ("", true);
    for (key, value) in pairs(input) {
        match key {
            "resource" => resource = value,
            "object" => good &= server.create(resource, value),
            "json" | "merge" | "strategic" => good &= server.patch(key, value),
            _ => {}
        }
    }
    server.finish();
    good
}

/// Each patch is applied to the last object before it.
fn patch(input: &str) -> bool {
    let (mut resource, mut object, mut good) = ("", "", true);
    for (key, value) in pairs(input) {
        match key {
            "resource" => resource = value,
            "object" => object = value,
            "json" | "merge" | "strategic" => good &= fuzzing::patch(resource, key, object, value),
            _ => {}
        }
    }
    good
}

fn selectors(input: &str) -> bool {
    let (mut resource, mut good) = ("", true);
    for (key, value) in pairs(input) {
        match key {
            "resource" => resource = value,
            "labels" => good &= fuzzing::selector(resource, value, ""),
            "fields" => good &= fuzzing::selector(resource, "", value),
            _ => {}
        }
    }
    good
}

fn request_paths(input: &str) -> bool {
    let requests = pairs(input).filter(|(key, _)| *key == "request");
    requests.fold(true, |good, (_, line)| fuzzing::request(line) && good)
}

/// The content of a line, without a YAML parser, which would reject most of the mutated ones.
fn pairs(input: &str) -> impl Iterator<Item = (&str, &str)> {
    input.lines().filter_map(|line| line.trim_start_matches([' ', '-']).split_once(": "))
}
