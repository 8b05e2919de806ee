//! The sample, and an `explain` of the Service in it that has a problem.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use evenkeel_k8s::live::LiveError;
use evenkeel_model::ServiceKey;
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Api, Client, api::ListParams};

use super::{args::Settings, greeting::Greeting, unfinished};
use crate::{
    error::Error,
    explain, printer,
    progress::Progress,
    sample::{self, Endpoints, IN_TROUBLE, NAMESPACE},
};

/// Between two looks at the sample.
const PAUSE: Duration = Duration::from_millis(25);

/// After this time the sample is shown as it is.
const PATIENCE: Duration = Duration::from_secs(20);

/// Suffix of the condition type, with and without prefix.
const PROGRAMMED: &str = "TrafficDistributionProgrammed";

/// Creates the sample if it is wanted, waits for it, and explains the Service with a problem, which
/// may be there from an earlier start.
pub(super) async fn show(
    client: &Client,
    settings: &Settings,
    greeting: &Greeting,
) -> Result<(), Error> {
    if let Some(sample) = &settings.sample {
        sample::create(client, sample).await?;
    }
    // It is complete, or no longer wanted.
    if let Some(data) = &settings.api.data {
        unfinished::forget(data);
    }
    if let Some(sample) = &settings.sample {
        let left = completed(client, &sample.wanted()).await?;
        if let Some(Endpoints { ready, wanted }) = left {
            printer::note(format_args!(
                "sample is incomplete: {ready} of {wanted} endpoints are ready"
            ));
        }
    }
    let key = ServiceKey::new(NAMESPACE, IN_TROUBLE);
    match explain::live(client.clone(), key, &settings.controller.engine.topology).await {
        Ok(text) => printer::data(&introduced(greeting, &text)),
        // It was not wanted, or has been deleted.
        Err(Error::Live(LiveError::NoService { .. })) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Waits until all endpoints are ready and in slices, and the Service has its condition. Returns
/// the endpoints so far if that takes too long.
async fn completed(
    client: &Client,
    wanted: &BTreeMap<String, usize>,
) -> Result<Option<Endpoints>, Error> {
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), NAMESPACE);
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    let failed = |source| Error::Sample { what: "its slices".to_owned(), source: Box::new(source) };
    let progress =
        Progress::new(Some(wanted.values().sum::<usize>() as u64), "waiting for the sample");
    let started = Instant::now();
    loop {
        let seen = slices.list(&ListParams::default()).await.map_err(failed)?;
        let endpoints = sample::count(wanted, &seen.items);
        progress.at(endpoints.ready as u64);
        if endpoints.ready == endpoints.wanted {
            let service = services.get(IN_TROUBLE).await.map_err(failed)?;
            if has_condition(&service) {
                return Ok(None);
            }
        }
        if started.elapsed() > PATIENCE {
            return Ok(Some(endpoints));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn has_condition(service: &Service) -> bool {
    let conditions = service.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| condition.type_.ends_with(PROGRAMMED))
}

fn introduced(greeting: &Greeting, explanation: &str) -> String {
    let command = greeting.command(&format!("explain {IN_TROUBLE} -n {NAMESPACE}"));
    format!(
        "\nThe sample is in namespace {NAMESPACE}. One of its Services has a problem on purpose:\n\
         $ {command}\n\n{explanation}"
    )
}
