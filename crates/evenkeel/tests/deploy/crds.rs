//! `deploy/crds`: what `cargo xtask crds` wrote, as kubectl reads it.

use evenkeel_k8s::custom::{definitions, mesh};
use serde_json::Value;

use crate::{kinds, rendered::Rendered};

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(|object| object["metadata"]["name"].to_string());
    objects
}

/// Long lines are folded in the files, so the text is not what the types give, but its meaning is.
#[test]
fn the_kustomization_has_the_definitions_of_the_types() {
    for (folder, definitions) in [("crds", definitions()), ("crds/mesh", mesh::definitions())] {
        let rendered = Rendered::new(folder);
        assert_eq!(sorted(rendered.objects), sorted(definitions), "run `cargo xtask crds`");
    }
}

/// `kubectl apply -k deploy/crds` must not change the definitions of an installed Kuma.
#[test]
fn those_of_kuma_are_in_a_kustomization_of_their_own() {
    let group = |object: &Value| object["spec"]["group"].as_str().unwrap().to_owned();
    let is_in = |folder, expected| {
        let objects = Rendered::new(folder).objects;
        objects.iter().all(|object| group(object) == expected)
    };
    assert!(is_in("crds", "evenkeel.dev"));
    assert!(is_in("crds/mesh", "kuma.io"));
}

#[test]
fn every_field_of_a_definition_is_one_that_kubernetes_has() {
    let objects = ["crds", "crds/mesh"].map(|folder| Rendered::new(folder).objects);
    for object in &objects.concat() {
        assert_eq!(kinds::unknown_fields(object), [""; 0]);
    }
}
