//! A model of Envoy as a client of both variants: what it holds, what it asks for, when it acknowledges.
//!
//! It rejects a response as a whole if any resource in it is bad, warms each new or changed cluster until
//! it gets endpoints for it, and holds the acknowledgement of clusters back until then. It notes each
//! resource that it is sent although it has it, unless there is an excuse: it asked again, its cluster was
//! sent, or it rejected the response that brought or removed it.

use std::collections::{BTreeMap, BTreeSet};

use envoy_types::pb::envoy::{
    config::endpoint::v3::ClusterLoadAssignment,
    service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest},
};
use evenkeel_xds::{Resource, ResourceType, Response, Variant};
use prost::Message;

use crate::world::*;

/// The content that the client rejects.
pub(crate) const BAD: u32 = 4;

#[derive(Debug)]
pub(crate) struct Envoy {
    variant: Variant,
    pub(crate) types: BTreeMap<ResourceType, Held>,
    warming: BTreeSet<String>,
    held_back: Option<ClientRequest>,
    excuses: BTreeMap<(ResourceType, String), u32>,
    pub(crate) needless: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) resources: BTreeMap<String, (String, u32)>,
    /// Of endpoints and routes.
    pub(crate) subscribed: BTreeSet<String>,
    requested: bool,
    nonce: String,
    version: String,
    may_repeat: bool,
}

/// A request of either variant.
#[derive(Clone, Debug)]
pub(crate) struct ClientRequest {
    kind: ResourceType,
    subscribe: Vec<String>,
    unsubscribe: Vec<String>,
    initial: Vec<(String, String)>,
    names: Vec<String>,
    version: String,
    nonce: String,
    rejects: bool,
}

impl Envoy {
    pub(crate) fn new(variant: Variant) -> Self {
        let types = ResourceType::ALL.into_iter().map(|kind| (kind, Held::default())).collect();
        Self {
            variant,
            types,
            warming: BTreeSet::new(),
            held_back: None,
            excuses: BTreeMap::new(),
            needless: Vec::new(),
        }
    }

    fn held(&mut self, kind: ResourceType) -> &mut Held {
        self.types.get_mut(&kind).unwrap()
    }

    /// A new stream. Whatever waited on the old one has timed out.
    pub(crate) fn connect(&mut self) -> Vec<ClientRequest> {
        self.warming.clear();
        self.held_back = None;
        let mut requests = Vec::new();
        for kind in ResourceType::ALL {
            let full = kind.is_full_state();
            let variant = self.variant;
            let held = self.held(kind);
            held.requested = full || !held.subscribed.is_empty();
            held.nonce.clear();
            held.may_repeat = true;
            // A real Envoy sends the version all the same. If it dropped names, took the same ones up again
            // and lost the stream before the answer, its version says more than it holds, and a server
            // can't tell: it then waits for the fetch timeout.
            if held.subscribed.iter().any(|name| !held.resources.contains_key(name)) {
                held.version.clear();
            }
            if !held.requested {
                continue;
            }
            let initial = held.resources.iter().map(|(name, (v, _))| (name.clone(), v.clone()));
            let message = ClientRequest {
                subscribe: held.subscribed.iter().cloned().collect(),
                initial: initial.collect(),
                ..held.message(kind)
            };
            let again: Vec<String> = held.subscribed.iter().cloned().collect();
            if variant == Variant::StateOfTheWorld {
                self.excuse(kind, again);
            }
            requests.push(message);
        }
        requests
    }

    pub(crate) fn receive(&mut self, response: &Response) -> Vec<ClientRequest> {
        let kind = response.kind;
        let resources: Vec<_> = response.resources.iter().map(|r| read(r)).collect();
        self.note_needless(response, &resources);
        if kind == CDS {
            self.excuse(EDS, resources.iter().map(|(name, ..)| name.clone()).collect());
        }
        self.held(kind).nonce = response.nonce.to_string();
        if resources.iter().any(|(.., content)| *content == BAD) {
            // What it was to remove it still has, and it may be there again by now.
            self.excuse(kind, response.removed.iter().map(ToString::to_string).collect());
            return self.reject(kind, resources);
        }
        self.held(kind).version = response.version_text();
        let changed = self.accept(response, resources);
        let mut requests = match kind {
            ResourceType::Cluster => self.follow(EDS, &changed, str::to_owned),
            ResourceType::Listener => {
                self.follow(RDS, &BTreeSet::new(), |name| name.replace('l', "r"))
            }
            _ => Vec::new(),
        };
        let ack = self.held(kind).message(kind);
        if kind == CDS && !self.warming.is_empty() {
            self.held_back = Some(ack);
            return requests;
        }
        requests.push(ack);
        if kind == EDS && self.warming.is_empty() {
            requests.extend(self.held_back.take());
        }
        requests
    }

    fn reject(
        &mut self,
        kind: ResourceType,
        resources: Vec<(String, String, u32)>,
    ) -> Vec<ClientRequest> {
        let names: Vec<String> = resources.into_iter().map(|(name, ..)| name).collect();
        if kind == EDS {
            // In place of the timeout.
            self.warming.retain(|name| !names.contains(name));
        }
        self.excuse(kind, names);
        self.held(kind).may_repeat = true;
        let mut requests = vec![ClientRequest { rejects: true, ..self.held(kind).message(kind) }];
        if kind == EDS && self.warming.is_empty() {
            requests.extend(self.held_back.take());
        }
        requests
    }

