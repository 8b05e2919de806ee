//! Slices of the model to EndpointSlices, as the EndpointSlice controller writes them.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{
    Conditions, Endpoint, EndpointPort, Hints, Id, Names, Slice, Target, Topology, label,
};
use k8s_openapi::{
    api::{core::v1::ObjectReference, discovery::v1 as discovery},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
    jiff::Timestamp,
};

use crate::convert::zone_shares::zone_shares_text;

/// The object to write for `slice`. A slice without a name gets the prefix from
/// which the API server makes one.
///
/// # Panics
/// With ids that are not from `topology`.
pub fn to_endpoint_slice(
    slice: &Slice,
    topology: &Topology,
    namespace: &str,
) -> discovery::EndpointSlice {
    let endpoints = slice.endpoints.iter().map(|given| endpoint(given, topology));
    discovery::EndpointSlice {
        address_type: slice.address_type.to_string(),
        endpoints: Some(endpoints.collect()),
        metadata: ObjectMeta {
            name: some(&slice.name),
            generate_name: slice.name.is_empty().then(|| format!("{}-", service_name(slice))),
            namespace: Some(namespace.to_owned()),
            labels: labels(slice),
            annotations: shares(slice, topology),
            owner_references: owner(slice).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        ports: Some(slice.ports.iter().map(port).collect()),
    }
}

/// The slice as it is created: with the time of the change it is created for, in seconds since
/// 1970, which consumers measure their delay from.
///
/// # Panics
/// With ids that are not from `topology`.
pub fn new_slice(
    slice: &Slice,
    topology: &Topology,
    namespace: &str,
    trigger: Option<i64>,
) -> discovery::EndpointSlice {
    let mut object = to_endpoint_slice(slice, topology, namespace);
    if let Some(time) = trigger.and_then(trigger_time) {
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert(label::TRIGGER_TIME.to_owned(), time);
    }
    object
}

/// As Kubernetes writes it. `None` before 1970 and after 9999, when nothing can have happened.
pub(super) fn trigger_time(seconds: i64) -> Option<String> {
    let time = Timestamp::from_second(seconds).ok()?;
    (time >= Timestamp::UNIX_EPOCH).then(|| time.to_string())
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn opt(text: Option<&Arc<str>>) -> Option<String> {
    text.map(|text| text.as_ref().to_owned())
}

fn labels(slice: &Slice) -> Option<BTreeMap<String, String>> {
    let labels = slice.labels.iter();
    let labels = labels.map(|(key, value)| (key.as_ref().to_owned(), value.as_ref().to_owned()));
    (!slice.labels.is_empty()).then(|| labels.collect())
}

fn shares(slice: &Slice, topology: &Topology) -> Option<BTreeMap<String, String>> {
    let text = shares_text(slice, topology)?;
    Some(BTreeMap::from([(label::ZONE_SHARES.to_owned(), text)]))
}

/// The zone shares to write. What can't be read is not written again.
pub(super) fn shares_text(slice: &Slice, topology: &Topology) -> Option<String> {
    let shares = slice.shares.as_ref()?.valid()?;
    Some(zone_shares_text(shares, &topology.zones))
}

/// The Service's name is known only by the label that binds the slice to it.
fn service_name(slice: &Slice) -> &str {
    let label = slice.labels.get(label::SERVICE_NAME);
    label.map_or("", |name| name.as_ref())
}

fn owner(slice: &Slice) -> Option<OwnerReference> {
    let uid = slice.owner.as_ref()?;
    Some(OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Service".to_owned(),
        name: service_name(slice).to_owned(),
        uid: uid.as_ref().to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    })
}

pub(super) fn port(given: &EndpointPort) -> discovery::EndpointPort {
    discovery::EndpointPort {
        app_protocol: opt(given.app_protocol.as_ref()),
        name: Some(given.name.as_ref().to_owned()),
        port: given.port.map(i32::from),
        protocol: Some(given.protocol.to_string()),
    }
}

pub(super) fn endpoint(given: &Endpoint, topology: &Topology) -> discovery::Endpoint {
    discovery::Endpoint {
        addresses: given.addresses.iter().map(ToString::to_string).collect(),
        conditions: conditions(given.conditions),
        deprecated_topology: None,
        hints: given.hints.as_ref().map(|given| hints(given, topology)),
        hostname: opt(given.hostname.as_ref()),
        node_name: given.node.map(|id| name(&topology.nodes, id)),
        target_ref: given.target.as_deref().map(target),
        zone: given.zone.map(|id| name(&topology.zones, id)),
    }
}

fn name<I: Id>(names: &Names<I>, id: I) -> String {
    names.name(id).as_ref().to_owned()
}

fn conditions(given: Conditions) -> Option<discovery::EndpointConditions> {
    let Conditions { ready, serving, terminating } = given;
    (given != Conditions::default()).then_some(discovery::EndpointConditions {
        ready,
        serving,
        terminating,
    })
}

/// Empty hints stay present: the model keeps them apart from absent ones.
fn hints(given: &Hints, topology: &Topology) -> discovery::EndpointHints {
    let zone = |&id| discovery::ForZone { name: name(&topology.zones, id) };
    let node = |&id| discovery::ForNode { name: name(&topology.nodes, id) };
    let Hints { zones, nodes } = given;
    discovery::EndpointHints {
        for_zones: (!zones.is_empty()).then(|| zones.iter().map(zone).collect()),
        for_nodes: (!nodes.is_empty()).then(|| nodes.iter().map(node).collect()),
    }
}

fn target(given: &Target) -> ObjectReference {
    ObjectReference {
        kind: some(&given.kind),
        namespace: some(&given.namespace),
        name: some(&given.name),
        uid: some(&given.uid),
        ..ObjectReference::default()
    }
}
