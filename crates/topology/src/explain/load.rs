//! What zones' own endpoints would have to take if all traffic stayed in its zone.

use std::sync::Arc;

use evenkeel_model::{Endpoint, Selectable, ZoneId};
use rustc_hash::FxHashMap;

use super::Subject;

/// The endpoints of a zone under its own clients.
pub(super) struct ZoneLoad {
    pub zone: Arc<str>,
    pub endpoints: u32,
    /// The zone's part of the CPU over its part of the endpoints; `None` without endpoints.
    pub load: Option<f64>,
}

/// The load of each zone with capacity, by name; nothing while none is known or nothing is ready.
pub(super) fn loads(subject: &Subject<'_>) -> Vec<ZoneLoad> {
    let Ok(capacity) = &subject.capacity else {
        return Vec::new();
    };
    let mut ready = 0_u32;
    let mut own: FxHashMap<Option<ZoneId>, u32> = FxHashMap::default();
    for endpoint in ready_endpoints(subject) {
        ready += 1;
        *own.entry(endpoint.zone).or_default() += 1;
    }
    let zones = capacity.zones().iter().filter(|_| ready > 0);
    let load = |zone: &crate::capacity::ZoneCapacity| {
        let endpoints = own.get(&Some(zone.zone)).copied().unwrap_or(0);
        let load = zone.ratio * f64::from(ready) / f64::from(endpoints);
        let load = (endpoints > 0).then_some(load);
        ZoneLoad { zone: Arc::clone(&zone.name), endpoints, load }
    };
    zones.map(load).collect()
}

/// Ready endpoints of one family: where there are several, the same Pods are behind them.
fn ready_endpoints<'a>(subject: &Subject<'a>) -> Vec<&'a Endpoint> {
    let ready = |family| {
        let endpoints = subject.endpoints(family).into_iter();
        endpoints.filter(|e| e.ready()).collect()
    };
    let mut families = subject.families().into_iter().map(ready);
    families.find(|ready: &Vec<_>| !ready.is_empty()).unwrap_or_default()
}

/// Whether Auto would not let endpoints take so much.
pub(super) fn is_overload(subject: &Subject<'_>, load: f64) -> bool {
    load > 1.0 + subject.settings.assign_threshold
}

/// The zone that would be overloaded most, with its load.
pub(super) fn worst(subject: &Subject<'_>) -> Option<(Arc<str>, f64)> {
    let loads = loads(subject).into_iter().filter_map(|zone| Some((zone.zone, zone.load?)));
    let over = loads.filter(|(_, load)| is_overload(subject, *load));
    // Of equals the first by name.
    over.reduce(|worst, zone| if zone.1 > worst.1 { zone } else { worst })
}
