//! What must hold: at every instant, and in the end.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_controller::engine::{Scope, Settings};
use evenkeel_model::{
    Address, AddressType, Endpoint, EndpointPort, Pod, SeenPod, SeenService, SeenSlice, Service,
    Slice, TargetPort, label,
};
use evenkeel_testkit::sim::{Key, Store};
use evenkeel_topology::{Plan, Policy, Sync, demand, measure, plan, plan::NodeTable};

use crate::profile::Profile;

/// The plan for a Service on the state of the store, from the slices `settings` signs.
pub(crate) fn planned(
    store: &Store,
    service: &Service,
    settings: &evenkeel_topology::Settings,
) -> Plan {
    let nodes: Vec<_> = store.nodes.iter().map(|(_, node)| (**node).clone()).collect();
    let table: NodeTable = nodes.iter().cloned().collect();
    let capacity = measure(&nodes, &store.topology, settings);
    let pods: Vec<&Pod> = selected(store, service).map(|seen| &seen.pod).collect();
    let existing = slices_of(store, service, &[&settings.controller_name]);
    let existing: Vec<Slice> =
        existing.into_iter().map(|seen| store.admission.bare(&seen.slice)).collect();
    let existing: Vec<&Slice> = existing.iter().collect();
    plan(&Sync {
        service,
        pods: &pods,
        nodes: &table,
        capacity: capacity.as_ref(),
        demand: &demand(&nodes, &store.topology),
        existing: &existing,
        populated: false,
        settings,
    })
}

/// In the end: the slices are those of the plan, each Pod is in one of them, and nothing else is.
/// `released`: Services with a slice that a third party signed for the built-in controller.
pub(crate) fn converged(
    store: &Store,
    profile: &Profile,
    released: &BTreeSet<Key>,
) -> Result<(), String> {
    let settings = &profile.settings;
    for (key, seen) in store.services.iter() {
        let service = &seen.service;
        if profile.built_in && is_built_ins(service) {
            left_to_built_in(store, service, settings).map_err(|what| format!("{key}: {what}"))?;
            continue;
        }
        if !is_ours(service, settings.scope) {
            continue;
        }
        programmed_is_true(store, seen, settings).map_err(|what| format!("{key}: {what}"))?;
        // What the built-in controller seems to write is left to it, by and by.
        let built_in = slices_of(store, service, &[label::BUILT_IN]);
        if !built_in.is_empty() && !service.opted_in && released.contains(key) {
            continue;
        }
        let context = |what: String| format!("{key}: {what}");
        follows_plan(store, service, settings).map_err(context)?;
        lists_pods_once(store, service, settings).map_err(context)?;
    }
    let ours = &*settings.topology.controller_name;
    for (key, seen) in store.slices.iter() {
        let lost = seen.slice.owner.as_deref().is_some_and(|uid| {
            !store.services.iter().any(|(_, service)| &*service.service.uid == uid)
        });
        if lost && managed_by(&seen.slice, &[ours]) {
            return Err(format!("slice {key} is of a Service that is gone"));
        }
    }
    Ok(())
}

/// Kubernetes' own controller has the Service, and ours nothing but the record of that.
fn left_to_built_in(store: &Store, service: &Service, settings: &Settings) -> Result<(), String> {
    let ours = slices_of(store, service, &[&settings.topology.controller_name]);
    let is_record = |seen: &&Arc<SeenSlice>| {
        settings.scope == Scope::All
            && seen.slice.endpoints.is_empty()
            && seen.slice.labels.contains_key(label::WITHDRAWN)
    };
    if let Some(left) = ours.iter().find(|seen| !is_record(seen)) {
        return Err(format!("slice {} is left beside those of the other", left.slice.name));
    }
    if !service.deleting && slices_of(store, service, &[label::BUILT_IN]).is_empty() {
        return Err("the built-in controller has no slices".into());
    }
    Ok(())
}

