//! One look at one Service: what is to be written, and what is to be told.
//!
//! Writes go in phases, each when the one before is answered: (1) new slices and updates that only
//! add, (2) updates that also take away, (3) deletes, (4) conditions. So an endpoint that goes from
//! one slice to another is never missing, and conditions tell of what was done.

mod after;
mod events;
mod handed_back;

use std::{sync::Arc, time::Duration};

use evenkeel_model::{Endpoint, Hints, Pod, SeenService, Service, ServiceId, ServiceKey, Slice};
use evenkeel_topology::{
    Capacity, Demand, NoHints, Plan, Policy,
    overload::AutoServices,
    plan::{self, FamilyPlan, HintOutcome},
    policy,
    region::Expressed,
    threshold::{for_service, overload_threshold},
};
use rustc_hash::{FxHashMap, FxHashSet};

use self::{
    after::After,
    events::{events, left_out},
};
use super::{
    Action, Report, Scope, ServiceEvent, Settings, SyncResult,
    cache::{Cache, Manager, ServiceEntry, Slot, Sums},
    conditions::{self, ServiceState},
    names::Names,
    ownership::{self, Ownership},
    reports::Shown,
};

/// From this size on a Service is left alone for a while after each sync, in proportion to its size,
/// so that planning it takes at most about a tenth of the time.
const LARGE: usize = 1000;
const REST_PER_POD: Duration = Duration::from_micros(10);

/// What a sync has to do.
#[derive(Debug)]
pub(super) struct SyncWork {
    /// One after the other; the actions of one at the same time.
    pub(super) phases: Vec<Vec<Action>>,
    /// Deletes that come after the plan's writes.
    leftovers: Vec<Action>,
    pub(super) why: Arc<[FamilyPlan]>,
    pub(super) events: Vec<ServiceEvent>,
    pub(super) report: Report,
    /// What was done is only the first half: the Service is to be looked at again.
    pub(super) again: bool,
    pub(super) rest: Duration,
}

/// What a sync is made from, besides the cache.
#[derive(Debug)]
pub(super) struct SyncContext<'a> {
    pub(super) capacity: Result<&'a Capacity, &'a NoHints>,
    pub(super) demand: &'a Demand,
    pub(super) settings: &'a Settings,
    /// Whether nodes have the Service in force, as far as it is known.
    pub(super) honored: Option<Shown>,
}

pub(super) fn begin(
    cache: &mut Cache,
    auto_services: &mut AutoServices,
    id: ServiceId,
    context: &SyncContext<'_>,
) -> Option<SyncWork> {
    let slot = cache.slots.get(id)?;
    let entry = slot.service.as_ref()?;
    let key = &entry.seen.service.key;
    let mut work = SyncWork::new(key.clone());
    if !slot.doubts.is_empty() {
        let reads = slot.doubts.keys().map(|name| Action::Read { name: Arc::clone(name) });
        work.phases.push(reads.collect());
        work.again = true;
        return Some(work);
    }
    if !is_ours(&entry.seen, context.settings.scope) {
        auto_services.forget(key);
        let stale = work.opt_out(cache, slot, entry, context.settings);
        cache.slots.get_mut(id)?.sums = Sums { stale, ..Sums::default() };
        return Some(work);
    }
    let ours = &context.settings.topology.controller_name;
    match ownership::decide(cache, slot, entry, context.settings) {
        Ownership::Ours => {}
        Ownership::Replace(names) => {
            work.leftovers = names.iter().map(|name| delete(slot, name)).collect();
        }
        Ownership::Adopt(names) => {
            work.phases.push(names.iter().map(|name| relabel(slot, name, ours)).collect());
            work.again = true;
            return Some(work);
        }
        Ownership::Withdraw { recorded, covered } => {
            auto_services.forget(key);
            work.withdraw(slot, entry, recorded, &covered, context.settings);
            let sums = Sums { withdrawn: true, ..Sums::default() };
            cache.slots.get_mut(id)?.sums = sums;
            return Some(work);
        }
    }
    if let Some(problem) = &entry.seen.problem {
        auto_services.forget(key);
        work.report.result = SyncResult::Error;
        work.report.problem = Some(problem.to_string());
        work.then(conditions(&entry.seen, Some(&ServiceState::Invalid(problem)), context.settings));
        return Some(work);
    }
    planned(cache, auto_services, id, context, &mut work)?;
    Some(work)
}

