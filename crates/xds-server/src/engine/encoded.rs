//! Encoded resources, each once, for as long as something uses them.
//!
//! Two ways lead to one: the decision it was encoded from, by its address, which costs nothing; and
//! its content, by its version, which costs encoding it and finds the same one behind another decision. Entries
//! that nothing uses are swept when they may be as many as the used ones: amortised O(1).

use std::sync::{Arc, Weak};

use evenkeel_model::mesh::{Cluster, Listener, RouteTable};
use evenkeel_xds::{Resource, ResourceType, Version, encode};
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(super) struct Encoded {
    by_content: FxHashMap<(ResourceType, Version), Weak<Resource>>,
    /// The decision is held, so that its address is not used again.
    clusters: FxHashMap<usize, (Arc<Cluster>, Weak<Resource>)>,
    listeners: FxHashMap<usize, (Arc<Listener>, Weak<Resource>)>,
    routes: FxHashMap<usize, (Arc<RouteTable>, Weak<Resource>)>,
    /// Entries at which the next sweep is due.
    sweep_at: usize,
    pub(super) n_encoded: u64,
}

/// Below this a sweep is not worth while.
const FEW: usize = 1024;

// === impl Encoded ===

impl Encoded {
    pub(super) fn cluster(&mut self, cluster: &Arc<Cluster>) -> Arc<Resource> {
        let address = Arc::as_ptr(cluster) as usize;
        let known = self.clusters.get(&address).and_then(|(_, resource)| resource.upgrade());
        known.unwrap_or_else(|| {
            let resource = self.share(encode::cluster(cluster));
            self.clusters.insert(address, (Arc::clone(cluster), Arc::downgrade(&resource)));
            resource
        })
    }

    pub(super) fn listener(&mut self, listener: &Arc<Listener>) -> Arc<Resource> {
        let address = Arc::as_ptr(listener) as usize;
        let known = self.listeners.get(&address).and_then(|(_, resource)| resource.upgrade());
        known.unwrap_or_else(|| {
            let resource = self.share(encode::listener(listener));
            self.listeners.insert(address, (Arc::clone(listener), Arc::downgrade(&resource)));
            resource
        })
    }

    pub(super) fn route_table(&mut self, table: &Arc<RouteTable>) -> Arc<Resource> {
        let address = Arc::as_ptr(table) as usize;
        let known = self.routes.get(&address).and_then(|(_, resource)| resource.upgrade());
        known.unwrap_or_else(|| {
            let resource = self.share(encode::route_table(table));
            self.routes.insert(address, (Arc::clone(table), Arc::downgrade(&resource)));
            resource
        })
    }

    /// The one resource with this content.
    pub(super) fn share(&mut self, resource: Resource) -> Arc<Resource> {
        self.n_encoded += 1;
        let key = (resource.kind(), resource.version());
        if let Some(known) = self.by_content.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        let resource = Arc::new(resource);
        self.by_content.insert(key, Arc::downgrade(&resource));
        resource
    }

    /// Resources in use, if it was just swept; never fewer.
    pub(super) fn len(&self) -> usize {
        self.by_content.len()
    }

    pub(super) fn sweep_if_due(&mut self) {
        if self.n_entries() >= self.sweep_at.max(FEW) {
            self.sweep();
            self.sweep_at = 2 * self.n_entries();
        }
    }

    pub(super) fn sweep(&mut self) {
        let Encoded { by_content, clusters, listeners, routes, .. } = self;
        clusters.retain(|_, (_, resource)| resource.strong_count() > 0);
        listeners.retain(|_, (_, resource)| resource.strong_count() > 0);
        routes.retain(|_, (_, resource)| resource.strong_count() > 0);
        by_content.retain(|_, resource| resource.strong_count() > 0);
        by_content.shrink_to(2 * by_content.len());
    }

    fn n_entries(&self) -> usize {
        let Encoded { by_content, clusters, listeners, routes, .. } = self;
        by_content.len() + clusters.len() + listeners.len() + routes.len()
    }
}
