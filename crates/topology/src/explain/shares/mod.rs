//! Zone shares of one address family: the tables in force against the desired ones, and what they do to
//! the traffic.

mod state;
mod traffic;

use std::sync::Arc;

use evenkeel_model::{
    AddressType, Candidate, EndpointPort, Routing, Selectable, Slice, WithMessage, ZoneId,
    ZoneShares,
};
use rustc_hash::FxHashSet;
use serde::Serialize;

pub use self::{
    state::SharesState,
    traffic::{Adoption, TrafficFigures},
};
use self::{
    traffic::Traffic,
    traffic::Way::{self, Aware, Unaware},
};
use super::Subject;
use crate::{
    Policy, Profile, SharesIgnored,
    balanced::{self, LeavingRow, PartReason},
    consumer::merge,
    demand::ZoneDemand,
    plan::{GroupShares, NoShares},
    routing, shares_ignored, threshold,
};

/// The zone shares of one set of ports.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharesView {
    /// The names of the ports; empty when all are alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Arc<str>>,
    pub state: WithMessage<SharesState>,
    /// One row for each client zone.
    pub rows: Vec<ShareRow>,
    /// What happens now, by the rules that route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<TrafficFigures>,
    /// What the table in force does where all nodes apply it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_force: Option<TrafficFigures>,
    /// What the best table would do. It may differ from the desired one: a table in force that is close
    /// to the best is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<TrafficFigures>,
    /// The worst case while some nodes apply the table and others follow hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adoption: Option<Adoption>,
}

/// Where the clients of one zone send their traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShareRow {
    pub client_zone: Arc<str>,
    /// The part of the Service's traffic that they are expected to send.
    pub demand: f64,
    /// What the annotation says; `None` if nothing that can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_force: Option<Vec<SharePart>>,
    /// What the annotation should say; `None` if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<Vec<SharePart>>,
    /// Where the traffic goes now, by the rules that route.
    pub now: Vec<TrafficPart>,
    /// Why clients of the zone don't go by zone shares even where their nodes apply them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<WithMessage<SharesIgnored>>,
}

/// A part of a row: the own zone first, then from the largest to the smallest.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SharePart {
    /// The zone of the endpoints; empty for those without a zone.
    pub zone: Arc<str>,
    /// In parts per 1,000.
    pub part: u16,
    /// The zone has no ready endpoint now: the other zones of the row get its part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub passed_on: bool,
    /// Why the part leaves its zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<WithMessage<PartReason>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficPart {
    pub zone: Arc<str>,
    pub share: f64,
}

/// What the rows of one group are made from.
struct Group<'a> {
    subject: &'a Subject<'a>,
    desired: &'a GroupShares,
    /// The zones that have ready endpoints now.
    ready: FxHashSet<ZoneId>,
    routing: Routing<'a>,
    why: Vec<LeavingRow>,
    traffic: Option<&'a Traffic<'a>>,
    way: Way,
}

/// The zone shares of a family that the policy writes, one view for each set of ports.
pub(super) fn views(
    subject: &Subject<'_>,
    family: AddressType,
    groups: &[GroupShares],
) -> Vec<SharesView> {
    let view = |group| view(subject, family, group, groups.len() > 1);
    groups.iter().map(view).collect()
}

fn view(
    subject: &Subject<'_>,
    family: AddressType,
    desired: &GroupShares,
    several: bool,
) -> SharesView {
    let of_group =
        |s: &&Slice| s.address_type == family && sorted(&s.ports) == sorted(&desired.ports);
    let slices: Vec<&Slice> = subject.state.slices.iter().filter(of_group).collect();
    let merged = merge(&slices, |slice| slice.ports.first()?.port);
    let candidates: Vec<Candidate> =
        merged.iter().map(|place| Candidate::from(place.endpoint)).collect();
    let routing = routing(&subject.state.service, slices.iter().copied(), subject.settings);
    let in_force = table(routing);
    // A table that is still to come can be rolled out unevenly too.
    let usable = in_force.or(desired.table());
    let traffic = Traffic::new(subject, &candidates, usable);
    let figures = |way| traffic.as_ref().map(|traffic| traffic.figures(way));
    let way = match subject.routing {
        Profile::Evenkeel if in_force.is_some() => Aware,
        _ => Unaware,
    };
    let group = Group {
        subject,
        desired,
        ready: candidates.iter().filter(|c| c.ready()).map(Selectable::zone).collect(),
        routing,
        why: why(subject, desired),
        traffic: traffic.as_ref(),
        way,
    };
    let names = desired.ports.iter().map(|port| Arc::clone(&port.name));
    SharesView {
        ports: names.filter(|_| several).collect(),
        state: group.state().into(),
        rows: subject.demand.zones().iter().map(|client| group.row(client)).collect(),
        now: figures(way),
        in_force: in_force.and_then(|_| figures(Aware)),
        best: best(subject, desired),
        adoption: usable.and_then(|_| Some(traffic.as_ref()?.worst_adoption())),
    }
}

