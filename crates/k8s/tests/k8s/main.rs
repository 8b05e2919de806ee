//! One binary for all tests of the public API, because linking the client takes longer than
//! running them.

#![expect(clippy::unwrap_used, reason = "what tests share may unwrap as tests may")]
#![expect(clippy::needless_pass_by_value, reason = "a literal reads better without a borrow")]

mod controller_client;
mod convert_node;
mod convert_pod;
mod convert_service;
mod convert_slice;
mod custom;
mod live;
mod manifest;
mod manifest_limits;
mod patch;
mod robust;
mod slice_given;
mod snapshot;
mod watched;
mod watched_given;
mod watched_mesh;
mod watched_robust;
mod watched_same;
mod watched_service;

use evenkeel_k8s::{Objects, manifest::ManifestError, snapshot::build};
use evenkeel_model::Snapshot;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A Kubernetes object from its JSON.
fn object<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

/// All objects of one text.
fn parse(text: &str) -> Result<Objects, ManifestError> {
    let mut objects = Objects::default();
    evenkeel_k8s::manifest::parse("in.yaml", text, &mut objects)?;
    Ok(objects)
}

fn snapshot(text: &str) -> Result<Snapshot, ManifestError> {
    build(&parse(text)?)
}
