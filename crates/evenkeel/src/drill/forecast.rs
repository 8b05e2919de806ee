//! What is shown of a cluster that is not to be touched. Pure.

use std::sync::Arc;

use serde::Serialize;

use super::subject::{Forecast, Subject};

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Forecasts {
    pub zone: Arc<str>,
    /// In contrast to a report: it is not.
    pub measured: bool,
    /// Why nothing was measured.
    pub why: &'static str,
    pub nodes: Vec<Arc<str>>,
    pub services: Vec<ServiceForecast>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceForecast {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    /// `null`: no worker Node of the zone is ready.
    pub forecast: Option<Forecast>,
}

pub(super) fn forecasts(subject: &Subject, why: &'static str) -> Forecasts {
    let services = subject.services.iter().map(|one| ServiceForecast {
        namespace: Arc::clone(&one.key.namespace),
        service: Arc::clone(&one.key.name),
        forecast: one.forecast.clone(),
    });
    Forecasts {
        zone: Arc::clone(&subject.zone),
        measured: false,
        why,
        nodes: subject.lost.clone(),
        services: services.collect(),
    }
}
