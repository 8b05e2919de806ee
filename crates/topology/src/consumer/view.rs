//! The view: Services and slices in, ports with merged endpoints out.

use std::sync::Arc;

use evenkeel_model::{AddressType, PortId, Service, ServiceId, ServiceKey, Slice, label};
use rustc_hash::FxHashMap;

use super::{
    Changes, Detail,
    diff::{Editor, Scratch, list},
    entry::{Entry, SliceState},
    port::{Port, PortView},
    record::Log,
    slab::Slab,
};
use crate::{
    Settings,
    routing::{Basis, PortRouting, is_ours},
};

/// Services and their merged endpoints. `E`: what is kept of each endpoint beside what selection
/// needs, see [`Detail`].
#[derive(Debug)]
pub struct View<E = ()> {
    settings: Settings,
    pub(super) services: Slab<ServiceId, Box<Entry<E>>>,
    by_name: FxHashMap<ServiceKey, ServiceId>,
    /// Where a slice is, by its namespace and name.
    pub(super) slices: FxHashMap<ServiceKey, (ServiceId, u32)>,
    pub(super) ports: Slab<PortId, Port>,
    pub(super) log: Log,
    scratch: Scratch,
    /// The number of the current list of Services, and of slices.
    pub(super) lists: (u32, u32),
}

impl<E: Detail> View<E> {
    /// The settings say whose annotations count and which gates are on.
    pub fn new(settings: Settings) -> Self {
        View {
            settings,
            services: Slab::default(),
            by_name: FxHashMap::default(),
            slices: FxHashMap::default(),
            ports: Slab::default(),
            log: Log::default(),
            scratch: Scratch::default(),
            lists: (0, 0),
        }
    }

    /// Takes in a Service, new or changed.
    pub fn apply_service(&mut self, service: Service) {
        let id = self.entry(&service.key);
        let entry = self.services.get_mut(id).expect("just made");
        entry.listed = self.lists.0;
        if entry.service.as_deref() == Some(&service) {
            return;
        }
        entry.basis = Basis::of(&service, &self.settings);
        let old = std::mem::take(&mut entry.ports);
        self.match_ports(id, &service, &old);
        let entry = self.services.get_mut(id).expect("it is still there");
        entry.service = Some(Box::new(service));
        for port in old {
            if !entry.ports.contains(&port) {
                drop_port(port, &mut self.ports, &mut self.log, entry);
            }
        }
        self.edit(id, |editor| {
            editor.reroute_all();
        });
    }

    /// Keeps the ports that the Service still has, and makes those that it had not.
    fn match_ports(&mut self, id: ServiceId, service: &Service, old: &[PortId]) {
        let families = service.families.iter().filter(|family| **family != AddressType::Fqdn);
        for &family in families {
            for (nth, given) in (0u32..).zip(&service.ports) {
                let is_it = |port: &Port| {
                    port.name == given.name
                        && port.protocol == given.protocol
                        && port.family == family
                };
                let has = |ports: &[PortId], slab: &Slab<PortId, Port>| {
                    ports.iter().copied().find(|port| slab.get(*port).is_some_and(is_it))
                };
                let entry = self.services.get_mut(id).expect("just made");
                if has(&entry.ports, &self.ports).is_some() {
                    continue; // Named twice: the first counts.
                }
                let port = has(old, &self.ports);
                let port = port.unwrap_or_else(|| self.ports.insert(Port::new(id, given, family)));
                entry.ports.push(port);
                let known = self.ports.get_mut(port).expect("just made");
                (known.nth, known.service_changed) = (nth, true);
                list(known, port, &mut self.log);
                if !old.contains(&port) {
                    self.edit(id, |editor| editor.fill(port));
                }
            }
        }
    }

    /// Takes out a Service. Its slices are kept, in case that it comes again.
    pub fn delete_service(&mut self, key: &ServiceKey) {
        let Some(&id) = self.by_name.get(key) else { return };
        let Some(entry) = self.services.get_mut(id) else { return };
        entry.service = None;
        for port in std::mem::take(&mut entry.ports) {
            drop_port(port, &mut self.ports, &mut self.log, entry);
        }
        self.forget_if_empty(id);
    }

