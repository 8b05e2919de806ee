//! One destination of a proxy: policies, priorities with their localities, and shares, now and with a zone lost.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    bounded::{Pairs, Share},
    drawing::Drawing,
    inspected::notes,
    lanes, shares,
    wire::{Destination, Group, Lost, Merged},
};
use crate::view::words::{Number, percent, shown, zone_label};

/// Groups that are listed.
const MOST_GROUPS: usize = 40;
/// Zones of which the loss is shown.
const MOST_LOST: usize = 32;
const MOST_POLICIES: usize = 20;
/// Pairs or fields that are told.
const MOST_FIELDS: usize = 8;
/// Elements of a row.
const ROW_MARKS: usize = 2;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DestinationView {
    pub label: String,
    /// The service behind it.
    pub service: String,
    pub client: String,
    pub balancing: String,
    pub failover: String,
    pub policies: Vec<UsedPolicy>,
    /// Why there is no policy.
    pub policies_note: Option<&'static str>,
    pub lanes: Option<Drawing>,
    pub groups: Vec<GroupRow>,
    pub groups_left_out: usize,
    pub shares: Option<Drawing>,
    pub errors: Number,
    pub lost: Vec<LostRow>,
    pub lost_left_out: usize,
    /// Why the loss of a zone is not shown.
    pub lost_note: Option<&'static str>,
    pub notes: Vec<String>,
    pub marks: usize,
}

/// What a policy sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsedPolicy {
    pub policy: String,
    pub kind: String,
    pub sets: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRow {
    pub priority: u32,
    pub zone: String,
    pub locality: String,
    pub weight: String,
    pub healthy: String,
    pub share: Number,
    pub crosses: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LostRow {
    pub zone: String,
    pub to: String,
    pub errors: Number,
}

/// Shares of all groups, by whether they are in the client's zone.
pub(super) struct Sums {
    pub in_zone: Option<f64>,
    pub cross_zone: Option<f64>,
}

/// The share of each zone, by name; `None`: that of a group is not known.
pub(super) type ByZone<'a> = BTreeMap<&'a str, Option<f64>>;

pub(super) fn destination(to: &Destination) -> DestinationView {
    let groups = to.groups.as_ref();
    let all = groups.map_or(&[][..], |groups| &groups.items);
    let (mut sorted, own) = (all.iter().collect::<Vec<&Group>>(), own_zone(to));
    sorted.sort_by_key(|group| {
        (group.priority, group.zone.as_deref() != own, &group.zone, &group.sub_zone)
    });
    let rows: Vec<GroupRow> =
        sorted.iter().take(MOST_GROUPS).map(|group| row(group, own)).collect();
    let lost = to.without_zone.as_ref().map_or(&[][..], |Pairs(lost)| lost);
    let policies = used(to.policies.as_ref());
    let mut notes: Vec<String> = notes(to.reasons.as_ref());
    notes.extend(self::notes(to.share_reasons.as_ref()));
    let mut view = DestinationView {
        label: shown(&to.cluster),
        service: service(to),
        client: client(to),
        balancing: to.load_balancer.as_deref().map_or("unknown".to_owned(), shown),
        failover: failover(to.overprovisioning_factor),
        policies_note: policies_note(to, policies.is_empty()),
        policies,
        lanes: lanes::lanes(&sorted, own),
        groups_left_out: groups.map_or(0, super::bounded::List::len) - rows.len(),
        groups: rows,
        shares: shares::shares(to, own),
        errors: Number::maybe(to.errors.0),
        lost: lost.iter().take(MOST_LOST).map(|(zone, lost)| lost_row(zone, lost)).collect(),
        lost_left_out: to.zones_not_shown,
        lost_note: to
            .by_topology
            .then_some("`evenkeel plan` predicts the loss of a zone, which hints follow"),
        notes,
        marks: 0,
    };
    view.marks = view.count();
    view
}

pub(super) fn own_zone(to: &Destination) -> Option<&str> {
    to.place.as_ref()?.zone.as_deref().filter(|zone| !zone.is_empty())
}

/// `None`: one of the zones is not known.
pub(super) fn crosses(zone: Option<&str>, own: Option<&str>) -> Option<bool> {
    Some(zone.filter(|zone| !zone.is_empty())? != own?)
}

pub(super) fn by_zone(groups: &[Group]) -> ByZone<'_> {
    let mut zones = ByZone::new();
    for group in groups {
        let sum = zones.entry(group.zone.as_deref().unwrap_or_default()).or_insert(Some(0.0));
        *sum = sum.zip(group.share.0).map(|(sum, share)| sum + share);
    }
    zones
}

fn row(group: &Group, own: Option<&str>) -> GroupRow {
    GroupRow {
        priority: group.priority,
        zone: zone_label(group.zone.as_deref().unwrap_or_default()),
        locality: locality(group),
        weight: group.weight.map_or("–".to_owned(), |weight| weight.to_string()),
        healthy: healthy(group),
        share: Number::maybe(group.share.0),
        crosses: crosses(group.zone.as_deref(), own),
    }
}

pub(super) fn locality(group: &Group) -> String {
    if group.sub_zone.is_empty() { "–".to_owned() } else { shown(&group.sub_zone) }
}

pub(super) fn healthy(group: &Group) -> String {
    let healthy = group.endpoints.map(|counts| format!("{} of {}", counts.healthy, counts.all));
    healthy.unwrap_or_else(|| "unknown".to_owned())
}