/// What a condition says of hints, slices bear out.
fn programmed_is_true(
    store: &Store,
    seen: &SeenService,
    settings: &Settings,
) -> Result<(), String> {
    let says = seen.conditions.iter().find(|c| c.kind.ends_with("TrafficDistributionProgrammed"));
    if !says.is_some_and(|condition| condition.status) {
        return Ok(());
    }
    let requested = evenkeel_topology::policy::requested(&seen.service, settings.topology.gates);
    let by_node = requested.policy == Policy::PreferSameNode;
    let ours = slices_of(store, &seen.service, &[&settings.topology.controller_name]);
    // Zone shares hold without hints; that they are those of the plan is checked there.
    let shared = ours.iter().any(|seen| seen.slice.shares.is_some());
    let by_shares = says.is_some_and(|condition| condition.reason.starts_with("ZoneShares"));
    if by_shares && requested.policy != Policy::None {
        let needed = says.is_some_and(|condition| &*condition.reason == "ZoneSharesProgrammed");
        return match needed && !shared {
            true => Err("Programmed=True without zone shares".into()),
            false => Ok(()),
        };
    }
    let ready = ours.iter().flat_map(|seen| &seen.slice.endpoints).filter(|e| e.is_ready());
    let hinted =
        |e: &Endpoint| !e.zone_hints().is_empty() && (!by_node || !e.node_hints().is_empty());
    match ready.clone().find(|endpoint| !hinted(endpoint)) {
        Some(endpoint) => Err(format!("Programmed=True is untrue of {endpoint:?}")),
        None => Ok(()),
    }
}

/// Whether Kubernetes' own controller writes slices of it.
pub(crate) fn is_built_ins(service: &Service) -> bool {
    service.selector.is_some() && !service.opted_in && !service.external_name
}

fn follows_plan(store: &Store, service: &Service, settings: &Settings) -> Result<(), String> {
    let mut plan = planned(store, service, &settings.topology);
    let ours = slices_of(store, service, &[&settings.topology.controller_name]);
    // An update to what is there is no write, nor is one that the server makes so.
    let is_there = |slice: &Slice| {
        let slice = store.admission.admit(slice);
        ours.iter().any(|seen| seen.slice == slice)
    };
    let same = plan.update.extract_if(.., |slice| is_there(slice));
    plan.unchanged.extend(same.map(|slice| slice.name));
    if !plan.is_empty() {
        let Plan { create, update, delete, .. } = &plan;
        return Err(format!(
            "the plan would still write: create {create:#?}, update {update:#?}, delete {delete:?}"
        ));
    }
    if ours.len() != plan.unchanged.len() {
        return Err(format!("{} slices, and the plan has {}", ours.len(), plan.unchanged.len()));
    }
    if settings.scope == Scope::All
        && let Some(left) = slices_of(store, service, &[label::BUILT_IN]).first()
    {
        return Err(format!("slice {} is not adopted", left.slice.name));
    }
    Ok(())
}

fn lists_pods_once(store: &Store, service: &Service, settings: &Settings) -> Result<(), String> {
    let slices = slices_of(store, service, &[&settings.topology.controller_name]);
    let mut listed = listed(&slices);
    for seen in selected(store, service).filter(|seen| is_listed(store, service, seen)) {
        for &family in &service.families {
            let has_one = has_address(&seen.pod, family);
            let n = listed.remove(&(family, Arc::clone(&seen.pod.uid))).unwrap_or_default();
            if n != usize::from(has_one) {
                return Err(format!("Pod {} is in {n} slices of {family}", seen.pod.name));
            }
        }
    }
    match listed.first_key_value() {
        Some(((_, uid), _)) => Err(format!("an endpoint of {uid:?}, which no Pod backs")),
        None => Ok(()),
    }
}

/// How often each Pod (by its uid) is listed in slices of each family.
pub(crate) fn listed(slices: &[&Arc<SeenSlice>]) -> BTreeMap<(AddressType, Arc<str>), usize> {
    let mut listed = BTreeMap::new();
    for seen in slices {
        for endpoint in &seen.slice.endpoints {
            let uid = endpoint.target.as_ref().map_or("".into(), |t| Arc::clone(&t.uid));
            *listed.entry((seen.slice.address_type, uid)).or_default() += 1;
        }
    }
    listed
}

/// An endpoint that two slices of the Service list with the same ports. Of those that others have
/// touched nothing is said.
pub(crate) fn duplicate(
    slices: &[Arc<SeenSlice>],
    disturbed: &BTreeSet<Arc<str>>,
) -> Option<String> {
    type Place<'a> = (AddressType, &'a [EndpointPort], &'a str, &'a [Address]);
    let mut places: BTreeMap<Place<'_>, &str> = BTreeMap::new();
    for seen in slices {
        let Slice { name, address_type, ports, endpoints, .. } = &seen.slice;
        for endpoint in endpoints {
            let target = endpoint.target.as_ref();
            let Some(target) = target.filter(|t| !disturbed.contains(&t.uid)) else { continue };
            let addresses = endpoint.addresses.as_slice();
            let place = (*address_type, ports.as_slice(), &*target.uid, addresses);
            if let Some(other) = places.insert(place, name) {
                return Some(format!("Pod {} is in {other} and in {name}", target.name));
            }
        }
    }
    None
}

