//! A consumer that only ever looks at changes, beside the objects themselves.

use std::collections::BTreeMap;

use evenkeel_model::{Candidate, PortId, Rule, Selection, Service, Slice, Viewpoint, ZoneId};
use evenkeel_topology::{
    Settings,
    consumer::{Backend, ChangeKind, Delta, Path, PathDelta, Selector, View},
};
use proptest::prelude::*;

use crate::{
    generate::{Edit, Step},
    oracle::expected,
    world::{key, namespace, settings},
};

pub(crate) struct Replay {
    view: View,
    selector: Selector,
    delta: Delta,
    settings: Settings,
    services: BTreeMap<String, Service>,
    slices: BTreeMap<String, Slice>,
    ports: BTreeMap<PortId, Followed>,
}

/// A port as its changes and deltas have made it.
#[derive(Default)]
struct Followed {
    endpoints: BTreeMap<Backend, Candidate>,
    cluster: FollowedPath,
    local: FollowedPath,
    any_in_cluster: bool,
}

#[derive(Default)]
struct FollowedPath {
    rule: Option<Rule>,
    members: BTreeMap<Backend, ZoneId>,
    weights: BTreeMap<ZoneId, u32>,
}

impl Replay {
    pub(crate) fn new(from: Viewpoint) -> Self {
        Replay {
            view: View::new(settings()),
            selector: Selector::new(from),
            delta: Delta::default(),
            settings: settings(),
            services: BTreeMap::new(),
            slices: BTreeMap::new(),
            ports: BTreeMap::new(),
        }
    }

