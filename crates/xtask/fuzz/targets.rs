//! What can be fuzzed.

use evenkeel_k8s::{Objects, manifest, snapshot};

pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Whether the input is accepted. It may be refused, but nothing may panic.
    pub(crate) accepts: fn(&str) -> bool,
}

pub(crate) const TARGETS: &[Target] = &[Target { name: "manifests", accepts: manifests }];

fn manifests(input: &str) -> bool {
    let mut objects = Objects::default();
    let parsed = manifest::parse("input.yaml", input, &mut objects);
    parsed.is_ok() && snapshot::build(objects).is_ok()
}
