//! Which Services a node change concerns.
//!
//! Source: KEP-2433, "Handling Node Updates": slices are looked at again only when a change carries
//! a Service over a threshold: (1) hints in force overload a zone; (2) hints become possible for
//! the first time (ours; today's Kubernetes leaves such a Service alone until it is next synced).
//! (3) zone shares in force no longer do (ours: policy Balanced); (4) zones came, went or changed
//! their region (ours: policies that look at regions). O(Services · zones), under Balanced
//! O(Services · zones²); callers skip it while [`Capacity`] and [`Demand`] compare equal.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{AddressType, RegionId, ServiceKey, ZoneId, ZoneShares};

use crate::{
    Capacity, Demand, NoHints, Settings,
    auto::{ZoneCounts, bounds, bounds::minimum},
    balanced::{self, Tuning},
    plan::{GroupShares, HintOutcome},
};

/// The outcome for one address family of a Service under policy Auto.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AutoState {
    Hinted(ZoneCounts),
    /// No hints so far, with this many ready endpoints.
    Refused {
        endpoints: u32,
    },
}

#[derive(Clone, Debug, Default)]
struct Entry {
    families: BTreeMap<AddressType, AutoState>,
    /// Hints were given and not taken back since, in any family. Events hang on it.
    populated: bool,
    /// Zone shares of policy Balanced.
    shares: BTreeMap<AddressType, Vec<Shares>>,
    /// Hints or zone shares depend on which zones are in which region.
    regional: bool,
    /// Where the Service has thresholds of its own.
    own: Option<Box<Own>>,
}

/// The ready endpoints of one set of ports, and their zone shares.
#[derive(Clone, Debug)]
struct Shares {
    ready: ZoneCounts,
    table: Option<Arc<ZoneShares>>,
}

/// Thresholds of one Service.
#[derive(Clone, Copy, Debug)]
struct Own {
    assign: f64,
    keep: f64,
    tuning: Tuning,
}

/// The Services whose hints or zone shares depend on nodes, with their outcome.
#[derive(Clone, Debug, Default)]
pub struct AutoServices {
    services: BTreeMap<ServiceKey, Entry>,
}

/// Why a Service needs a resync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resync {
    Overloaded,
    NowPossible,
}

// === impl AutoServices ===

impl AutoServices {
    /// How a family came out in a plan, with this many ready endpoints. `settings` are those of the
    /// controller; thresholds of the Service's own are in `own`.
    pub fn note(
        &mut self,
        service: &ServiceKey,
        family: AddressType,
        outcome: &HintOutcome,
        ready: u32,
        own: Option<&Settings>,
    ) {
        match outcome {
            HintOutcome::Auto(counts) => self.hinted(service, family, counts.clone()),
            HintOutcome::AutoRefused(_) => self.refused(service, family, ready),
            HintOutcome::Balanced { hints, groups } => {
                self.balanced(service, family, hints.as_ref().ok(), ready, groups);
            }
            HintOutcome::Region { .. } => {
                self.removed(service, family);
                self.services.entry(service.clone()).or_default().regional = true;
            }
            HintOutcome::NotRequested | HintOutcome::OwnZone | HintOutcome::OwnNode => {
                self.removed(service, family);
            }
        }
        if let Some(entry) = self.services.get_mut(service) {
            entry.regional = matches!(outcome, HintOutcome::Region { .. });
            entry.own = own.map(|own| Box::new(Own::from(own)));
            if entry.families.is_empty() && !entry.regional {
                self.services.remove(service);
            }
        }
    }

    /// The Service has these families, and no others.
    pub fn retain(&mut self, service: &ServiceKey, families: &[AddressType]) {
        let Some(entry) = self.services.get_mut(service) else { return };
        entry.families.retain(|family, _| families.contains(family));
        entry.shares.retain(|family, _| families.contains(family));
        if entry.families.is_empty() && !entry.regional {
            self.services.remove(service);
        }
    }

    fn balanced(
        &mut self,
        service: &ServiceKey,
        family: AddressType,
        hints: Option<&ZoneCounts>,
        ready: u32,
        groups: &[GroupShares],
    ) {
        let entry = self.services.entry(service.clone()).or_default();
        let state = match hints {
            Some(counts) => AutoState::Hinted(counts.clone()),
            None => AutoState::Refused { endpoints: ready },
        };
        entry.families.insert(family, state);
        // Events about Auto's hints are for Services that request Auto.
        entry.populated = false;
        let shares = |group: &GroupShares| Shares {
            ready: group.ready.clone(),
            table: group.shares.clone().ok(),
        };
        entry.shares.insert(family, groups.iter().map(shares).collect());
    }

    /// The Services whose zone shares or regional hints are to be planned again after demand changed,
    /// in the order of their names.
    pub fn reshared(
        &self,
        before: &Demand,
        after: &Demand,
        settings: &Settings,
    ) -> Vec<&ServiceKey> {
        let regions_changed = regions(before) != regions(after);
        let tuning = settings.tuning();
        let due = |entry: &Entry| {
            let tuning = entry.own.as_ref().map_or(&tuning, |own| &own.tuning);
            let mut groups = entry.shares.values().flatten();
            (entry.regional && regions_changed)
                || groups.any(|group| !group.may_stay(after, tuning))
        };
        self.services.iter().filter(|(_, entry)| due(entry)).map(|(key, _)| key).collect()
    }