fn sorted(ports: &[EndpointPort]) -> Vec<&EndpointPort> {
    let mut ports: Vec<&EndpointPort> = ports.iter().collect();
    ports.sort_unstable();
    ports
}

fn table(routing: Routing<'_>) -> Option<&ZoneShares> {
    match routing {
        Routing::Shares(table) => Some(table),
        _ => None,
    }
}

/// Why parts of the desired table leave their zone. Policies that look at regions need no reason.
fn why(subject: &Subject<'_>, desired: &GroupShares) -> Vec<LeavingRow> {
    match desired.table() {
        Some(shares) if subject.requested.policy == Policy::Balanced => {
            let settings = threshold::for_service(subject.settings, &subject.state.service);
            balanced::why(shares, subject.demand, &desired.ready, settings.allowance)
        }
        _ => Vec::new(),
    }
}

fn best(subject: &Subject<'_>, desired: &GroupShares) -> Option<TrafficFigures> {
    let shares = desired.table()?;
    let figures = match &desired.decision {
        Some(decision) => decision.best,
        None => balanced::figures(shares, subject.demand, &desired.ready),
    };
    Some(TrafficFigures {
        in_zone_share: figures.in_zone,
        max_load: figures.worst,
        max_load_zone: Arc::clone(subject.snapshot.topology.zones.name(figures.worst_zone?)),
    })
}

// === impl Group ===

impl Group<'_> {
    fn state(&self) -> SharesState {
        if let Some(manager) = self.subject.other_manager() {
            return SharesState::SharesNotWritten { manager };
        }
        if let Err(why @ (NoShares::NoZones | NoShares::TableTooLong { .. })) = &self.desired.shares
        {
            return SharesState::SharesNotPossible { why: why.clone() };
        }
        let desired = self.desired.table();
        let zone = self.subject.demand.zones().first().map(|zone| zone.zone);
        let ignored = shares_ignored(self.routing, zone, &self.subject.snapshot.topology.zones);
        match (table(self.routing), desired, ignored) {
            (_, _, Some(SharesIgnored::SharesInvalid { error })) => {
                SharesState::SharesInvalid { error }
            }
            (None, None, _) => SharesState::SharesNotNeeded,
            (Some(_), None, _) => SharesState::SharesLeftOver,
            (None, Some(_), _) => SharesState::SharesMissing,
            (Some(has), Some(desired), _) if has == desired => SharesState::SharesUpToDate,
            (Some(has), Some(desired), _) => {
                SharesState::SharesOutdated { zones: self.differing(has, desired) }
            }
        }
    }

    /// The client zones whose rows differ. Rows of zones without a Node count too: the controller would
    /// remove them.
    fn differing(&self, has: &ZoneShares, desired: &ZoneShares) -> Vec<Arc<str>> {
        let names = &self.subject.snapshot.topology.zones;
        let rows = has.rows().iter().chain(desired.rows()).map(|row| row.client);
        let differ = rows.filter(|&zone| has.row(zone) != desired.row(zone));
        let mut zones: Vec<Arc<str>> = differ.map(|zone| Arc::clone(names.name(zone))).collect();
        zones.sort_unstable();
        zones.dedup();
        zones
    }

    fn row(&self, client: &ZoneDemand) -> ShareRow {
        let names = &self.subject.snapshot.topology.zones;
        let parts = |shares: &ZoneShares| Some(self.parts(shares.row(client.zone)?, client));
        let now = self.traffic.map(|traffic| traffic.of_zone(client.zone, self.way));
        let now = now.into_iter().flatten();
        ShareRow {
            client_zone: Arc::clone(&client.name),
            demand: client.part,
            in_force: table(self.routing).and_then(parts),
            desired: self.desired.table().and_then(parts).map(|mut parts| {
                self.give_reasons(&mut parts, client);
                parts
            }),
            now: now.map(|(zone, share)| TrafficPart { zone, share }).collect(),
            ignored: shares_ignored(self.routing, Some(client.zone), names).map(WithMessage::from),
        }
    }

    fn parts(&self, row: &[(ZoneId, u16)], client: &ZoneDemand) -> Vec<SharePart> {
        let names = &self.subject.snapshot.topology.zones;
        let mut row = row.to_vec();
        row.sort_by_key(|&(zone, part)| {
            (zone != client.zone, std::cmp::Reverse(part), names.name(zone))
        });
        let part = |(zone, part)| SharePart {
            zone: Arc::clone(names.name(zone)),
            part,
            passed_on: !self.ready.contains(&zone),
            why: None,
        };
        row.into_iter().map(part).collect()
    }

    fn give_reasons(&self, parts: &mut [SharePart], client: &ZoneDemand) {
        let names = &self.subject.snapshot.topology.zones;
        let rows = self.why.iter().filter(|row| row.client == client.zone);
        for leaving in rows.flat_map(|row| &row.parts) {
            let name = names.name(leaving.zone);
            if let Some(part) = parts.iter_mut().find(|part| part.zone == *name) {
                part.why = Some(leaving.reason.clone().into());
            }
        }
    }
}
