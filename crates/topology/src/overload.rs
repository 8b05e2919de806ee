//! Which Services a node change concerns.
//!
//! Source: KEP-2433, "Handling Node Updates": slices are looked at again only when a change carries
//! a Service over a threshold: (1) hints in force overload a zone; (2) hints become possible for
//! the first time (ours; today's Kubernetes leaves such a Service alone until it is next synced).
//! O(Services · zones); callers skip it while [`Capacity`] compares equal.

use std::collections::BTreeMap;

use evenkeel_model::{AddressType, ServiceKey};

use crate::{
    Capacity, NoHints, Settings,
    auto::{ZoneCounts, bounds, bounds::minimum},
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
}

/// The Services under policy Auto, with the outcome of their hints.
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
    /// Hints were given.
    pub fn hinted(&mut self, service: &ServiceKey, family: AddressType, counts: ZoneCounts) {
        let entry = self.services.entry(service.clone()).or_default();
        entry.families.insert(family, AutoState::Hinted(counts));
        entry.populated = true;
    }

    /// Hints were requested and could not be assigned.
    pub fn refused(&mut self, service: &ServiceKey, family: AddressType, endpoints: u32) {
        let entry = self.services.entry(service.clone()).or_default();
        entry.families.insert(family, AutoState::Refused { endpoints });
        entry.populated = false;
    }

    /// Hints are no longer requested.
    pub fn removed(&mut self, service: &ServiceKey, family: AddressType) {
        if let Some(entry) = self.services.get_mut(service) {
            entry.families.remove(&family);
            entry.populated = false;
            if entry.families.is_empty() {
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
        let why = move |capacity: Result<&Capacity, &NoHints>, endpoints| {
            let capacity = capacity.map_err(NoHints::clone)?;
            bounds(capacity, endpoints, settings.assign_threshold).map(drop)
        };
        let is_otherwise = move |state: &AutoState| match state {
            AutoState::Refused { endpoints } => why(before, *endpoints) != why(after, *endpoints),
            AutoState::Hinted(_) => false,
        };
        let services = self.services.iter();
        let otherwise = move |entry: &Entry| entry.families.values().any(is_otherwise);
        services.filter(move |(_, entry)| otherwise(entry)).map(|(key, _)| key)
    }

    /// The Services to resync after nodes changed, in the order of their names.
    pub fn resync(
        &self,
        capacity: Option<&Capacity>,
        settings: &Settings,
    ) -> Vec<(&ServiceKey, Resync)> {
        let due = |entry: &Entry| {
            let of = |f: &AutoState| resync_family(f, capacity, settings);
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
    settings: &Settings,
) -> Option<Resync> {
    match (state, capacity) {
        (AutoState::Hinted(counts), _) => {
            is_overloaded(counts, capacity, settings.keep_threshold).then_some(Resync::Overloaded)
        }
        (AutoState::Refused { endpoints }, Some(capacity)) if settings.resync_when_possible => {
            let possible = bounds(capacity, *endpoints, settings.assign_threshold).is_ok();
            possible.then_some(Resync::NowPossible)
        }
        (AutoState::Refused { .. }, _) => None,
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