/// Whether slices of the Service are for us to write.
pub(super) fn is_ours(seen: &SeenService, scope: Scope) -> bool {
    let service = &seen.service;
    let chosen = match scope {
        Scope::All => true,
        Scope::Annotated => service.opted_in,
    };
    chosen && !service.external_name && (service.selector.is_some() || seen.problem.is_some())
}

fn planned(
    cache: &mut Cache,
    auto_services: &mut AutoServices,
    id: ServiceId,
    context: &SyncContext<'_>,
    work: &mut SyncWork,
) -> Option<()> {
    let slot = cache.slots.get_mut(id)?;
    let mut triggers = std::mem::take(&mut slot.triggers);
    let mut told = std::mem::take(&mut slot.told);
    let slot = cache.slots.get(id)?;
    let entry = slot.service.as_ref()?;
    let pods = cache.pods_of(entry);
    let mut plan = plan(cache, slot, entry, &pods, auto_services, context);
    // Kubernetes' way of sharing out anew may come to what is there already.
    let is_there = |slice: &Slice| slot.slices[&slice.name].slice == *slice;
    let same = plan.update.extract_if(.., |slice| is_there(slice)).map(|slice| slice.name);
    plan.unchanged.extend(same);
    let requested = policy::requested(&entry.seen.service, context.settings.topology.gates);
    work.report.policy = requested.policy;
    work.report.traffic_distribution = known_distribution(&entry.seen);
    work.report.without_node = plan.without_node.len();
    if pods.len() >= LARGE {
        work.rest = REST_PER_POD * u32::try_from(pods.len()).unwrap_or(u32::MAX);
    }
    // At every sync, as Kubernetes does: what this one has seen triggers none of the next.
    let trigger = triggers.advance(entry.seen.created, &pods);
    let after = After::of(&plan, slot, context.settings.topology.max_endpoints_per_slice);
    note(auto_services, &entry.seen.service, &plan, &after, &context.settings.topology);
    let waiting = plan.without_node.clone();
    if slot.without_node.as_ref().is_some_and(|before| *before != waiting) {
        work.events.extend(left_out(&cache.topology, &entry.seen, &waiting, &pods));
    }
    // Zone shares hold for endpoints without hints too.
    let needs_hints = requested.policy != Policy::None && !shares_decide(&plan);
    let threshold = overload_threshold(&entry.seen.service);
    let state = ServiceState::Planned {
        requested: &requested,
        families: &plan.families,
        ready: after.ready.values().sum(),
        unhinted: if needs_hints { after.unhinted } else { 0 },
        foreign: foreign(slot, &context.settings.topology.controller_name).filter(|_| needs_hints),
        threshold: threshold.as_ref().and_then(|threshold| threshold.as_ref().err()),
        altered: after.altered.as_ref(),
        honored: context.honored.as_ref(),
    };
    let conditions = conditions(&entry.seen, Some(&state), context.settings);
    // Before the first word of this process: what the status says already is no news.
    let is_known = told.is_empty() && conditions.is_none() && context.settings.conditions;
    work.events.extend(events(&entry.seen, &plan, &mut told, is_known));
    work.count(&plan, slot);
    work.report.hints_reason = conditions::hints_reason(&requested, &plan.families);
    work.write(slot, entry, plan, trigger);
    work.then(conditions);
    let slot = cache.slots.get_mut(id)?;
    (slot.triggers, slot.told, slot.sums) = (triggers, told, after.sums);
    slot.without_node = Some(waiting);
    Some(())
}

