//! The figure of the traffic between zones, of all Services together.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    cluster::ZoneLane,
    figure::{Figure, Flow, MOST_CELLS, Plot, figure},
    words::{count, percent, zone_label},
};

/// Amounts by the zones of clients and of endpoints; empty: none, or not known.
pub(super) type Flows<'a> = BTreeMap<(&'a Arc<str>, &'a Arc<str>), f64>;

/// `zones`: what is said beside their lanes.
pub(super) fn between_zones(flows: &Flows<'_>, zones: &[ZoneLane]) -> Figure {
    let (from, to) = (sums(flows, |(from, _)| from), sums(flows, |(_, to)| to));
    let sent: f64 = from.values().sum();
    let about: BTreeMap<&str, String> =
        zones.iter().map(|zone| (zone.label.as_str(), nodes(zone))).collect();
    let client = |(zone, amount): (&&Arc<str>, &f64)| {
        let (label, sends) = (zone_label(zone), percent(amount / sent));
        let about = about.get(label.as_str()).map_or("", String::as_str);
        (label, format!("{about}sends {sends}"))
    };
    let endpoint = |(zone, amount): (&&Arc<str>, &f64)| {
        (zone_label(zone), format!("serves {}", percent(amount / sent)))
    };
    let flow = |((a, b), amount): (&(&Arc<str>, &Arc<str>), &f64)| {
        Some(Flow {
            from: place(&from, a)?,
            to: place(&to, b)?,
            amount: amount / sent,
            share: amount / from.get(*a)?,
            crosses: (!a.is_empty() && !b.is_empty()).then_some(a != b),
        })
    };
    figure(Plot {
        title: "Traffic between zones".to_owned(),
        most: MOST_CELLS,
        clients: from.iter().map(client).collect(),
        endpoints: to.iter().map(endpoint).collect(),
        flows: flows.iter().filter_map(flow).collect(),
    })
}

type Sums<'a> = BTreeMap<&'a Arc<str>, f64>;

fn sums<'a>(
    flows: &Flows<'a>,
    side: impl Fn((&'a Arc<str>, &'a Arc<str>)) -> &'a Arc<str>,
) -> Sums<'a> {
    flows.iter().fold(BTreeMap::new(), |mut sums, (pair, amount)| {
        *sums.entry(side(*pair)).or_default() += amount;
        sums
    })
}

fn place(sums: &Sums<'_>, zone: &Arc<str>) -> Option<usize> {
    sums.keys().position(|known| **known == *zone)
}

fn nodes(zone: &ZoneLane) -> String {
    format!("{}, {}, ", count(zone.ready, "node"), zone.cpu)
}