    /// Takes in a slice, new or changed. One that names no Service is not kept; one that names another
    /// Service than before goes there.
    pub fn apply_slice(&mut self, namespace: &Arc<str>, slice: &Slice) {
        let key = ServiceKey { namespace: Arc::clone(namespace), name: Arc::clone(&slice.name) };
        let service = slice.labels.get(label::SERVICE_NAME).filter(|name| !name.is_empty());
        let known = self.slices.get(&key).copied();
        let stays = |(id, _): &(ServiceId, u32)| {
            let entry = self.services.get(*id);
            entry.is_some_and(|entry| Some(&entry.key.name) == service)
        };
        if known.is_some() && known.filter(stays).is_none() {
            self.delete_slice(&key);
        }
        let Some(service) = service else { return };
        let carried = slice.shares.as_ref().filter(|_| is_ours(slice, &self.settings));
        let (id, index) = match known.filter(|_| self.slices.contains_key(&key)) {
            Some(place) => place,
            None => {
                let service =
                    ServiceKey { namespace: key.namespace.clone(), name: service.clone() };
                let place = self.add_slice(&service, slice);
                self.slices.insert(key, place);
                place
            }
        };
        let listed = self.lists.1;
        self.edit(id, |editor| {
            let state = editor.entry.slice_mut(index);
            state.listed = listed;
            let is_new = state.slots.is_empty();
            let recarried = state.carried.as_deref() != carried;
            if recarried {
                state.carried = carried.map(|carried| Box::new(carried.clone()));
            }
            let retargeted = *state.ports != *slice.ports || state.family != slice.address_type;
            if retargeted {
                editor.retarget(index, |state| {
                    state.ports = slice.ports.as_slice().into();
                    state.family = slice.address_type;
                });
            }
            if recarried || retargeted || is_new {
                editor.reroute_all();
            }
            editor.set_endpoints(index, &slice.endpoints);
            editor.reroute_outdated();
        });
        if self.log.is_long() {
            self.log.squash(&self.ports);
        }
    }

    /// Takes out the slice of this namespace and name.
    pub fn delete_slice(&mut self, key: &ServiceKey) {
        let Some((id, index)) = self.slices.remove(key) else { return };
        self.edit(id, |editor| {
            editor.set_endpoints(index, &[]);
            editor.entry.slices[index as usize] = None;
            editor.reroute_all();
        });
        self.forget_if_empty(id);
    }

    fn add_slice(&mut self, service: &ServiceKey, slice: &Slice) -> (ServiceId, u32) {
        let id = self.entry(service);
        let entry = self.services.get_mut(id).expect("just made");
        // Nearly all slices of a Service have the same ports.
        let alike = entry.slices.iter().flatten().find(|known| *known.ports == *slice.ports);
        let ports = alike.map_or_else(|| slice.ports.as_slice().into(), |s| Arc::clone(&s.ports));
        let index = entry.add_slice(SliceState {
            name: Arc::clone(&slice.name),
            family: slice.address_type,
            ports,
            carried: None,
            slots: Vec::new(),
            targets: Vec::new(),
            listed: 0,
        });
        self.edit(id, |editor| editor.find_targets(index));
        (id, index)
    }

    fn entry(&mut self, key: &ServiceKey) -> ServiceId {
        if let Some(id) = self.by_name.get(key) {
            return *id;
        }
        let id = self.services.insert(Box::new(Entry::new(key.clone())));
        self.by_name.insert(key.clone(), id);
        id
    }

    fn edit<R>(&mut self, id: ServiceId, edit: impl FnOnce(&mut Editor<'_, E>) -> R) -> Option<R> {
        let View { services, ports, log, scratch, .. } = self;
        let entry = services.get_mut(id)?;
        Some(edit(&mut Editor { entry, ports, log, scratch }))
    }

    fn forget_if_empty(&mut self, id: ServiceId) {
        if self.services.get(id).is_some_and(|entry| entry.is_empty())
            && let Some(entry) = self.services.remove(id)
        {
            self.by_name.remove(&entry.key);
        }
    }

    /// The ports that changed since this was last called, all of them at first.
    pub fn changes(&mut self) -> Changes<'_, E> {
        Changes::new(self)
    }
}

impl<E> View<E> {
    /// A port of a Service that is here.
    pub fn port(&self, id: PortId) -> Option<PortView<'_, E>> {
        let port = self.ports.get(id)?;
        let entry = self.services.get(port.service)?;
        Some(PortView { port, entry, service: entry.service.as_deref()? })
    }

    pub fn service(&self, id: ServiceId) -> Option<&Service> {
        self.services.get(id)?.service.as_deref()
    }

    pub fn find(&self, key: &ServiceKey) -> Option<ServiceId> {
        self.by_name.get(key).copied().filter(|id| self.service(*id).is_some())
    }

    /// The ports of a Service, family by family in their order.
    pub fn ports_of(&self, id: ServiceId) -> &[PortId] {
        self.services.get(id).map_or(&[], |entry| &entry.ports)
    }

    /// All ports of all Services.
    pub fn ports(&self) -> impl Iterator<Item = (PortId, PortView<'_, E>)> {
        self.ports.iter().filter_map(|(id, _)| Some((id, self.port(id)?)))
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

fn drop_port<E>(id: PortId, ports: &mut Slab<PortId, Port>, log: &mut Log, entry: &mut Entry<E>) {
    for slice in entry.slices.iter_mut().flatten() {
        slice.targets.retain(|(port, _)| *port != id);
    }
    if ports.remove(id).is_some_and(|port| !port.is_new) {
        log.removed.push(id);
    }
}

// === impl Port ===

impl Port {
    fn new(service: ServiceId, given: &evenkeel_model::ServicePort, family: AddressType) -> Self {
        Port {
            service,
            nth: 0,
            name: Arc::clone(&given.name),
            protocol: given.protocol,
            family,
            places: Vec::new(),
            routing: PortRouting::Hints,
            shares: None,
            is_listed: false,
            is_new: true,
            service_changed: false,
        }
    }
}
