//! Counters of connections, by Service port and zone of the endpoint.

use core::net::IpAddr;
use std::{
    collections::BTreeMap,
    hash::{Hash as _, Hasher as _},
    sync::Arc,
};

use evenkeel_model::ZoneId;
use rustc_hash::{FxHashMap, FxHasher};

use super::{Pools, elements::Lanes};
use crate::{Data, Element, Frontend, PortName, PortSpec, SetId, Verb};

/// The kernel's limit is 255.
const LONGEST_NAME: usize = 200;

/// The counters that the endpoints of a frontend lead to.
pub(super) fn differ(
    spec: &PortSpec,
    zones: &FxHashMap<ZoneId, Arc<str>>,
    frontend: Frontend,
    lanes: Lanes<'_>,
    emit: &mut dyn FnMut(Verb, Element),
) {
    let zones_of = |pools: Option<&Pools>| -> BTreeMap<IpAddr, ZoneId> {
        let slots =
            pools.into_iter().flat_map(|pools| pools.cluster.slots().chain(pools.local.slots()));
        slots.map(|slot| (slot.member.backend.ip, slot.member.zone)).collect()
    };
    let (old, new) = (zones_of(lanes.old), zones_of(lanes.new));
    let gone = old.keys().filter(|ip| !new.contains_key(ip));
    for ip in gone.chain(new.keys()) {
        let (before, after) = (old.get(ip), new.get(ip));
        if before == after {
            continue;
        }
        let element = |zone: &ZoneId| {
            let zone = zones.get(zone).map_or("", |name| &**name);
            let data = Data::Counter(name(&spec.name, zone));
            let key = frontend.key().address(*ip);
            Element::new(frontend.family(), SetId::Counters(frontend.by()), key, data)
        };
        before.into_iter().for_each(|zone| emit(Verb::Delete, element(zone)));
        after.into_iter().for_each(|zone| emit(Verb::Add, element(zone)));
    }
}

/// As in `zone-1a2b3c4d-shop/web/http/zone-a`: letters that `nft` does not take become `_`, and the
/// hash tells names apart that are then the same.
pub(super) fn name(port: &PortName, zone: &str) -> Arc<str> {
    let PortName { service, port, protocol } = port;
    let mut hasher = FxHasher::default();
    (&*service.namespace, &*service.name, &**port, *protocol, zone).hash(&mut hasher);
    let hash = hasher.finish();
    let hash = (hash >> 32) as u32 ^ hash as u32;
    let shown = format!("{}/{}/{port}/{zone}", service.namespace, service.name);
    let plain = shown.chars().take(LONGEST_NAME).map(|letter| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '-' | '.' => letter,
        _ => '_',
    });
    format!("zone-{hash:08x}-{}", plain.collect::<String>()).into()
}
