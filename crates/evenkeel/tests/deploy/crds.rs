//! `deploy/crds`: what `cargo xtask crds` wrote, as kubectl reads it.

use evenkeel_k8s::custom::definitions;
use serde_json::Value;

use crate::{kinds, rendered::Rendered};

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    objects
}

/// Long lines are folded in the files, so the text is not what the types give, but its meaning is.
#[test]
fn the_kustomization_has_the_definitions_of_the_types() {
    let rendered = Rendered::new("crds");
    assert_eq!(sorted(rendered.objects), sorted(definitions()), "run `cargo xtask crds`");
}

#[test]
fn every_field_of_a_definition_is_one_that_kubernetes_has() {
    for object in &Rendered::new("crds").objects {
        assert_eq!(kinds::unknown_fields(object), [""; 0]);
    }
}