    pub(crate) fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::ApplyService(service) => self.apply_service(*service),
            Step::DeleteService(name) => {
                self.services.remove(name);
                self.view.delete_service(&key(name));
            }
            Step::ApplySlice(slice) => self.apply_slice(slice),
            Step::DeleteSlice(name) => {
                self.slices.remove(name);
                self.view.delete_slice(&key(name));
            }
            Step::Edit(name, nth, edit) => self.edit(name, nth, edit),
            Step::ListServices(list) => {
                self.services.clear();
                self.view.begin_services();
                list.into_iter().for_each(|service| self.apply_service(service));
                self.view.complete_services();
            }
            Step::ListSlices(list) => {
                self.slices.clear();
                self.view.begin_slices();
                list.into_iter().for_each(|slice| self.apply_slice(slice));
                self.view.complete_slices();
            }
            Step::Look => {
                self.follow();
                self.check()?;
            }
            Step::Move(from) => {
                self.follow();
                let ports = &mut self.ports;
                let changes = self.view.changes();
                self.selector.relocate(&changes, from, |id, delta| {
                    ports.get_mut(&id).expect("followed").apply(delta);
                });
                drop(changes);
                self.check()?;
            }
        }
        Ok(())
    }

    fn apply_service(&mut self, service: Service) {
        self.services.insert(service.key.name.to_string(), service.clone());
        self.view.apply_service(service);
    }

    fn apply_slice(&mut self, slice: Slice) {
        self.view.apply_slice(&namespace(), &slice);
        self.slices.insert(slice.name.to_string(), slice);
    }

    fn edit(&mut self, name: &str, nth: usize, edit: Edit) {
        let Some(mut slice) = self.slices.get(name).cloned() else { return };
        let endpoints = &mut slice.endpoints;
        match edit {
            Edit::Insert(endpoint) => endpoints.insert(nth.min(endpoints.len()), endpoint),
            Edit::Replace(endpoint) if nth < endpoints.len() => {
                // Mostly the endpoint stays and its state changes.
                let addresses = endpoints[nth].addresses.clone();
                endpoints[nth] = endpoint;
                if nth != 1 {
                    endpoints[nth].addresses = addresses;
                }
            }
            Edit::Remove if nth < endpoints.len() => drop(endpoints.remove(nth)),
            Edit::Reverse => endpoints.reverse(),
            Edit::Replace(_) | Edit::Remove => return,
        }
        self.apply_slice(slice);
    }

    fn follow(&mut self) {
        let changes = self.view.changes();
        for change in changes.ports() {
            self.selector.update(&changes, &change, &mut self.delta);
            let followed = match &change.kind {
                ChangeKind::Removed => {
                    self.ports.remove(&change.id).expect("removed ports were there");
                    continue;
                }
                ChangeKind::Added(port) => {
                    let followed = self.ports.entry(change.id).or_default();
                    let candidates = port.endpoints().map(|e| (e.backend, e.candidate.clone()));
                    followed.endpoints = candidates.collect();
                    followed
                }
                ChangeKind::Changed { endpoints, .. } => {
                    let followed = self.ports.get_mut(&change.id).expect("added before");
                    for change in *endpoints {
                        let before = match change.after.clone() {
                            Some(after) => followed.endpoints.insert(change.backend, after),
                            None => followed.endpoints.remove(&change.backend),
                        };
                        assert_eq!(before, change.before, "{}", change.backend);
                    }
                    followed
                }
            };
            followed.apply(&self.delta);
        }
        drop(changes);
        assert!(self.view.changes().is_empty());
    }

    /// Everything is as it would be from scratch.
    fn check(&self) -> Result<(), TestCaseError> {
        let mut n_ports = 0;
        for service in self.services.values() {
            let id = self.view.find(&service.key).expect("it was applied");
            for &port in self.view.ports_of(id) {
                self.check_port(service, port)?;
                n_ports += 1;
            }
        }
        prop_assert_eq!(self.ports.len(), n_ports);
        prop_assert_eq!(self.view.ports().count(), n_ports);
        Ok(())
    }

    fn check_port(&self, service: &Service, id: PortId) -> Result<(), TestCaseError> {
        let port = self.view.port(id).expect("a port of the Service");
        prop_assert_eq!(port.service(), service);
        let from = self.selector.viewpoint();
        let (given, family) = (port.port(), port.family());
        let expected = expected(service, given, family, &self.slices, from, &self.settings);
        let seen = port.endpoints().map(|e| (e.backend, e.candidate.clone()));
        prop_assert_eq!(&seen.collect::<BTreeMap<_, _>>(), &expected.endpoints);
        let followed = &self.ports[&id];
        prop_assert_eq!(&followed.endpoints, &expected.endpoints);
        let backends: Vec<Backend> = expected.endpoints.keys().copied().collect();
        prop_assert_eq!(followed.any_in_cluster, expected.selected.any_in_cluster);
        for (path, selection, followed) in [
            (Path::Cluster, &expected.selected.cluster, &followed.cluster),
            (Path::Local, &expected.selected.local, &followed.local),
        ] {
            prop_assert_eq!(followed.rule, selection.as_ref().map(|s| s.rule));
            let weights = selection.as_ref().map(|s| by_backend(s, &backends)).unwrap_or_default();
            prop_assert_eq!(followed.weights(), weights.clone(), "{:?}", path);
            let members = self.selector.members(&self.view, id, path);
            let members = members.map(|(member, weight)| (member.backend, weight));
            prop_assert_eq!(members.collect::<BTreeMap<_, _>>(), weights, "{:?}", path);
        }
        Ok(())
    }
}

fn by_backend(selection: &Selection, backends: &[Backend]) -> BTreeMap<Backend, u32> {
    let weight = |s: &evenkeel_model::Share| (backends[s.endpoint as usize], s.weight);
    selection.shares.iter().map(weight).collect()
}

// === impl Followed ===

impl Followed {
    fn apply(&mut self, delta: &Delta) {
        self.cluster.apply(&delta.cluster);
        self.local.apply(&delta.local);
        self.any_in_cluster = delta.any_in_cluster;
    }
}

impl FollowedPath {
    fn apply(&mut self, delta: &PathDelta) {
        self.rule = delta.rule;
        for backend in &delta.removed {
            self.members.remove(backend).expect("only what is used is removed");
        }
        for member in &delta.added {
            let before = self.members.insert(member.backend, member.zone);
            assert_ne!(before, Some(member.zone), "added twice");
        }
        if delta.reweighted {
            self.weights = delta.weights.iter().map(|zone| (zone.zone, zone.weight)).collect();
        }
    }

    fn weights(&self) -> BTreeMap<Backend, u32> {
        let weight = |zone: &ZoneId| self.weights.get(zone).copied().unwrap_or(1);
        self.members.iter().map(|(backend, zone)| (*backend, weight(zone))).collect()
    }
}
