//! The sample, and a first `explain` of the Service in it that is in trouble.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use evenkeel_k8s::live::LiveError;
use evenkeel_model::ServiceKey;
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Api, Client, api::ListParams};

use super::{args::Settings, unfinished};
use crate::{
    error::Error,
    explain, printer,
    progress::Progress,
    sample::{self, Endpoints, IN_TROUBLE, NAMESPACE},
};

/// How often the sample is looked at while it grows.
const PAUSE: Duration = Duration::from_millis(25);

/// A sample that takes longer is shown as it is.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends the names of the condition that tells whether hints are in force, with and without prefix.
const PROGRAMMED: &str = "TrafficDistributionProgrammed";

/// Creates the sample where it is wanted, waits for it, and explains the Service in trouble. What
/// was there before, on a later start, is explained as it is.
pub(super) async fn show(client: &Client, settings: &Settings) -> Result<(), Error> {
    if let Some(sample) = &settings.sample {
        sample::create(client, sample).await?;
    }
    // Complete, or not wanted any more.
    if let Some(data) = &settings.api.data {
        unfinished::forget(data);
    }
    if let Some(sample) = &settings.sample {
        let left = grown(client, &sample.wanted()).await?;
        if let Some(Endpoints { ready, wanted }) = left {
            printer::note(format_args!(
                "the sample is not complete: {ready} of {wanted} endpoints are ready"
            ));
        }
    }
    let key = ServiceKey::new(NAMESPACE, IN_TROUBLE);
    match explain::live(client.clone(), key, &settings.controller.engine.topology).await {
        Ok(text) => printer::data(&introduced(&text)),
        // It was never wanted, or somebody has deleted it.
        Err(Error::Live(LiveError::NoService { .. })) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Waits until all endpoints are ready and in slices, and the Service in trouble says so. Gives
/// what there is if that takes too long.
async fn grown(
    client: &Client,
    wanted: &BTreeMap<String, usize>,
) -> Result<Option<Endpoints>, Error> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    let failed = |source| Error::Sample { what: "its slices".to_owned(), source: Box::new(source) };
    let progress = Progress::new(Some(wanted.values().sum::<usize>() as u64), "growing the sample");
    let begun = Instant::now();
    loop {
        let seen = slices.list(&ListParams::default()).await.map_err(failed)?;
        let endpoints = sample::count(wanted, &seen.items);
        progress.at(endpoints.ready as u64);
        if endpoints.ready == endpoints.wanted {
            let service = services.get(IN_TROUBLE).await.map_err(failed)?;
            if is_told(&service) {
                return Ok(None);
            }
        }
        if begun.elapsed() > PATIENCE {
            return Ok(Some(endpoints));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn is_told(service: &Service) -> bool {
    let conditions = service.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_.ends_with(PROGRAMMED))
}

fn introduced(explanation: &str) -> String {
    format!(
        "\nThe sample is in namespace {NAMESPACE}. One of its Services is in trouble on purpose:\n\
         $ evenkeel explain {IN_TROUBLE} -n {NAMESPACE}\n\n{explanation}"
    )
}
