//! Which endpoints carry the traffic of the lost zone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Serialize;

use crate::drill::{
    recording::{Outcome, Recording, Sample},
    report::seconds,
    subject::{Drilled, Place, Subject},
};

/// Of one Service in the outage, once it had converged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::drill) struct Load {
    /// Since the first request of the drill. `null`: it had not converged, and this is of the whole outage.
    pub since: Option<f64>,
    /// Requests sent from then on until the zone was given back.
    pub requests: usize,
    /// The busiest endpoint's requests over its fair share of before; `null`: none was answered.
    pub max_load: Option<f64>,
    /// Of the answered ones.
    pub in_zone_share: Option<f64>,
    /// Those that are left.
    pub zones: Vec<ZoneLoad>,
    pub endpoints: Vec<EndpointLoad>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::drill) struct ZoneLoad {
    pub zone: Arc<str>,
    pub endpoints: usize,
    pub answered: usize,
    /// Of the answered requests.
    pub share: Option<f64>,
    /// What it would be if all endpoints that are left had the same.
    pub fair_share: f64,
}

/// Those that were ready before, and those that answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::drill) struct EndpointLoad {
    #[serde(flatten)]
    pub place: Place,
    /// Requests answered in the whole drill.
    pub total: usize,
    /// In the span that the load is of.
    pub answered: usize,
    /// Over its fair share of before; `null`: nothing was sent.
    pub load: Option<f64>,
}

/// `outage`: the requests of the outage, `all`: of the whole drill; `since`: when it had converged.
pub(super) fn load(
    subject: &Subject,
    service: &Drilled,
    outage: &[&Sample],
    all: &[&Sample],
    since: Option<Duration>,
    recording: &Recording,
) -> Load {
    let from = outage.partition_point(|one| since.is_some_and(|since| one.sent < since));
    let settled = &outage[from..];
    let (totals, answers) = (answers(all, recording), answers(settled, recording));
    // What is refused makes nobody busier: loads are of all requests, as in `plan`.
    let fair = settled.len() as f64 / service.endpoints.len().max(1) as f64;
    let known = service.endpoints.iter().map(|endpoint| &endpoint.place);
    let mut places: Vec<&Place> = known.chain(totals.keys().copied()).collect();
    places.sort();
    places.dedup();
    let endpoint = |place: &&Place| {
        let answered = answers.get(place).copied().unwrap_or(0);
        let load = (fair > 0.0).then(|| answered as f64 / fair);
        let total = totals.get(place).copied().unwrap_or(0);
        EndpointLoad { place: (*place).clone(), total, answered, load }
    };
    let endpoints: Vec<EndpointLoad> = places.iter().map(endpoint).collect();
    let served: usize = answers.values().sum();
    let max_load = endpoints.iter().filter_map(|one| one.load).reduce(f64::max);
    let in_zone = settled.iter().filter(|one| is_in_zone(one, subject, recording)).count();
    Load {
        since: since.map(seconds),
        requests: settled.len(),
        max_load: max_load.filter(|_| served > 0),
        in_zone_share: (served > 0).then(|| in_zone as f64 / served as f64),
        zones: zones(&endpoints, served, &subject.zone),
        endpoints,
    }
}

fn answers<'r>(samples: &[&Sample], recording: &'r Recording) -> BTreeMap<&'r Place, usize> {
    let mut counts = BTreeMap::new();
    for sample in samples {
        if let Outcome::Answered(place) = sample.outcome
            && let Some(place) = recording.places.get(place)
        {
            *counts.entry(place).or_default() += 1;
        }
    }
    counts
}

fn is_in_zone(sample: &Sample, subject: &Subject, recording: &Recording) -> bool {
    let Outcome::Answered(place) = sample.outcome else { return false };
    let (client, place) = (subject.clients.get(sample.client), recording.places.get(place));
    client
        .zip(place)
        .is_some_and(|(client, place)| client.zone == place.zone && !place.zone.is_empty())
}

fn zones(endpoints: &[EndpointLoad], served: usize, lost: &str) -> Vec<ZoneLoad> {
    let left: Vec<&EndpointLoad> =
        endpoints.iter().filter(|one| *one.place.zone != *lost).collect();
    let of_zone = |all: &[&EndpointLoad]| {
        let answered = all.iter().map(|one| one.answered).sum();
        ZoneLoad {
            zone: Arc::clone(&all[0].place.zone),
            endpoints: all.len(),
            answered,
            share: (served > 0).then(|| answered as f64 / served as f64),
            fair_share: all.len() as f64 / left.len() as f64,
        }
    };
    left.chunk_by(|a, b| a.place.zone == b.place.zone).map(of_zone).collect()
}
