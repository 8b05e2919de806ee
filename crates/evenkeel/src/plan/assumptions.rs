//! What the figures of a plan rest on.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_topology::{
    Policy, Profile, Server,
    version::expression,
    whatif::{Forecasts, Price, TrafficProfile},
};
use serde::Serialize;

use super::traffic::Traffic;
use crate::table::percent;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Assumptions {
    /// `None`: traffic is not known, and nothing is priced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<GivenTraffic>,
    /// The zones that clients are in, by their share of the CPU. They send traffic in this
    /// proportion, unless a traffic file says otherwise.
    pub clients: Vec<ClientZone>,
    pub server: Server,
    /// How many Services follow which rules; each Service says it for itself, with the reason.
    pub hints: BTreeMap<Profile, usize>,
    pub routing: BTreeMap<Profile, usize>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GivenTraffic {
    pub file: String,
    #[serde(flatten)]
    pub profile: TrafficProfile,
    /// For traffic across zones: the file's, or the default.
    pub price_in_use: Price,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientZone {
    pub zone: Arc<str>,
    pub cpu_share: f64,
}

/// More zones than this are counted, not named.
const NAMED: usize = 6;

impl Assumptions {
    pub(super) fn new(
        traffic: &Traffic,
        zones: &[(Arc<str>, f64)],
        server: Server,
        forecasts: &[Forecasts],
    ) -> Self {
        let given = traffic.file.as_ref().map(|file| GivenTraffic {
            file: file.path.display().to_string(),
            price_in_use: file.profile.price(),
            profile: file.profile.clone(),
        });
        let clients = zones.iter();
        let clients =
            clients.map(|(zone, share)| ClientZone { zone: Arc::clone(zone), cpu_share: *share });
        let count = |profile: fn(&Forecasts) -> Profile| {
            forecasts.iter().fold(BTreeMap::new(), |mut counts, one| {
                *counts.entry(profile(one)).or_default() += 1;
                counts
            })
        };
        Assumptions {
            traffic: given,
            clients: clients.collect(),
            server,
            hints: count(|f| f.data_plane.hints.profile),
            routing: count(|f| f.data_plane.routing.profile),
        }
    }

    /// Each assumption with what it is about.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = match &self.traffic {
            None => {
                let unknown = "not known, so no costs are shown; give it with --traffic FILE";
                vec![("traffic", unknown.to_owned()), ("clients", self.by_cpu())]
            }
            Some(given) => vec![
                ("traffic", given.amounts()),
                ("price", given.price()),
                ("clients", self.clients(given)),
            ],
        };
        let (hints, routing) = (profiles(&self.hints), profiles(&self.routing));
        lines.push(("rules", format!("hints: {hints}; routing: {routing}")));
        lines.push(("server", self.server()));
        lines
    }

    /// The version, and which policies need a newer one.
    fn server(&self) -> String {
        let mut text = self.server.to_string();
        for policy in Policy::ALL {
            if let Err(unavailable) = expression(policy, self.server.version) {
                text += &format!("; {unavailable}");
            }
        }
        text
    }

    fn by_cpu(&self) -> String {
        let named = self.clients.iter().take(NAMED);
        let mut zones: Vec<String> = named
            .map(|ClientZone { zone, cpu_share }| {
                let zone: &str = if zone.is_empty() { "nodes without a zone" } else { zone };
                format!("{zone} {}", percent(*cpu_share))
            })
            .collect();
        if self.clients.len() > NAMED {
            zones.push(format!("and {} more", self.clients.len() - NAMED));
        }
        match zones.is_empty() {
            true => "no ready worker node is known".to_owned(),
            false => format!("in proportion to zone CPU: {}", zones.join(", ")),
        }
    }

    fn clients(&self, given: &GivenTraffic) -> String {
        let profile = &given.profile;
        if !profile.by_zone.is_empty() {
            return format!("by zone, from {}", given.file);
        }
        let by_zone = profile.services.values().filter(|own| !own.by_zone.is_empty()).count();
        match by_zone {
            0 => self.by_cpu(),
            n => format!("{}; for {n} of the Services by zone, from {}", self.by_cpu(), given.file),
        }
    }
}

/// `Kubernetes`, or where both are in use, `Evenkeel (2), Kubernetes (6)`.
fn profiles(counts: &BTreeMap<Profile, usize>) -> String {
    match counts.len() {
        0 => "-".to_owned(),
        1 => counts.keys().map(ToString::to_string).collect(),
        _ => {
            let one = |(profile, n): (&Profile, &usize)| format!("{profile} ({n})");
            counts.iter().map(one).collect::<Vec<_>>().join(", ")
        }
    }
}

// === impl GivenTraffic ===

impl GivenTraffic {
    fn amounts(&self) -> String {
        let GivenTraffic { file, profile, .. } = self;
        let by_zone: f64 = profile.by_zone.values().sum();
        let each = if profile.by_zone.is_empty() { profile.gb_per_month } else { Some(by_zone) };
        let own = profile.services.len();
        let rest = match each {
            Some(gb) if own == 0 => format!("{gb} GB a month for each Service"),
            Some(gb) => format!("{gb} GB a month for each other Service"),
            None => "not known for other Services, which have no costs".to_owned(),
        };
        match own {
            0 => format!("{rest}, from {file}"),
            1 => format!("for 1 Service from {file}; {rest}"),
            n => format!("for {n} Services from {file}; {rest}"),
        }
    }

    fn price(&self) -> String {
        let Price { out_per_gb, in_per_gb, currency } = &self.price_in_use;
        // As many digits as people write, whatever the sum of two fractions looks like.
        let sum = (self.price_in_use.per_gb() * 1e9).round() / 1e9;
        let source = match self.profile.price {
            Some(_) => format!("from {}", self.file),
            None => "default".to_owned(),
        };
        format!(
            "{sum} {currency} per GB across zones ({out_per_gb} out + {in_per_gb} in; {source})"
        )
    }
}
