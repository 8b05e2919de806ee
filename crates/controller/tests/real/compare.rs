//! Slices, compared up to names, packing and order.

use std::collections::BTreeMap;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{Api, Client, ResourceExt as _, api::ListParams};
use serde_json::{Value, json};

use crate::PATIENCE;

pub(crate) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// What is the same for all endpoints of a slice, and the endpoints in order.
pub(crate) type Content = BTreeMap<String, Vec<String>>;

/// How the names of Services begin that only tell how far a controller is.
pub(crate) const MARK: &str = "mark-";

/// The slices of a namespace, without those of marks.
pub(crate) async fn slices(client: &Client, namespace: &str) -> Vec<EndpointSlice> {
    let api: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
    let mut slices = api.list(&ListParams::default()).await.unwrap().items;
    slices.retain(|slice| !slice.labels()[SERVICE_NAME].starts_with(MARK));
    slices
}

/// All that slices say, but for their names, who manages them, uids, namespaces and times.
pub(crate) fn content(slices: &[EndpointSlice]) -> Content {
    let mut content = Content::new();
    for slice in slices {
        let endpoints = content.entry(common(slice)).or_default();
        endpoints.extend(slice.endpoints.iter().flatten().map(|endpoint| {
            let mut endpoint = serde_json::to_value(endpoint).unwrap();
            if let Some(target) = endpoint.get_mut("targetRef").and_then(Value::as_object_mut) {
                target.retain(|key, _| key != "uid" && key != "namespace");
            }
            endpoint.to_string()
        }));
        endpoints.sort();
    }
    content
}

fn common(slice: &EndpointSlice) -> String {
    let mut labels = slice.labels().clone();
    labels.remove(MANAGED_BY);
    let mut ports = serde_json::to_value(&slice.ports).unwrap();
    if let Some(ports) = ports.as_array_mut() {
        ports.sort_by_key(Value::to_string);
    }
    let owners: Vec<Value> = slice
        .owner_references()
        .iter()
        .map(|owner| json!([owner.kind, owner.name, owner.controller, owner.block_owner_deletion]))
        .collect();
    json!([labels, slice.address_type, ports, owners]).to_string()
}

/// The versions by name.
pub(crate) fn versions(slices: &[EndpointSlice]) -> BTreeMap<String, String> {
    let named = slices.iter().map(|slice| (slice.name_any(), slice.resource_version().unwrap()));
    named.collect()
}

pub(crate) fn managed_by(slices: &[EndpointSlice], manager: &str) -> bool {
    slices.iter().all(|slice| slice.labels().get(MANAGED_BY).is_some_and(|name| name == manager))
}

/// Waits until the slices of a namespace are as wanted.
pub(crate) async fn until(
    client: &Client,
    namespace: &str,
    wanted: impl Fn(&[EndpointSlice]) -> bool,
) -> Vec<EndpointSlice> {
    let begun = std::time::Instant::now();
    loop {
        let slices = slices(client, namespace).await;
        if wanted(&slices) {
            return slices;
        }
        if begun.elapsed() > PATIENCE {
            panic!("{namespace} is not as wanted: {:#?}", content(&slices));
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// That two are the same; if not, only what differs is shown.
pub(crate) fn assert_same(what: &str, ours: &Content, theirs: &Content) {
    let only = |of: &Content, not: &Content| -> Vec<String> {
        let lines = |content: &Content| -> Vec<String> {
            let lines = content.iter().flat_map(|(common, endpoints)| {
                let each = endpoints.iter().map(move |endpoint| format!("{common} {endpoint}"));
                std::iter::once(common.clone()).chain(each)
            });
            lines.collect()
        };
        let not = lines(not);
        lines(of).into_iter().filter(|line| !not.contains(line)).take(20).collect()
    };
    assert!(
        ours == theirs,
        "{what}: only ours: {:#?}, only the other: {:#?}",
        only(ours, theirs),
        only(theirs, ours),
    );
}
