//! Zone shares on slices: one table for each address family and set of ports, on one slice of them.
//!
//! On every slice, a Service of 5,000 endpoints would cost 50 writes for one change of shares, with old
//! and new tables side by side meanwhile. A slice that carries the table keeps it as long as it is
//! there, so that a new slice costs no write for the sake of its name; of several the first by name is
//! the carrier, and without one the first by name becomes it. The shell writes what adds before what
//! takes away, so that a new carrier is written before the old one goes. O(endpoints + slices · ports).

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{EndpointPort, SharesAnnotation, Slice, ZoneId, ZoneShares};

use crate::{Draft, Role, auto::ZoneCounts};

/// The slices of one set of ports, as their shares are decided.
pub(crate) struct Group<'a> {
    pub ports: Vec<EndpointPort>,
    /// Ready endpoints by zone; those without a zone count for [`ZoneId::EMPTY`].
    pub ready: ZoneCounts,
    pub in_force: Option<&'a Arc<ZoneShares>>,
    /// All slices of the group are written, whatever the shares are.
    pub written_anyway: bool,
    drafts: Vec<usize>,
}

/// The groups of the drafts, in the order of their ports. `existing`: slices as they are, of the same
/// family, in the order of their names.
pub(crate) fn groups<'a>(drafts: &[Draft<'_>], existing: &[&'a Slice]) -> Vec<Group<'a>> {
    let mut tables: BTreeMap<Vec<EndpointPort>, &'a Arc<ZoneShares>> = BTreeMap::new();
    for slice in existing {
        if let Some(table) = slice.shares.as_ref().and_then(SharesAnnotation::valid) {
            tables.entry(sorted(&slice.ports)).or_insert(table);
        }
    }
    let mut groups: BTreeMap<Vec<EndpointPort>, Group<'a>> = BTreeMap::new();
    for (index, draft) in drafts.iter().enumerate() {
        let ports = sorted(&draft.slice.ports);
        let group = groups.entry(ports).or_insert_with_key(|ports| Group {
            ports: ports.clone(),
            ready: ZoneCounts::default(),
            in_force: tables.get(ports).copied(),
            written_anyway: true,
            drafts: Vec::new(),
        });
        for endpoint in draft.slice.endpoints.iter().filter(|e| e.is_ready()) {
            group.ready.add(endpoint.zone.unwrap_or(ZoneId::EMPTY), 1);
        }
        group.written_anyway &= draft.role != Role::Unchanged;
        group.drafts.push(index);
    }
    groups.into_values().collect()
}

/// Puts the shares on one slice of the group and takes them off the others.
pub(crate) fn put(drafts: &mut [Draft<'_>], group: &Group<'_>, shares: Option<&Arc<ZoneShares>>) {
    let carrier = carrier(drafts, group);
    for &index in &group.drafts {
        let wanted = shares.filter(|_| carrier == Some(index));
        set(&mut drafts[index], wanted);
    }
}

/// Takes shares off all slices.
pub(crate) fn remove(drafts: &mut [Draft<'_>]) {
    drafts.iter_mut().for_each(|draft| set(draft, None));
}

fn carrier(drafts: &[Draft<'_>], group: &Group<'_>) -> Option<usize> {
    let rank = |&&index: &&usize| {
        let Draft { role, slice } = &drafts[index];
        let carries = slice.shares.as_ref().is_some_and(|shares| shares.valid().is_some());
        // New slices have no name yet.
        (!carries, *role == Role::Create, Arc::clone(&slice.name))
    };
    group.drafts.iter().min_by_key(rank).copied()
}

fn set(draft: &mut Draft<'_>, wanted: Option<&Arc<ZoneShares>>) {
    let is_set = match (&draft.slice.shares, wanted) {
        (None, None) => true,
        (Some(SharesAnnotation::Valid(has)), Some(wanted)) => has == wanted,
        _ => false,
    };
    if !is_set {
        draft.change();
        draft.slice.to_mut().shares = wanted.cloned().map(SharesAnnotation::Valid);
    }
}

fn sorted(ports: &[EndpointPort]) -> Vec<EndpointPort> {
    let mut ports = ports.to_vec();
    ports.sort_unstable();
    ports
}
