//! One Service as consumers see it: its slices of one moment, and what each place uses of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_k8s::convert;
use evenkeel_model::{Candidate, Endpoint, Routing, Rule, Slice, Topology, Viewpoint};
use evenkeel_topology::{Settings, consumer::merge, select::select_cluster};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt as _;

/// A Pod, by its uid.
pub(crate) type Uid = Arc<str>;

/// Where a client is: its zone, and its node if it has one with endpoints.
pub(crate) type Place = (&'static str, Option<&'static str>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Consumer {
    topology: Topology,
    slices: BTreeMap<String, (String, Slice)>,
    settings: Settings,
}

/// What there is at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// The addresses of ready endpoints, each as often as it is listed.
    pub(crate) ready: BTreeMap<Uid, Vec<String>>,
    pub(crate) used: BTreeMap<Place, (Rule, BTreeSet<Uid>)>,
}

impl Consumer {
    /// Takes a slice in. The resource version that it had before.
    pub(crate) fn apply(&mut self, slice: &EndpointSlice) -> Option<String> {
        let read = convert::endpoint_slice(&mut self.topology, slice).unwrap();
        let now = (slice.resource_version().unwrap(), read);
        self.slices.insert(slice.name_any(), now).map(|(version, _)| version)
    }

    pub(crate) fn remove(&mut self, slice: &EndpointSlice) -> Option<String> {
        self.slices.remove(&slice.name_any()).map(|(version, _)| version)
    }

    pub(crate) fn moment(&mut self, places: &[Place]) -> Moment {
        let from: Vec<Viewpoint> = places.iter().map(|place| self.viewpoint(place)).collect();
        let slices: Vec<&Slice> = self.slices.values().map(|(_, slice)| slice).collect();
        let merged = merge(&slices, |slice| slice.ports.first()?.port);
        let endpoints: Vec<&Endpoint> = merged.iter().map(|place| place.endpoint).collect();
        let candidates: Vec<Candidate> = endpoints.iter().map(|&e| e.into()).collect();
        let mut ready: BTreeMap<Uid, Vec<String>> = BTreeMap::new();
        let listed = slices.iter().flat_map(|slice| &slice.endpoints);
        for endpoint in listed.filter(|endpoint| endpoint.is_ready()) {
            let address = endpoint.address().unwrap().to_string();
            ready.entry(uid(endpoint)).or_default().push(address);
        }
        let select = |from| {
            let selection = select_cluster(from, &candidates, Routing::Hints, &self.settings);
            let shares = selection.shares.iter();
            let used = shares.map(|share| uid(endpoints[share.endpoint as usize])).collect();
            (selection.rule, used)
        };
        let used = places.iter().copied().zip(from.into_iter().map(select)).collect();
        Moment { ready, used }
    }

    fn viewpoint(&mut self, (zone, node): &Place) -> Viewpoint {
        Viewpoint {
            zone: Some(self.topology.zones.intern(zone)),
            node: node.map(|node| self.topology.nodes.intern(node)),
        }
    }
}

fn uid(endpoint: &Endpoint) -> Uid {
    Arc::clone(&endpoint.target.as_ref().unwrap().uid)
}
