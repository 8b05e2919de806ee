//! A proxy's own page: what it is told and why, which shares of its traffic follow, and which would with a zone
//! lost. All shares are those of `evenkeel mesh inspect`; nothing is computed here but sums over zones.

use serde::Serialize;

use super::{
    bounded::{List, Share},
    destination::{DestinationView, Sums, destination},
    proxies::{TypeRow, types_of},
    wire::{Destination, Direction, Inspection, Proxies, Reason, Route},
};
use crate::view::{
    MOST_MARKS,
    words::{Number, count, message, percent, shown},
};

/// Destinations that are listed.
const MOST_ROWS: usize = 100;
const MOST_ROUTES: usize = 60;
const MOST_NOTES: usize = 20;
/// Elements of a row.
const ROW_MARKS: usize = 2;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProxyPage {
    /// As in links; not shortened.
    pub mesh: String,
    pub dataplane: String,
    pub label: String,
    pub sentence: String,
    pub connected: &'static str,
    pub types: Vec<TypeRow>,
    pub routes: Vec<RouteRow>,
    pub routes_left_out: usize,
    /// What of its configuration is not as written.
    pub notes: Vec<String>,
    pub rows: Vec<DestinationRow>,
    pub rows_left_out: usize,
    pub destinations: Vec<DestinationView>,
    /// Destinations that only the table has.
    pub destinations_left_out: usize,
    pub marks: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RouteRow {
    pub address: String,
    pub requests: String,
    pub to: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DestinationRow {
    /// As in links; not shortened.
    pub cluster: String,
    pub label: String,
    pub in_zone: Number,
    pub cross_zone: Number,
    pub errors: Number,
}

/// `cluster`: the only destination that is shown whole; otherwise the first ones are.
pub(super) fn page(
    (mesh, dataplane): (&str, &str),
    inspection: &Inspection,
    proxies: &Proxies,
    cluster: Option<&str>,
) -> ProxyPage {
    let Inspection { destinations, .. } = inspection;
    let mut routes = routes(inspection);
    let n_routes = routes.len();
    routes.truncate(MOST_ROUTES);
    let rows: Vec<DestinationRow> = destinations.items.iter().take(MOST_ROWS).map(row).collect();
    let mut page = ProxyPage {
        mesh: mesh.to_owned(),
        dataplane: dataplane.to_owned(),
        label: format!("{}/{}", shown(mesh), shown(dataplane)),
        sentence: sentence(inspection),
        connected: match inspection.connected {
            Some(true) => "connected",
            Some(false) => "not connected",
            None => "unknown",
        },
        types: types_of(proxies, mesh, dataplane),
        routes_left_out: n_routes - routes.len(),
        routes,
        notes: notes(inspection.reasons.as_ref()),
        rows_left_out: destinations.len() - rows.len(),
        rows,
        destinations: Vec::new(),
        destinations_left_out: 0,
        marks: 0,
    };
    page.marks =
        ROW_MARKS * (page.types.len() + page.routes.len() + page.rows.len()) + page.notes.len();
    page.add_destinations(destinations, cluster);
    page
}

pub(super) fn notes<const N: usize>(reasons: Option<&List<Reason, N>>) -> Vec<String> {
    let reasons = reasons.iter().flat_map(|reasons| &reasons.items);
    reasons.take(MOST_NOTES).map(|reason| message(&reason.message)).collect()
}

fn row(to: &Destination) -> DestinationRow {
    let sums = Sums::of(to);
    DestinationRow {
        cluster: to.cluster.clone(),
        label: shown(&to.cluster),
        in_zone: Number::maybe(sums.in_zone),
        cross_zone: Number::maybe(sums.cross_zone),
        errors: Number::maybe(to.errors.0),
    }
}

fn sentence(inspection: &Inspection) -> String {
    let all = &inspection.destinations.items;
    let n = inspection.destinations.len();
    if n == 0 {
        return "It is told of no destination.".to_owned();
    }
    let text = match worst(all) {
        Some((to, share)) => {
            format!("{} of the requests to {} get 503", percent(share), shown(&to.cluster))
        }
        None => where_to(all),
    };
    match inspection.connected {
        Some(false) => format!("{text}; no proxy is connected that would be told this."),
        _ => text + ".",
    }
}

/// The destination with most errors.
fn worst(all: &[Destination]) -> Option<(&Destination, f64)> {
    let errors =
        all.iter().filter_map(|to| Some((to, to.errors.0.filter(|errors| *errors > 0.0)?)));
    errors.reduce(|worst, next| if next.1 > worst.1 { next } else { worst })
}

fn where_to(all: &[Destination]) -> String {
    let sums: Vec<(&Destination, Sums)> = all.iter().map(|to| (to, Sums::of(to))).collect();
    let crossing = sums
        .iter()
        .filter_map(|(to, sums)| Some((to, sums.cross_zone.filter(|part| *part > 0.0)?)));
    let most = crossing.reduce(|most, next| if next.1 > most.1 { next } else { most });
    let unknown = sums.iter().filter(|(_, sums)| sums.in_zone.is_none()).count();
    match most {
        Some((to, part)) => {
            format!("{} of the requests to {} go to other zones", percent(part), shown(&to.cluster))
        }
        None if unknown > 0 => {
            format!(
                "Whether requests stay in the zone is unknown for {}",
                count(unknown, "destination")
            )
        }
        None => format!("All requests to {} stay in the zone", count(all.len(), "destination")),
    }
}

fn routes(inspection: &Inspection) -> Vec<RouteRow> {
    let listeners = inspection.listeners.iter().flat_map(|listeners| &listeners.items);
    let outbound = listeners.filter(|listener| listener.direction == Some(Direction::Outbound));
    let rows = outbound.flat_map(|listener| {
        let routes = listener.routes.iter().flat_map(|routes| &routes.items);
        routes.map(|route| RouteRow {
            address: listener.address.as_deref().map_or("unknown".to_owned(), shown),
            requests: match route.matches.as_deref() {
                None => "unknown".to_owned(),
                Some("") => "all".to_owned(),
                Some(matches) => message(matches),
            },
            to: split(route),
        })
    });
    rows.collect()
}

/// Where it goes, with the parts that are configured if there are several.
fn split(route: &Route) -> String {
    let Some(clusters) = &route.clusters else { return "unknown".to_owned() };
    let part = |share: Share| share.0.map_or("unknown".to_owned(), percent);
    match &clusters.items[..] {
        [] => format!(
            "503: {}",
            route.unavailable.as_deref().map_or("no cluster".to_owned(), message)
        ),
        [one] => shown(&one.cluster),
        parts => {
            let parts = parts.iter().take(MOST_NOTES);
            let parts = parts.map(|to| format!("{} {}", shown(&to.cluster), part(to.share)));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}

// === impl ProxyPage ===

impl ProxyPage {
    /// As many as fit, at least one.
    fn add_destinations<const N: usize>(
        &mut self,
        all: &List<Destination, N>,
        cluster: Option<&str>,
    ) {
        let is_wanted = |to: &&Destination| cluster.is_none_or(|cluster| to.cluster == cluster);
        for to in all.items.iter().filter(is_wanted) {
            let view = destination(to);
            if !self.destinations.is_empty() && self.marks + view.marks > MOST_MARKS {
                break;
            }
            self.marks += view.marks;
            self.destinations.push(view);
        }
        self.destinations_left_out = all.len() - self.destinations.len();
    }
}
