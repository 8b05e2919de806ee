//! Slice packing: Pods in, the fewest slice writes out.
//!
//! Source: the EndpointSlice controller, per address family and set of ports. (1) Endpoints stay in
//! their slice; those that are gone are taken out, those that changed are replaced. (2) New
//! endpoints fill up slices that are written anyway, the fullest first. (3) What is left goes into
//! one unchanged slice if it fits there, the one that becomes fullest, else into new slices.
//! Slices are never joined: that would cost writes. Ties are broken by name, and Pods are taken in
//! the order of their names. O(Pods + endpoints).

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use evenkeel_model::{
    Address, AddressType, Conditions, ContainerPort, Endpoint, EndpointPort, Few, Pod, Service,
    ServicePort, Slice, Target, TargetPort, label,
};
use rustc_hash::FxHashMap;

use crate::{Assignment, Draft, Role, plan::Sync};

/// What packing makes of one address family.
pub(crate) struct Packed<'a> {
    pub drafts: Vec<Draft<'a>>,
    pub delete: Vec<&'a Slice>,
    /// Pods left out because their node is not known.
    pub without_node: Vec<Arc<str>>,
}

/// Sets of ports, sorted: what slices are grouped by.
type Ports = Vec<EndpointPort>;

pub(crate) fn pack<'a>(sync: &Sync<'a>, family: AddressType, existing: &[&'a Slice]) -> Packed<'a> {
    let mut packed = Packed { drafts: Vec::new(), delete: Vec::new(), without_node: Vec::new() };
    let mut wanted = desired(sync, family, &mut packed.without_node);
    let mut by_ports: BTreeMap<Ports, Vec<&'a Slice>> = BTreeMap::new();
    for &slice in existing {
        if slice.owner.as_deref() == Some(&*sync.service.uid) {
            by_ports.entry(sorted(&slice.ports)).or_default().push(slice);
        } else {
            packed.delete.push(slice);
        }
    }
    for (ports, endpoints) in &mut wanted {
        let slices = by_ports.remove(ports).unwrap_or_default();
        pack_group(sync, family, ports, endpoints, &slices, &mut packed);
    }
    packed.delete.extend(by_ports.into_values().flatten());
    if packed.drafts.is_empty() {
        add_placeholder(sync, family, &mut packed);
    }
    packed
}

// === desired endpoints ===

/// Endpoints to be placed, found by the name of their Pod.
#[derive(Default)]
struct Group {
    by_pod: FxHashMap<Arc<str>, usize>,
    /// `None` once placed.
    endpoints: Vec<Option<Endpoint>>,
    left: usize,
}

fn desired(
    sync: &Sync<'_>,
    family: AddressType,
    without_node: &mut Vec<Arc<str>>,
) -> BTreeMap<Ports, Group> {
    let fixed = fixed_ports(sync.service);
    let kind: Arc<str> = "Pod".into();
    let mut groups: BTreeMap<Ports, Group> = BTreeMap::new();
    if let Some(ports) = &fixed
        && sync.pods.iter().any(|pod| pod.has_endpoint())
    {
        groups.insert(ports.clone(), Group::with_capacity(sync.pods.len()));
    }
    for pod in sync.pods.iter().filter(|pod| pod.has_endpoint()) {
        let group = match &fixed {
            Some(ports) => groups.get_mut(ports).expect("inserted above"),
            None => groups.entry(resolve_ports(sync.service, pod)).or_default(),
        };
        // A Pod whose node is gone would keep the slice from ever settling; users who publish
        // not-ready addresses want it all the same.
        let node = pod.node.map(|id| sync.nodes.get(id));
        if !matches!(node, Some(Some(_))) && !sync.service.publish_not_ready {
            without_node.push(Arc::clone(&pod.name));
            continue;
        }
        let zone = node.flatten().and_then(|node| node.zone);
        let endpoint = endpoint(sync.service, pod, family, &kind);
        if !endpoint.addresses.is_empty() {
            group.insert(Endpoint { zone, ..endpoint });
        }
    }
    groups
}

fn endpoint(service: &Service, pod: &Pod, family: AddressType, kind: &Arc<str>) -> Endpoint {
    let is_family = |ip: &&core::net::IpAddr| match family {
        AddressType::IPv4 => ip.is_ipv4(),
        AddressType::IPv6 => ip.is_ipv6(),
        AddressType::Fqdn => false,
    };
    let mut addresses: Few<Address> =
        pod.ips.iter().filter(is_family).map(|ip| Address::Ip(*ip)).collect();
    addresses.sort_unstable();
    // A terminating Pod is never ready, unless not-ready addresses are published.
    let ready = service.publish_not_ready || (pod.ready && !pod.terminating);
    let in_domain =
        pod.subdomain.as_ref() == Some(&service.key.name) && pod.namespace == service.key.namespace;
    Endpoint {
        addresses,
        conditions: Conditions {
            ready: Some(ready),
            serving: Some(pod.ready),
            terminating: Some(pod.terminating),
        },
        hostname: pod.hostname.clone().filter(|_| in_domain),
        target: Some(Arc::new(Target {
            kind: Arc::clone(kind),
            namespace: Arc::clone(&pod.namespace),
            name: Arc::clone(&pod.name),
            uid: Arc::clone(&pod.uid),
        })),
        node: pod.node,
        zone: None,
        hints: None,
    }
}

/// The ports of all endpoints, when no port depends on the Pod.
fn fixed_ports(service: &Service) -> Option<Ports> {
    let number = |port: &ServicePort| match port.target {
        TargetPort::Number(number) => Some(endpoint_port(port, number)),
        TargetPort::Name(_) => None,
    };
    let ports: Option<Ports> = service.ports.iter().map(number).collect();
    ports.map(|ports| sorted(&ports))
}

/// The ports of one Pod. A port name it doesn't have is left out.
fn resolve_ports(service: &Service, pod: &Pod) -> Ports {
    let number = |port: &ServicePort| match &port.target {
        TargetPort::Number(number) => Some(*number),
        TargetPort::Name(name) => {
            let named = |p: &&ContainerPort| p.name == *name && p.protocol == port.protocol;
            pod.ports.iter().find(named).map(|p| p.port)
        }
    };
    let ports = service.ports.iter();
    let ports: Ports = ports.filter_map(|port| Some(endpoint_port(port, number(port)?))).collect();
    sorted(&ports)
}

fn endpoint_port(port: &ServicePort, number: u16) -> EndpointPort {
    EndpointPort {
        name: Arc::clone(&port.name),
        protocol: port.protocol,
        port: Some(number),
        app_protocol: port.app_protocol.clone(),
    }
}

fn sorted(ports: &[EndpointPort]) -> Ports {
    let mut ports = ports.to_vec();
    ports.sort_unstable();
    ports
}

// === impl Group ===

impl Group {
    fn with_capacity(n: usize) -> Self {
        Group {
            by_pod: FxHashMap::with_capacity_and_hasher(n, rustc_hash::FxBuildHasher),
            endpoints: Vec::with_capacity(n),
            left: 0,
        }
    }

    fn insert(&mut self, endpoint: Endpoint) {
        let target = endpoint.target.as_ref().expect("made from a Pod");
        self.by_pod.insert(Arc::clone(&target.name), self.endpoints.len());
        self.endpoints.push(Some(endpoint));
        self.left += 1;
    }

    /// Takes the endpoint that `existing` stands for: the same Pod name, addresses and host name.
    fn take(&mut self, existing: &Endpoint) -> Option<Endpoint> {
        let target = existing.target.as_ref()?;
        let slot = &mut self.endpoints[*self.by_pod.get(&target.name)?];
        let wanted = slot.as_ref()?;
        let wanted_target = wanted.target.as_ref()?;
        let same = wanted_target.namespace == target.namespace
            && same_addresses(&wanted.addresses, &existing.addresses)
            && wanted.hostname == existing.hostname;
        if !same {
            return None;
        }
        self.left -= 1;
        slot.take()
    }

    /// What has not been placed yet, in the order of Pod names.
    fn drain(&mut self) -> std::vec::IntoIter<Endpoint> {
        let mut left: Vec<Endpoint> = self.endpoints.iter_mut().filter_map(Option::take).collect();
        self.left = 0;
        let name = |e: &Endpoint| e.target.as_ref().map(|t| Arc::clone(&t.name));
        left.sort_by_cached_key(name);
        left.into_iter()
    }
}

/// Address lists are sets to the controller.
fn same_addresses(wanted: &Few<Address>, existing: &Few<Address>) -> bool {
    let (wanted, existing) = (wanted.as_slice(), existing.as_slice());
    wanted.len() == existing.len() && wanted.iter().all(|a| existing.contains(a))
}

// === one group of slices ===

fn pack_group<'a>(
    sync: &Sync<'a>,
    family: AddressType,
    ports: &Ports,
    group: &mut Group,
    slices: &[&'a Slice],
    packed: &mut Packed<'a>,
) {
    let mut drafts = Vec::with_capacity(slices.len());
    for &slice in slices {
        match refresh(sync, group, slice) {
            Some(draft) => drafts.push(draft),
            None => packed.delete.push(slice),
        }
    }
    if group.left > 0 {
        let max = sync.settings.max_endpoints_per_slice;
        let mut new = group.drain();
        fill_updates(&mut drafts, &mut new, max);
        while new.len() > 0 {
            let draft = match fullest_fit(&drafts, new.len(), max) {
                Some(draft) => &mut drafts[draft],
                None => {
                    let slice = Cow::Owned(new_slice(sync, family, ports));
                    drafts.push(Draft { role: Role::Create, slice });
                    drafts.last_mut().expect("just pushed")
                }
            };
            fill(draft, &mut new, max);
        }
    }
    packed.drafts.extend(drafts);
}

/// Brings a slice up to date with its Pods, or says that it is empty now (`None`).
fn refresh<'a>(sync: &Sync<'a>, group: &mut Group, slice: &'a Slice) -> Option<Draft<'a>> {
    let mut changed = false;
    let mut endpoints = Vec::with_capacity(slice.endpoints.len());
    for existing in &slice.endpoints {
        let Some(mut wanted) = group.take(existing) else {
            changed = true;
            continue;
        };
        changed |= differs(&wanted, existing);
        // Kubernetes drops hints here and assigns them again.
        if sync.settings.assignment == Assignment::LeastChange && wanted.is_ready() {
            wanted.hints.clone_from(&existing.hints);
        }
        endpoints.push(wanted);
    }
    let relabel = labels_changed(sync.service, slice);
    if !changed && !relabel {
        return Some(Draft { role: Role::Unchanged, slice: Cow::Borrowed(slice) });
    }
    if changed && endpoints.is_empty() {
        return None;
    }
    let endpoints = if changed { endpoints } else { slice.endpoints.clone() };
    let labels = labels(sync);
    let slice = Slice { endpoints, labels, ..slice.clone() };
    Some(Draft { role: Role::Update, slice: Cow::Owned(slice) })
}

/// Whether the slice must be written for this endpoint.
fn differs(wanted: &Endpoint, existing: &Endpoint) -> bool {
    wanted.node != existing.node
        || wanted.zone != existing.zone
        || wanted.conditions != existing.conditions
        || wanted.target != existing.target
}

fn fill_updates(
    drafts: &mut [Draft<'_>],
    new: &mut impl ExactSizeIterator<Item = Endpoint>,
    max: usize,
) {
    let mut written: Vec<&mut Draft<'_>> =
        drafts.iter_mut().filter(|d| d.role == Role::Update).collect();
    written.sort_by(|a, b| {
        let by_size = b.slice.endpoints.len().cmp(&a.slice.endpoints.len());
        by_size.then_with(|| a.slice.name.cmp(&b.slice.name))
    });
    for draft in written {
        fill(draft, new, max);
    }
}

fn fill(draft: &mut Draft<'_>, new: &mut impl ExactSizeIterator<Item = Endpoint>, max: usize) {
    let room = max.saturating_sub(draft.slice.endpoints.len());
    if room == 0 || new.len() == 0 {
        return;
    }
    if draft.role == Role::Unchanged {
        draft.role = Role::Update;
    }
    draft.slice.to_mut().endpoints.extend(new.take(room));
}

/// The unchanged slice that all `n` endpoints fit into and that becomes fullest by it.
fn fullest_fit(drafts: &[Draft<'_>], n: usize, max: usize) -> Option<usize> {
    if n >= max {
        return None;
    }
    let candidates = drafts.iter().enumerate();
    candidates
        .filter(|(_, d)| d.role == Role::Unchanged && d.slice.endpoints.len() + n <= max)
        .max_by(|(_, a), (_, b)| {
            let by_size = a.slice.endpoints.len().cmp(&b.slice.endpoints.len());
            by_size.then_with(|| b.slice.name.cmp(&a.slice.name))
        })
        .map(|(index, _)| index)
}

// === new slices ===

/// A slice yet without endpoints. Its name is empty: whoever creates it names it.
fn new_slice(sync: &Sync<'_>, family: AddressType, ports: &Ports) -> Slice {
    Slice {
        name: "".into(),
        address_type: family,
        ports: ports.clone(),
        endpoints: Vec::new(),
        owner: Some(Arc::clone(&sync.service.uid)),
        labels: labels(sync),
        shares: None,
    }
}

/// A Service without endpoints has one empty slice, so that consumers can tell it from one that
/// was not looked at yet.
fn add_placeholder<'a>(sync: &Sync<'a>, family: AddressType, packed: &mut Packed<'a>) {
    let placeholder = new_slice(sync, family, &Vec::new());
    let is_same =
        |slice: &&Slice| Slice { name: Arc::clone(&slice.name), ..placeholder.clone() } == **slice;
    // Kubernetes looks only where nothing else is to be deleted, and else writes it once more.
    let looks = packed.delete.len() == 1 || sync.settings.assignment == Assignment::LeastChange;
    if let Some(index) = packed.delete.iter().position(is_same).filter(|_| looks) {
        let slice = Cow::Borrowed(packed.delete.remove(index));
        packed.drafts.push(Draft { role: Role::Unchanged, slice });
        return;
    }
    packed.drafts.push(Draft { role: Role::Create, slice: Cow::Owned(placeholder) });
}

const RESERVED: [&str; 3] = [label::SERVICE_NAME, label::MANAGED_BY, label::HEADLESS];

/// A slice carries the labels of its Service and three of its own.
fn labels(sync: &Sync<'_>) -> BTreeMap<Arc<str>, Arc<str>> {
    let service = sync.service;
    let mut labels = service.labels.clone();
    labels.retain(|key, _| is_passed_on(key));
    if service.headless {
        labels.insert(label::HEADLESS.into(), "".into());
    }
    labels.insert(label::SERVICE_NAME.into(), Arc::clone(&service.key.name));
    labels.insert(label::MANAGED_BY.into(), Arc::clone(&sync.settings.controller_name));
    labels
}

/// Whether the Service's labels changed since the slice was written. Reserved ones alone force no
/// write.
fn labels_changed(service: &Service, slice: &Slice) -> bool {
    let of_service = service.labels.iter().filter(|(key, _)| is_passed_on(key));
    !of_service.eq(slice.labels.iter().filter(|(key, _)| !RESERVED.contains(&&***key)))
}

/// Whether a label of a Service is given to its slices. That of a withdrawal is never, and a slice
/// that is planned loses it.
fn is_passed_on(key: &str) -> bool {
    !RESERVED.contains(&key) && key != label::WITHDRAWN
}