fn plan(
    cache: &Cache,
    slot: &Slot,
    entry: &ServiceEntry,
    pods: &[(&Pod, Option<i64>)],
    auto_services: &AutoServices,
    context: &SyncContext<'_>,
) -> Plan {
    let settings = &context.settings.topology;
    let pods: Vec<&Pod> = pods.iter().map(|(pod, _)| *pod).collect();
    let ours = |e: &&super::cache::SliceEntry| {
        !e.deleting && e.manager(&settings.controller_name) == Manager::Ours
    };
    let existing: Vec<&Slice> = slot.slices.values().filter(ours).map(|e| &e.slice).collect();
    plan::plan(&plan::Sync {
        service: &entry.seen.service,
        pods: &pods,
        nodes: &cache.nodes,
        capacity: context.capacity,
        demand: context.demand,
        existing: &existing,
        populated: auto_services.is_populated(&entry.seen.service.key),
        settings,
    })
}

/// Notes in the auto_services how hints came out, for when nodes change.
fn note(
    auto_services: &mut AutoServices,
    service: &Service,
    plan: &Plan,
    after: &After,
    settings: &evenkeel_topology::Settings,
) {
    let own = for_service(settings, service);
    let own = Some(&*own).filter(|own| *own != settings);
    auto_services.retain(&service.key, &service.families);
    for FamilyPlan { family, hints, .. } in &plan.families {
        let ready = after.ready.get(family).copied().unwrap_or_default();
        let ready = u32::try_from(ready).unwrap_or(u32::MAX);
        auto_services.note(&service.key, *family, hints, ready, own);
    }
}

/// Consumers go by zone shares, in every family.
fn shares_decide(plan: &Plan) -> bool {
    plan.families.iter().all(|family| match &family.hints {
        HintOutcome::Balanced { .. } => true,
        HintOutcome::Region { expressed, .. } => *expressed != Expressed::ByHints,
        _ => false,
    })
}

/// A slice of somebody else's with ready endpoints that carry no hint: with it consumers use all.
fn foreign<'a>(slot: &'a Slot, ours: &str) -> Option<&'a Arc<str>> {
    let unhinted = |slice: &&'a Slice| {
        slice
            .endpoints
            .iter()
            .any(|e| e.conditions.ready != Some(false) && e.zone_hints().is_empty())
    };
    let is_other = |e: &&super::cache::SliceEntry| {
        !e.deleting && matches!(e.manager(ours), Manager::Mirroring | Manager::Other)
    };
    let others = slot.slices.values().filter(is_other);
    others.map(|e| &e.slice).find(unhinted).map(|slice| &slice.name)
}

fn known_distribution(seen: &SeenService) -> Option<Arc<str>> {
    let value = seen.service.traffic_distribution.as_ref()?;
    let known = matches!(&**value, "PreferClose" | "PreferSameZone" | "PreferSameNode");
    known.then(|| Arc::clone(value))
}

fn relabel(slot: &Slot, name: &Arc<str>, manager: &Arc<str>) -> Action {
    let version = slot.slices[name].version.clone();
    Action::Relabel { name: Arc::clone(name), version, manager: Arc::clone(manager) }
}

fn delete(slot: &Slot, name: &Arc<str>) -> Action {
    Action::Delete { name: Arc::clone(name), version: slot.slices[name].version.clone() }
}

// === impl SyncWork ===

impl SyncWork {
    fn new(service: ServiceKey) -> SyncWork {
        SyncWork {
            phases: Vec::new(),
            leftovers: Vec::new(),
            why: Arc::default(),
            events: Vec::new(),
            report: Report {
                service,
                result: SyncResult::Success,
                problem: None,
                policy: Policy::None,
                traffic_distribution: None,
                endpoints_added: 0,
                endpoints_removed: 0,
                slices_created: 0,
                slices_updated: 0,
                slices_deleted: 0,
                without_node: 0,
                altered: None,
                hints_changed: 0,
                shares_changed: 0,
                writes_for_shares: 0,
                hints_reason: String::new(),
                took: Duration::ZERO,
                retry_in: None,
            },
            again: false,
            rest: Duration::ZERO,
        }
    }

    /// Another phase, unless it is empty.
    fn then(&mut self, actions: impl IntoIterator<Item = Action>) {
        let actions: Vec<Action> = actions.into_iter().collect();
        if !actions.is_empty() {
            self.phases.push(actions);
        }
    }

