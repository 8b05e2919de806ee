//! EndpointSlices as kubectl shows them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cluster::Cluster;

const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The hints of one endpoint, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hinted {
    pub(crate) address: String,
    pub(crate) zone: String,
    pub(crate) node: String,
    pub(crate) for_zones: Vec<String>,
    pub(crate) for_nodes: Vec<String>,
}

/// All endpoints of a Service, by address.
pub(crate) fn endpoints(cluster: &Cluster, service: &str) -> Vec<Hinted> {
    let label = format!("{SERVICE_NAME}={service}");
    let slices = cluster.get(&["endpointslice", "-l", &label]);
    let mut all: Vec<Hinted> =
        items(&slices).iter().flat_map(|slice| array(&slice["endpoints"])).map(hinted).collect();
    all.sort_by(|a, b| a.address.cmp(&b.address));
    all
}

/// The endpoints of a Service as soon as there are `n` of them, and `is_so`.
pub(crate) fn settled(
    cluster: &Cluster,
    service: &str,
    n: usize,
    is_so: impl Fn(&Hinted) -> bool,
) -> Vec<Hinted> {
    crate::process::until(&format!("{service} has {n} endpoints as they should be"), || {
        let all = endpoints(cluster, service);
        (all.len() == n && all.iter().all(&is_so)).then_some(all)
    })
}

/// How many endpoints are hinted for each zone.
pub(crate) fn by_zone(endpoints: &[Hinted]) -> BTreeMap<&str, usize> {
    let mut zones = BTreeMap::new();
    for zone in endpoints.iter().flat_map(|one| &one.for_zones) {
        *zones.entry(zone.as_str()).or_default() += 1;
    }
    zones
}

impl Hinted {
    pub(crate) fn is_for_its_zone(&self) -> bool {
        self.for_zones == [self.zone.as_str()] && self.for_nodes.is_empty()
    }

    pub(crate) fn has_none(&self) -> bool {
        self.for_zones.is_empty() && self.for_nodes.is_empty()
    }
}

/// What `explain` says that clients use: addresses in order.
pub(crate) fn used(explanation: &Value) -> Vec<String> {
    let views = array(&explanation["families"][0]["views"]);
    assert_eq!(views.len(), 1, "one place was asked for: {explanation:#}");
    let mut addresses: Vec<String> =
        array(&views[0]["uses"]).iter().map(|one| text(&one["address"])).collect();
    addresses.sort();
    addresses
}

/// The addresses of those endpoints.
pub(crate) fn addresses(endpoints: &[Hinted], is_meant: impl Fn(&Hinted) -> bool) -> Vec<String> {
    endpoints.iter().filter(|one| is_meant(one)).map(|one| one.address.clone()).collect()
}

/// Names and versions of all slices.
pub(crate) fn slice_versions(cluster: &Cluster) -> Vec<(String, String)> {
    versions(cluster, "endpointslices")
}

/// Names and versions of all objects of some kinds.
pub(crate) fn versions(cluster: &Cluster, kinds: &str) -> Vec<(String, String)> {
    let all = cluster.get(&[kinds, "-A"]);
    let version =
        |one: &Value| (text(&one["metadata"]["name"]), text(&one["metadata"]["resourceVersion"]));
    items(&all).iter().map(version).collect()
}

/// For each Service, the addresses in all of its slices, in order, each as often as it is there.
pub(crate) fn listed(slices: &Value) -> BTreeMap<String, Vec<String>> {
    let mut services: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for slice in items(slices) {
        let service = text(&slice["metadata"]["labels"][SERVICE_NAME]);
        let addresses = array(&slice["endpoints"]).iter().flat_map(|one| array(&one["addresses"]));
        services.entry(service).or_default().extend(addresses.map(text));
    }
    services.values_mut().for_each(|addresses| addresses.sort());
    services
}

pub(crate) fn items(list: &Value) -> &[Value] {
    array(&list["items"])
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn hinted(endpoint: &Value) -> Hinted {
    let names = |hints: &Value| array(hints).iter().map(|one| text(&one["name"])).collect();
    Hinted {
        address: text(&endpoint["addresses"][0]),
        zone: text(&endpoint["zone"]),
        node: text(&endpoint["nodeName"]),
        for_zones: names(&endpoint["hints"]["forZones"]),
        for_nodes: names(&endpoint["hints"]["forNodes"]),
    }
}
