//! What a proxy is sent, in two parts: what it shares with all proxies alike, and what is its own.

use std::{cmp::Ordering, sync::Arc};

use evenkeel_xds::{Resource, ResourceType, Source};
use parking_lot::RwLock;

use super::Assignment;

/// Resources in the order of their names.
#[derive(Debug, Default)]
pub struct Bundle {
    pub(super) clusters: Vec<Arc<Resource>>,
    pub(super) listeners: Vec<Arc<Resource>>,
    pub(super) routes: Vec<Arc<Resource>>,
    pub(super) endpoints: Vec<Arc<Assignment>>,
}

/// All that one proxy is sent.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// Everything about the services it calls.
    pub shared: Arc<Bundle>,
    /// Its inbounds.
    pub own: Arc<Bundle>,
}

/// Where the streams of a proxy find what it is sent. It stays the same while that changes.
#[derive(Debug, Default)]
pub struct Slot(RwLock<Served>);

/// A resource that was added, changed or removed.
pub type Changed = (ResourceType, Arc<str>);

// === impl Bundle ===

impl Bundle {
    pub(super) fn sort(&mut self) {
        let Bundle { clusters, listeners, routes, endpoints } = self;
        for list in [clusters, listeners, routes] {
            list.sort_unstable_by(|a, b| a.name().cmp(b.name()));
            list.dedup_by(|b, a| a.name() == b.name());
        }
        endpoints.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        endpoints.dedup_by(|b, a| a.name() == b.name());
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> usize {
        let Bundle { clusters, listeners, routes, endpoints } = self;
        clusters.len() + listeners.len() + routes.len() + endpoints.len()
    }

    /// The same resources, not only equal ones: equal resources are the same ones.
    pub(super) fn is_same(&self, other: &Bundle) -> bool {
        let Bundle { clusters, listeners, routes, endpoints } = self;
        same(clusters, &other.clusters)
            && same(listeners, &other.listeners)
            && same(routes, &other.routes)
            && same(endpoints, &other.endpoints)
    }

    /// Addresses of all parts. They live as long as the bundle.
    pub(super) fn addresses(&self) -> impl Iterator<Item = usize> + '_ {
        let lists = [&self.clusters, &self.listeners, &self.routes];
        let resources = lists.into_iter().flatten().map(|part| Arc::as_ptr(part) as usize);
        resources.chain(self.endpoints.iter().map(|part| Arc::as_ptr(part) as usize))
    }

    fn list(&self, kind: ResourceType) -> &[Arc<Resource>] {
        match kind {
            ResourceType::Cluster => &self.clusters,
            ResourceType::Listener => &self.listeners,
            ResourceType::Route => &self.routes,
            ResourceType::Endpoint => &[],
        }
    }

    fn get(&self, kind: ResourceType, name: &str) -> Option<Arc<Resource>> {
        if kind == ResourceType::Endpoint {
            let found = self.endpoints.binary_search_by(|part| (**part.name()).cmp(name));
            return found.ok().map(|index| self.endpoints[index].current());
        }
        let list = self.list(kind);
        let found = list.binary_search_by(|part| (**part.name()).cmp(name));
        found.ok().map(|index| Arc::clone(&list[index]))
    }

    fn each(&self, kind: ResourceType, visit: &mut dyn FnMut(&Arc<Resource>)) {
        self.list(kind).iter().for_each(&mut *visit);
        if kind == ResourceType::Endpoint {
            self.endpoints.iter().for_each(|part| visit(&part.current()));
        }
    }

    /// What differs from this to another one, added to `changed`.
    pub(super) fn diff(&self, other: &Bundle, changed: &mut Vec<Changed>) {
        for kind in [ResourceType::Cluster, ResourceType::Listener, ResourceType::Route] {
            let (a, b) = (self.list(kind), other.list(kind));
            merge(a, b, |part| part.name(), |name| changed.push((kind, Arc::clone(name))));
        }
        merge(
            &self.endpoints,
            &other.endpoints,
            |part| part.name(),
            |name| {
                changed.push((ResourceType::Endpoint, Arc::clone(name)));
            },
        );
    }
}

fn same<T>(a: &[Arc<T>], b: &[Arc<T>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
}

/// Visits the names of which the lists have not the same part.
fn merge<'a, T>(
    mut a: &'a [Arc<T>],
    mut b: &'a [Arc<T>],
    name: impl Fn(&T) -> &Arc<str>,
    mut differs: impl FnMut(&Arc<str>),
) {
    loop {
        let order = match (a.first(), b.first()) {
            (None, None) => return,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => name(a).cmp(name(b)),
        };
        let (from_a, from_b) = (a.first(), b.first());
        if order.is_le() {
            a = &a[1..];
        }
        if order.is_ge() {
            b = &b[1..];
        }
        match (order, from_a, from_b) {
            (Ordering::Equal, Some(a), Some(b)) if Arc::ptr_eq(a, b) => {}
            (Ordering::Less | Ordering::Equal, Some(part), _)
            | (Ordering::Greater, _, Some(part)) => differs(name(part)),
            _ => return,
        }
    }
}

// === impl Served ===

impl Source for Served {
    fn get(&self, kind: ResourceType, name: &str) -> Option<Arc<Resource>> {
        self.shared.get(kind, name).or_else(|| self.own.get(kind, name))
    }

    fn each(&self, kind: ResourceType, visit: &mut dyn FnMut(&Arc<Resource>)) {
        self.shared.each(kind, visit);
        self.own.each(kind, visit);
    }
}

// === impl Slot ===

impl Slot {
    pub fn served(&self) -> Served {
        self.0.read().clone()
    }

    pub(super) fn replace(&self, served: Served) {
        *self.0.write() = served;
    }
}