/// The slices labelled with the name of a Service that one of these signed, in the order of their
/// names.
pub(crate) fn slices_of<'a>(
    store: &'a Store,
    service: &Service,
    managers: &[&str],
) -> Vec<&'a Arc<SeenSlice>> {
    let slices = store.slices.iter().map(|(_, seen)| seen);
    let of_service = |seen: &&Arc<SeenSlice>| {
        seen.namespace == service.key.namespace
            && seen.slice.labels.get(label::SERVICE_NAME) == Some(&service.key.name)
            && managed_by(&seen.slice, managers)
    };
    slices.filter(of_service).collect()
}

pub(crate) fn managed_by(slice: &Slice, managers: &[&str]) -> bool {
    let manager = slice.labels.get(label::MANAGED_BY);
    manager.is_some_and(|manager| managers.contains(&&**manager))
}

pub(crate) fn is_ours(service: &Service, scope: Scope) -> bool {
    service.selector.is_some() && (scope == Scope::All || service.opted_in)
}

pub(crate) fn selects(service: &Service, seen: &SeenPod) -> bool {
    let label = |name: &str| seen.labels.get(name).map(String::as_str);
    seen.pod.namespace == service.key.namespace && service.selects(label)
}

pub(crate) fn has_address(pod: &Pod, family: AddressType) -> bool {
    pod.ips.iter().any(|ip| ip.is_ipv4() == (family == AddressType::IPv4))
}

fn selected<'a>(store: &'a Store, service: &'a Service) -> impl Iterator<Item = &'a SeenPod> {
    let pods = store.pods.iter().map(|(_, seen)| &**seen);
    pods.filter(|seen| selects(service, seen))
}

/// Whether a Pod that is selected is to be listed in fact.
pub(crate) fn is_listed(store: &Store, service: &Service, seen: &SeenPod) -> bool {
    let node = seen.pod.node.map(|id| store.topology.nodes.name(id));
    let known = node.is_some_and(|name| store.nodes.get(&Key::new("", name.clone())).is_some());
    seen.pod.has_endpoint() && (known || service.publish_not_ready)
}

/// In how many of these slices a Pod is listed as it is to be: with its address and its ports.
pub(crate) fn rightly_listed(
    slices: &[Arc<SeenSlice>],
    service: &Service,
    pod: &Pod,
    family: AddressType,
) -> usize {
    let ports = ports_of(service, pod);
    let right = |seen: &&Arc<SeenSlice>| {
        let mut found: Vec<_> = seen.slice.ports.iter().map(|p| (&*p.name, p.port)).collect();
        found.sort_unstable();
        seen.slice.address_type == family && found == ports
    };
    let lists = |endpoint: &Endpoint| {
        let addresses = endpoint.addresses.iter();
        let own = |address: &Address| pod.ips.iter().any(|ip| *address == Address::Ip(*ip));
        endpoint.target.as_ref().is_some_and(|target| target.uid == pod.uid)
            && addresses.into_iter().all(own)
    };
    slices.iter().filter(right).filter(|seen| seen.slice.endpoints.iter().any(lists)).count()
}

/// The ports of a Pod's endpoints, sorted. A port name that it doesn't have is left out.
fn ports_of<'a>(service: &'a Service, pod: &Pod) -> Vec<(&'a str, Option<u16>)> {
    let number = |target: &TargetPort| match target {
        TargetPort::Number(number) => Some(*number),
        TargetPort::Name(name) => pod.ports.iter().find(|p| p.name == *name).map(|p| p.port),
    };
    let ports = service.ports.iter();
    let ports = ports.filter_map(|port| Some((&*port.name, Some(number(&port.target)?))));
    let mut ports: Vec<_> = ports.collect();
    ports.sort_unstable();
    ports
}

/// Whether a Pod is to be in a slice of this family of the Service, if its Node is there.
pub(crate) fn belongs(service: &Service, seen: &SeenPod, family: AddressType) -> bool {
    selects(service, seen)
        && seen.pod.has_endpoint()
        && service.families.contains(&family)
        && has_address(&seen.pod, family)
}
