//! Figures about the state, for metrics. Kept up to date port by port: a change must not cost a look at
//! all of them.

use evenkeel_model::{Path, PortId, TrafficPolicy};
use evenkeel_topology::consumer::{Selector, View};
use rustc_hash::FxHashMap;

/// Counts that are exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub services: Services,
    /// Service ports with `internalTrafficPolicy: Local` that have endpoints, but none here.
    pub no_local_internal: usize,
    /// The same for `externalTrafficPolicy: Local`.
    pub no_local_external: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Services {
    pub ports: usize,
    pub endpoints: usize,
}

/// The facts of all ports, and what each adds to them.
#[derive(Debug, Default)]
pub(super) struct Tally {
    all: Facts,
    of: FxHashMap<PortId, OfPort>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OfPort {
    endpoints: u32,
    no_local_internal: bool,
    no_local_external: bool,
}

// === impl Tally ===

impl Tally {
    pub(super) fn all(&self) -> Facts {
        self.all
    }

    /// A port is new, or it or its endpoints changed.
    pub(super) fn count(&mut self, id: PortId, view: &View, selector: &Selector) {
        self.remove(id);
        let Some(port) = view.port(id) else { return };
        let endpoints = u32::try_from(port.endpoints().count()).unwrap_or(u32::MAX);
        let exposure = port.service().exposure;
        let has_none = || selector.members(view, id, Path::Local).next().is_none();
        let is_without = endpoints > 0 && exposure.uses_local() && has_none();
        let is_local = |policy| policy == TrafficPolicy::Local;
        let of = OfPort {
            endpoints,
            no_local_internal: is_without && is_local(exposure.internal),
            no_local_external: is_without && exposure.external.is_some_and(is_local),
        };
        self.of.insert(id, of);
        let Facts { services, no_local_internal, no_local_external } = &mut self.all;
        services.ports += 1;
        services.endpoints += of.endpoints as usize;
        *no_local_internal += usize::from(of.no_local_internal);
        *no_local_external += usize::from(of.no_local_external);
    }

    pub(super) fn remove(&mut self, id: PortId) {
        let Some(of) = self.of.remove(&id) else { return };
        let Facts { services, no_local_internal, no_local_external } = &mut self.all;
        services.ports -= 1;
        services.endpoints -= of.endpoints as usize;
        *no_local_internal -= usize::from(of.no_local_internal);
        *no_local_external -= usize::from(of.no_local_external);
    }
}