    /// The plan's writes: first what adds, last what takes away.
    fn write(&mut self, slot: &Slot, entry: &ServiceEntry, plan: Plan, trigger: Option<i64>) {
        let mut names = Names::default();
        let mut adding = Vec::new();
        let mut mixed = Vec::new();
        for mut slice in plan.create {
            slice.name = names.name(&entry.seen.service, &slice, |name| slot.is_taken(name));
            adding.push(Action::Create { slice, trigger });
        }
        for slice in plan.update {
            let old = &slot.slices[&slice.name];
            let gone = old.slice.labels.keys().filter(|key| !slice.labels.contains_key(*key));
            let gone = gone.cloned().collect();
            let version = old.version.clone();
            let phase = if lacks(&old.slice, &slice) == 0 { &mut adding } else { &mut mixed };
            phase.push(Action::Update { slice, version, gone, trigger });
        }
        self.then(adding);
        self.then(mixed);
        let leftovers = std::mem::take(&mut self.leftovers);
        self.then(plan.delete.iter().map(|name| delete(slot, name)).chain(leftovers));
        self.why = plan.families.into();
    }

    fn count(&mut self, plan: &Plan, slot: &Slot) {
        let report = &mut self.report;
        report.slices_created = plan.create.len();
        report.slices_updated = plan.update.len();
        report.slices_deleted = plan.delete.len() + self.leftovers.len();
        report.endpoints_added = plan.create.iter().map(|slice| slice.endpoints.len()).sum();
        let gone = plan.delete.iter().map(|name| slot.slices[name].slice.endpoints.len());
        report.endpoints_removed = gone.sum();
        for slice in &plan.update {
            let old = &slot.slices[&slice.name].slice;
            report.endpoints_added += lacks(slice, old);
            report.endpoints_removed += lacks(old, slice);
            report.hints_changed += hints_changed(old, slice);
            if old.shares != slice.shares {
                report.shares_changed += 1;
                report.writes_for_shares += usize::from(is_alike_without_shares(old, slice));
            }
        }
        report.shares_changed += plan.create.iter().filter(|slice| slice.shares.is_some()).count();
        let new = plan.create.iter().flat_map(|slice| &slice.endpoints);
        report.hints_changed += new.filter(|e| e.hints.is_some()).count();
    }
}

/// How many endpoints of a slice have other hints than they had, or are new and have some.
fn hints_changed(old: &Slice, new: &Slice) -> usize {
    let hints = |e: &Endpoint| e.hints.clone().filter(|hints| *hints != Hints::default());
    let before: FxHashMap<_, _> =
        old.endpoints.iter().filter_map(|e| Some((e.address()?, hints(e)))).collect();
    let is_changed = |e: &&Endpoint| {
        let before = e.address().and_then(|address| before.get(address)).cloned().flatten();
        before != hints(e)
    };
    new.endpoints.iter().filter(is_changed).count()
}

fn is_alike_without_shares(a: &Slice, b: &Slice) -> bool {
    let Slice { name, address_type, ports, endpoints, owner, labels, shares: _ } = a;
    (name, address_type, ports, endpoints) == (&b.name, &b.address_type, &b.ports, &b.endpoints)
        && (owner, labels) == (&b.owner, &b.labels)
}

/// How many addresses of a slice the other lacks.
fn lacks(of: &Slice, other: &Slice) -> usize {
    let there: FxHashSet<_> = other.endpoints.iter().filter_map(|e| e.address()).collect();
    let addresses = of.endpoints.iter().filter_map(|e| e.address());
    addresses.filter(|address| !there.contains(address)).count()
}

/// The last write of a sync: the conditions of the Service.
fn conditions(
    seen: &SeenService,
    state: Option<&ServiceState<'_>>,
    settings: &Settings,
) -> Option<Action> {
    if seen.service.deleting {
        return None;
    }
    let state = state.filter(|_| settings.conditions);
    let wanted = state.map(|state| conditions::wanted(state, settings.scope));
    let is_sole = settings.conditions && settings.scope == Scope::All;
    let change = conditions::change(seen, wanted.unwrap_or_default(), is_sole);
    if change.is_empty() {
        return None;
    }
    let conditions::Change { set, remove } = change;
    Some(Action::Conditions { uid: Arc::clone(&seen.version.uid), set, remove })
}
