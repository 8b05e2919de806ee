//! Bundles and assignments that connected proxies use, and who uses which.

use std::{
    collections::BTreeSet,
    hash::{Hash as _, Hasher as _},
    sync::{Arc, Weak},
};

use evenkeel_locality::view::{OutboundPlan, ProxyKey, ServiceKey};
use evenkeel_xds::Resource;
use rustc_hash::{FxHashMap, FxHasher};

use super::{
    Assignment, Bundle,
    assignment::{AssignmentId, Cause},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BundleId(u64);

/// Lists are in the order of ids, so that what comes out does not depend on hashes.
#[derive(Debug, Default)]
pub(super) struct Pool {
    next: u64,
    bundles: FxHashMap<BundleId, Used>,
    /// By a hash of the addresses of their parts.
    by_parts: FxHashMap<u64, Vec<BundleId>>,
    /// By the address of the plan, which is not used again while there is a weak reference.
    by_plan: FxHashMap<usize, (Weak<OutboundPlan>, BundleId)>,
    assignments: FxHashMap<AssignmentId, Users>,
    by_cause: FxHashMap<Cause, AssignmentId>,
    by_service: FxHashMap<ServiceKey, BTreeSet<AssignmentId>>,
}

#[derive(Debug)]
struct Used {
    bundle: Arc<Bundle>,
    parts: u64,
    /// Shared with pushes, so that to tell ten thousand costs what it costs to tell one.
    proxies: Arc<BTreeSet<ProxyKey>>,
    /// Keys in `by_plan`.
    plans: Vec<usize>,
}

#[derive(Debug)]
struct Users {
    assignment: Arc<Assignment>,
    bundles: BTreeSet<BundleId>,
}

// === impl Pool ===

impl Pool {
    /// The one bundle with these parts, used by this proxy from now on.
    pub(super) fn acquire(
        &mut self,
        bundle: Arc<Bundle>,
        proxy: &ProxyKey,
    ) -> (BundleId, Arc<Bundle>) {
        let parts = hash(&bundle);
        let ids = self.by_parts.get(&parts).into_iter().flatten();
        let is_same =
            |id: &&BundleId| self.bundles.get(id).is_some_and(|u| u.bundle.is_same(&bundle));
        let known = ids.copied().find(|id| is_same(&id));
        let id = known.unwrap_or_else(|| self.insert(bundle, parts));
        let used = self.bundles.get_mut(&id).expect("it was found or inserted just now");
        Arc::make_mut(&mut used.proxies).insert(proxy.clone());
        (id, Arc::clone(&used.bundle))
    }

    /// The bundle that was made for this plan, used by this proxy from now on.
    pub(super) fn of_plan(
        &mut self,
        plan: &Arc<OutboundPlan>,
        proxy: &ProxyKey,
    ) -> Option<(BundleId, Arc<Bundle>)> {
        let (_, id) = self.by_plan.get(&(Arc::as_ptr(plan) as usize))?;
        let used = self.bundles.get_mut(id)?;
        Arc::make_mut(&mut used.proxies).insert(proxy.clone());
        Some((*id, Arc::clone(&used.bundle)))
    }

    /// The bundle was made for this plan.
    pub(super) fn remember(&mut self, plan: &Arc<OutboundPlan>, id: BundleId) {
        let Some(used) = self.bundles.get_mut(&id) else { return };
        let by_plan = &mut self.by_plan;
        used.plans.retain(|address| {
            let is_alive = by_plan.get(address).is_some_and(|(plan, _)| plan.strong_count() > 0);
            if !is_alive {
                by_plan.remove(address);
            }
            is_alive
        });
        let address = Arc::as_ptr(plan) as usize;
        used.plans.push(address);
        by_plan.insert(address, (Arc::downgrade(plan), id));
    }

    fn insert(&mut self, bundle: Arc<Bundle>, parts: u64) -> BundleId {
        self.next += 1;
        let id = BundleId(self.next);
        for assignment in &bundle.endpoints {
            if let Some(users) = self.assignments.get_mut(&assignment.id) {
                users.bundles.insert(id);
            }
        }
        self.by_parts.entry(parts).or_default().push(id);
        self.bundles.insert(id, Used { bundle, parts, proxies: Arc::default(), plans: Vec::new() });
        id
    }

    /// This proxy no longer uses it. What nobody uses is dropped.
    pub(super) fn release(&mut self, id: BundleId, proxy: &ProxyKey) {
        let Some(used) = self.bundles.get_mut(&id) else { return };
        Arc::make_mut(&mut used.proxies).remove(proxy);
        if !used.proxies.is_empty() {
            return;
        }
        let Some(Used { bundle, parts, plans, .. }) = self.bundles.remove(&id) else { return };
        for plan in plans {
            self.by_plan.remove(&plan);
        }
        if let Some(ids) = self.by_parts.get_mut(&parts) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_parts.remove(&parts);
            }
        }
        for assignment in &bundle.endpoints {
            self.forget_user(assignment, id);
        }
    }

    fn forget_user(&mut self, assignment: &Assignment, bundle: BundleId) {
        let Some(users) = self.assignments.get_mut(&assignment.id) else { return };
        users.bundles.remove(&bundle);
        if !users.bundles.is_empty() {
            return;
        }
        self.assignments.remove(&assignment.id);
        self.by_cause.remove(&assignment.cause);
        let service = &assignment.cause.key.service;
        if let Some(ids) = self.by_service.get_mut(service) {
            ids.remove(&assignment.id);
            if ids.is_empty() {
                self.by_service.remove(service);
            }
        }
    }

    pub(super) fn assignment(&self, cause: &Cause) -> Option<Arc<Assignment>> {
        let id = self.by_cause.get(cause)?;
        self.assignments.get(id).map(|users| Arc::clone(&users.assignment))
    }

    /// It is to become part of a bundle that is acquired next.
    pub(super) fn add(&mut self, cause: Cause, resource: Arc<Resource>) -> Arc<Assignment> {
        self.next += 1;
        let id = AssignmentId(self.next);
        self.by_cause.insert(cause.clone(), id);
        self.by_service.entry(cause.key.service.clone()).or_default().insert(id);
        let assignment = Arc::new(Assignment::new(id, cause, resource));
        let users = Users { assignment: Arc::clone(&assignment), bundles: BTreeSet::new() };
        self.assignments.insert(id, users);
        assignment
    }

    pub(super) fn of_service(&self, service: &ServiceKey) -> Vec<Arc<Assignment>> {
        let ids = self.by_service.get(service).into_iter().flatten();
        let users = ids.filter_map(|id| self.assignments.get(id));
        users.map(|users| Arc::clone(&users.assignment)).collect()
    }

    pub(super) fn users(&self, assignment: &Assignment) -> impl Iterator<Item = BundleId> + '_ {
        let users = self.assignments.get(&assignment.id);
        users.into_iter().flat_map(|users| users.bundles.iter().copied())
    }

    pub(super) fn proxies(&self, bundle: BundleId) -> Arc<BTreeSet<ProxyKey>> {
        self.bundles.get(&bundle).map(|used| Arc::clone(&used.proxies)).unwrap_or_default()
    }

    pub(super) fn n_bundles(&self) -> usize {
        self.bundles.len()
    }

    pub(super) fn n_assignments(&self) -> usize {
        self.assignments.len()
    }
}

fn hash(bundle: &Bundle) -> u64 {
    let mut hasher = FxHasher::default();
    bundle.addresses().for_each(|address| address.hash(&mut hasher));
    hasher.finish()
}