fn service(to: &Destination) -> String {
    let Some(key) = &to.service else { return "unknown".to_owned() };
    let mut text = format!("{} {}/{}", shown(&key.kind), shown(&key.mesh), shown(&key.name));
    let subset = to.subset.as_ref().map(pairs).unwrap_or_default();
    if !subset.is_empty() {
        text += &format!(" with {}", subset.join(", "));
    }
    text
}

fn client(to: &Destination) -> String {
    let Some(place) = &to.place else { return "unknown".to_owned() };
    let zone = own_zone(to).map_or("any zone".to_owned(), shown);
    let tags = place.tags.as_ref().map(pairs).unwrap_or_default();
    [vec![zone], tags].concat().join(", ")
}

fn pairs<const N: usize>(Pairs(pairs): &Pairs<String, N>) -> Vec<String> {
    let pairs = pairs.iter().take(MOST_FIELDS);
    pairs.map(|(key, value)| format!("{}={}", shown(key), shown(value))).collect()
}

fn failover(factor: Option<u32>) -> String {
    let Some(factor) = factor.filter(|factor| *factor > 0) else {
        return "as Envoy does without a setting".to_owned();
    };
    let threshold = 10_000.0 / f64::from(factor);
    format!("below {threshold:.0} % healthy (overprovisioning factor {factor})")
}

fn policies_note(to: &Destination, is_empty: bool) -> Option<&'static str> {
    match (&to.policies, to.by_topology) {
        (_, true) => Some("The Service's own topology ranks endpoints, by no policy."),
        (None, _) => Some("Which policies are in force is unknown."),
        (Some(_), _) if is_empty => Some("No policy: own zone first, then all others alike."),
        _ => None,
    }
}

/// Each policy with the fields that come from it, as `evenkeel mesh inspect` prints them.
fn used<const N: usize>(policies: Option<&Pairs<Merged, N>>) -> Vec<UsedPolicy> {
    let kinds = policies.iter().flat_map(|Pairs(policies)| policies);
    let of_kind = kinds.flat_map(|(kind, merged)| {
        let origins = merged.origins.as_ref().map_or(&[][..], |Pairs(origins)| origins);
        let fields: BTreeMap<&str, &str> =
            origins.iter().map(|(field, policy)| (field.as_str(), policy.as_str())).collect();
        let mut by_policy: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (field, policy) in fields.iter().filter(|(field, _)| is_leaf(field, &fields)) {
            by_policy.entry(policy).or_default().push(field);
        }
        by_policy.into_iter().map(move |(policy, fields)| UsedPolicy {
            policy: shown(policy),
            kind: shown(kind),
            sets: told(&fields),
        })
    });
    of_kind.take(MOST_POLICIES).collect()
}

/// Fields that hold others say nothing more than these.
fn is_leaf(field: &str, fields: &BTreeMap<&str, &str>) -> bool {
    let prefix = format!("{field}.");
    let mut below = fields.range(prefix.as_str()..).map(|(other, _)| *other);
    below.next().is_none_or(|other| !other.starts_with(&prefix))
}

fn told(fields: &[&str]) -> String {
    let mut told: Vec<String> = fields.iter().take(MOST_FIELDS).map(|field| shown(field)).collect();
    if fields.len() > told.len() {
        told.push(format!("{} more", fields.len() - told.len()));
    }
    told.join(", ")
}

fn lost_row(zone: &str, lost: &Lost) -> LostRow {
    let zones = by_zone(&lost.groups.items);
    let used = zones.iter().filter(|(_, share)| share.is_none_or(|share| share > 0.0));
    let part = |share: Option<f64>| share.map_or("unknown".to_owned(), percent);
    let to = used.map(|(zone, share)| format!("{} {}", zone_label(zone), part(*share)));
    let to: Vec<String> = to.take(MOST_FIELDS).collect();
    LostRow {
        zone: zone_label(zone),
        to: if to.is_empty() { "–".to_owned() } else { to.join(", ") },
        errors: Number::maybe(lost.errors.0),
    }
}

// === impl Sums ===

impl Sums {
    /// Unknown as soon as a part of it is.
    pub(super) fn of(to: &Destination) -> Sums {
        let own = own_zone(to);
        let groups = to.groups.as_ref().map(|groups| &groups.items[..]);
        let sum = |wanted: bool| {
            let groups = groups.filter(|groups| !groups.is_empty())?.iter();
            groups.map(|group| part(group, own, wanted)).sum::<Option<f64>>()
        };
        Sums { in_zone: sum(false), cross_zone: sum(true) }
    }
}

/// The share of a group if it crosses zones or not, as wanted; where nothing goes, it does not matter.
fn part(group: &Group, own: Option<&str>, wanted: bool) -> Option<f64> {
    let Share(share) = group.share;
    match (share?, crosses(group.zone.as_deref(), own)) {
        (0.0, _) => Some(0.0),
        (share, Some(crosses)) => Some(if crosses == wanted { share } else { 0.0 }),
        (_, None) => None,
    }
}

// === impl DestinationView ===

impl DestinationView {
    fn count(&self) -> usize {
        let drawings = [&self.lanes, &self.shares].into_iter().flatten();
        let rows = self.policies.len() + self.groups.len() + self.lost.len();
        drawings.map(Drawing::marks).sum::<usize>() + ROW_MARKS * rows + self.notes.len() + 6
    }
}