    /// Returns the names that are new or changed.
    fn accept(
        &mut self,
        response: &Response,
        resources: Vec<(String, String, u32)>,
    ) -> BTreeSet<String> {
        let kind = response.kind;
        let full = kind.is_full_state();
        let replaces = full && self.variant == Variant::StateOfTheWorld;
        let held = self.held(kind);
        held.may_repeat = false;
        let before = held.resources.clone();
        if replaces {
            held.resources.clear();
        }
        for name in &response.removed {
            held.resources.remove(&**name);
        }
        let mut changed = BTreeSet::new();
        let mut answered: Vec<String> = response.removed.iter().map(ToString::to_string).collect();
        for (name, version, content) in resources {
            answered.push(name.clone());
            if !full && !held.subscribed.contains(&name) {
                continue;
            }
            if before.get(&name).is_none_or(|(old, _)| *old != version) {
                changed.insert(name.clone());
            }
            held.resources.insert(name, (version, content));
        }
        if kind == CDS {
            let clusters: BTreeSet<String> = held.resources.keys().cloned().collect();
            self.warming.extend(changed.iter().cloned());
            self.warming.retain(|name| clusters.contains(name));
        }
        if kind == EDS {
            self.warming.retain(|name| !answered.contains(name));
        }
        changed
    }

    /// Subscribes to what the accepted resources need, and asks again for what warms.
    fn follow(
        &mut self,
        kind: ResourceType,
        again: &BTreeSet<String>,
        name_of: impl Fn(&str) -> String,
    ) -> Vec<ClientRequest> {
        let source = if kind == EDS { CDS } else { LDS };
        let wanted: BTreeSet<String> =
            self.held(source).resources.keys().map(|name| name_of(name)).collect();
        let variant = self.variant;
        let held = self.held(kind);
        let added: Vec<String> = wanted.difference(&held.subscribed).cloned().collect();
        let dropped: Vec<String> = held.subscribed.difference(&wanted).cloned().collect();
        let repeats = variant == Variant::StateOfTheWorld
            && held.subscribed.iter().any(|name| again.contains(name));
        if added.is_empty() && dropped.is_empty() && !repeats {
            return Vec::new();
        }
        for name in &dropped {
            held.resources.remove(name);
        }
        held.subscribed = wanted.clone();
        let first = !std::mem::replace(&mut held.requested, true);
        let message = ClientRequest {
            subscribe: added.clone(),
            unsubscribe: dropped.clone(),
            nonce: if variant == Variant::Incremental || first {
                String::new()
            } else {
                held.nonce.clone()
            },
            ..held.message(kind)
        };
        let asked = if repeats || first { wanted.into_iter().collect() } else { added };
        self.excuse(kind, asked);
        vec![message]
    }

    fn excuse(&mut self, kind: ResourceType, names: Vec<String>) {
        for name in names {
            *self.excuses.entry((kind, name)).or_default() += 1;
        }
    }

    fn note_needless(&mut self, response: &Response, resources: &[(String, String, u32)]) {
        let kind = response.kind;
        let has = |held: &Held, name: &str, version: &str| {
            held.resources.get(name).is_some_and(|(old, _)| old == version)
        };
        if kind.is_full_state() && self.variant == Variant::StateOfTheWorld {
            let held = &self.types[&kind];
            let same = resources.len() == held.resources.len()
                && resources.iter().all(|(name, version, _)| has(held, name, version));
            if same && !held.may_repeat {
                self.needless.push(summary(response));
            }
            return;
        }
        for (name, version, _) in resources {
            if !has(&self.types[&kind], name, version) {
                continue;
            }
            match self.excuses.get_mut(&(kind, name.clone())) {
                Some(excuses) if *excuses > 0 => *excuses -= 1,
                _ => self.needless.push(format!("{kind} {name}")),
            }
        }
    }
}

impl Held {
    /// With what both variants say in each request.
    fn message(&self, kind: ResourceType) -> ClientRequest {
        ClientRequest {
            kind,
            subscribe: Vec::new(),
            unsubscribe: Vec::new(),
            initial: Vec::new(),
            names: self.subscribed.iter().cloned().collect(),
            version: self.version.clone(),
            nonce: self.nonce.clone(),
            rejects: false,
        }
    }
}

impl ClientRequest {
    pub(crate) fn to_delta(&self) -> DeltaDiscoveryRequest {
        DeltaDiscoveryRequest {
            resource_names_subscribe: self.subscribe.clone(),
            resource_names_unsubscribe: self.unsubscribe.clone(),
            initial_resource_versions: self.initial.iter().cloned().collect(),
            response_nonce: self.nonce.clone(),
            error_detail: if self.rejects { status("bad content") } else { None },
            ..delta(self.kind, &[])
        }
    }

    pub(crate) fn to_sotw(&self) -> DiscoveryRequest {
        DiscoveryRequest {
            resource_names: self.names.clone(),
            version_info: self.version.clone(),
            response_nonce: self.nonce.clone(),
            error_detail: if self.rejects { status("bad content") } else { None },
            ..sotw(self.kind, &[])
        }
    }
}

/// Name, version and content.
fn read(resource: &Resource) -> (String, String, u32) {
    let body = ClusterLoadAssignment::decode(resource.body()).unwrap();
    assert_eq!(body.cluster_name, **resource.name());
    let content = body.policy.and_then(|policy| policy.overprovisioning_factor);
    (body.cluster_name, resource.version().to_string(), content.map_or(0, |value| value.value))
}
