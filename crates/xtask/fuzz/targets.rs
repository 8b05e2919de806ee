//! What can be fuzzed.

use evenkeel_fairness::dialect;
use evenkeel_k8s::{Objects, manifest, snapshot};

pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// The folder with what is to be mutated.
    pub(crate) examples: &'static str,
    /// Whether the input is accepted. It may be refused, but nothing may panic.
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
];

fn manifests(input: &str) -> bool {
    let mut objects = Objects::default();
    let parsed = manifest::parse("input.yaml", input, &mut objects);
    parsed.is_ok() && snapshot::build(objects).is_ok()
}

fn fairness(input: &str) -> bool {
    dialect::load("input.yaml", input).compile().is_ok()
}