    /// Hints were given.
    pub fn hinted(&mut self, service: &ServiceKey, family: AddressType, counts: ZoneCounts) {
        let entry = self.services.entry(service.clone()).or_default();
        entry.families.insert(family, AutoState::Hinted(counts));
        entry.shares.remove(&family);
        entry.populated = true;
    }

    /// Hints were requested and could not be assigned.
    pub fn refused(&mut self, service: &ServiceKey, family: AddressType, endpoints: u32) {
        let entry = self.services.entry(service.clone()).or_default();
        entry.families.insert(family, AutoState::Refused { endpoints });
        entry.shares.remove(&family);
        entry.populated = false;
    }

    /// Hints are no longer requested.
    pub fn removed(&mut self, service: &ServiceKey, family: AddressType) {
        if let Some(entry) = self.services.get_mut(service) {
            entry.families.remove(&family);
            entry.shares.remove(&family);
            entry.populated = false;
            if entry.families.is_empty() && !entry.regional {
                self.services.remove(service);
            }
        }
    }

    /// The Service is gone, or not for us to hint.
    pub fn forget(&mut self, service: &ServiceKey) {
        self.services.remove(service);
    }

    /// Whether hints were given for the Service and not taken back since.
    pub fn is_populated(&self, service: &ServiceKey) -> bool {
        self.services.get(service).is_some_and(|e| e.populated)
    }

    /// The Services that have no hints still, but for another reason than before.
    pub fn refused_otherwise<'a>(
        &'a self,
        before: Result<&'a Capacity, &'a NoHints>,
        after: Result<&'a Capacity, &'a NoHints>,
        settings: &'a Settings,
    ) -> impl Iterator<Item = &'a ServiceKey> {
        let why = move |capacity: Result<&Capacity, &NoHints>, endpoints, threshold| {
            let capacity = capacity.map_err(NoHints::clone)?;
            bounds(capacity, endpoints, threshold).map(drop)
        };
        let otherwise = move |entry: &Entry| {
            let (assign, _) = entry.thresholds(settings);
            entry.families.values().any(|state| match state {
                AutoState::Refused { endpoints } => {
                    why(before, *endpoints, assign) != why(after, *endpoints, assign)
                }
                AutoState::Hinted(_) => false,
            })
        };
        let services = self.services.iter();
        services.filter(move |(_, entry)| otherwise(entry)).map(|(key, _)| key)
    }

    /// The Services to resync after nodes changed, in the order of their names.
    pub fn resync(
        &self,
        capacity: Option<&Capacity>,
        settings: &Settings,
    ) -> Vec<(&ServiceKey, Resync)> {
        let due = |entry: &Entry| {
            let thresholds = entry.thresholds(settings);
            let of = |f: &AutoState| resync_family(f, capacity, thresholds, settings);
            let mut all = entry.families.values().filter_map(of);
            let first = all.next()?;
            Some(if all.any(|r| r == Resync::Overloaded) { Resync::Overloaded } else { first })
        };
        let services = self.services.iter();
        services.filter_map(|(key, entry)| Some((key, due(entry)?))).collect()
    }
}

fn resync_family(
    state: &AutoState,
    capacity: Option<&Capacity>,
    (assign, keep): (f64, f64),
    settings: &Settings,
) -> Option<Resync> {
    match (state, capacity) {
        (AutoState::Hinted(counts), _) => {
            is_overloaded(counts, capacity, keep).then_some(Resync::Overloaded)
        }
        (AutoState::Refused { endpoints }, Some(capacity)) if settings.resync_when_possible => {
            let possible = bounds(capacity, *endpoints, assign).is_ok();
            possible.then_some(Resync::NowPossible)
        }
        (AutoState::Refused { .. }, _) => None,
    }
}

fn regions(demand: &Demand) -> impl PartialEq + use<> {
    let zones = demand.zones().iter();
    zones.map(|zone| (zone.zone, zone.region)).collect::<Vec<(ZoneId, RegionId)>>()
}

// === impl Entry, Shares, Own ===

impl Entry {
    /// The assign threshold and the keep threshold.
    fn thresholds(&self, settings: &Settings) -> (f64, f64) {
        let own = self.own.as_ref().map(|own| (own.assign, own.keep));
        own.unwrap_or((settings.assign_threshold, settings.keep_threshold))
    }
}

impl Shares {
    /// The table in force still does, or none is needed still.
    fn may_stay(&self, demand: &Demand, tuning: &Tuning) -> bool {
        let decision = balanced::decide(demand, &self.ready, self.table.as_deref(), false, tuning);
        decision.shares.as_ref() == self.table.as_deref()
    }
}

impl From<&Settings> for Own {
    fn from(settings: &Settings) -> Own {
        let Settings { assign_threshold: assign, keep_threshold: keep, .. } = *settings;
        Own { assign, keep, tuning: settings.tuning() }
    }
}

/// Whether some zone has fewer hinted endpoints than it needs. Without capacity every Service with
/// hints counts as overloaded, so that its hints are taken off.
pub fn is_overloaded(counts: &ZoneCounts, capacity: Option<&Capacity>, threshold: f64) -> bool {
    if counts.is_empty() {
        return false;
    }
    let Some(capacity) = capacity else {
        return true;
    };
    let total = f64::from(counts.total());
    capacity.zones().iter().any(|zone| match counts.get(zone.zone) {
        Some(count) => count < minimum(total * zone.ratio, threshold),
        None => true,
    })
}
