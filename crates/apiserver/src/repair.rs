//! The repair loop: at startup and every few minutes, compares the pools with the stored Services.
//!
//! Decided by [`pools::repair`](crate::pools::repair). Findings are counted, logged and reported as
//! Events on the Services, like those of Kubernetes' repair loops.

use std::{collections::BTreeMap, ops::Bound, sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    api::{Api, name_of},
    chain::actor::Actor,
    identity::actors,
    kinds::{EVENT, SERVICE, read::entry},
    pools::{
        Claims,
        repair::{Correction, Examined, Finding, Leaks, Pool, Service, examine},
    },
    random,
    registry::{Edit, Result, UpdateStrategy},
};

/// Same as Kubernetes.
const INTERVAL: Duration = Duration::from_secs(180);

/// The results of earlier passes.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    leaks: Leaks,
    told: ReportedEvents,
}

/// The key of the Event about a Service's problem, by uid, reason and note; and how often it was
/// reported.
type ReportedEvents = BTreeMap<(String, &'static str, String), (String, u64)>;

/// Runs until the server stops.
pub(crate) async fn repair(api: Arc<Api>) {
    let (mut ticks, mut memory) = (tokio::time::interval(INTERVAL), Memory::default());
    loop {
        tokio::select! {
            _ = ticks.tick() => memory = pass(&api, memory).await,
            () = api.stop.cancelled() => return,
        }
    }
}

/// Runs one pass.
pub(crate) async fn pass(api: &Arc<Api>, memory: Memory) -> Memory {
    let Memory { leaks, mut told } = memory;
    let looking = tokio::task::spawn_blocking({
        let api = api.clone();
        move || look(&api, &leaks)
    });
    // It fails only if the runtime is shutting down.
    let Ok((services, examined)) = looking.await else { return Memory::default() };
    let Examined { findings, corrections, suspects, leaks } = examined;
    for number in suspects {
        tracing::warn!(%number, "allocation without a Service, releasing it if it stays");
    }
    for correction in &corrections {
        correct(api, &services, correction);
    }
    let mut still_told = ReportedEvents::default();
    for finding in findings {
        let service = &services[finding.service];
        api.metrics.repair.found(finding.pool, finding.problem);
        tracing::warn!(service = &*service.key, reason = finding.reason(), "{}", finding.note);
        let what = (service.claims.uid.clone(), finding.reason(), finding.note.clone());
        let before = told.remove(&what);
        match tell(api, service, &finding, before).await {
            Ok(event) => drop(still_told.insert(what, event)),
            Err(error) => {
                tracing::debug!(service = &*service.key, %error, "writing an Event failed");
            }
        }
    }
    Memory { leaks, told: still_told }
}

/// Services and pools at one moment; they are parsed after the state is unlocked.
fn look(api: &Api, leaks: &Leaks) -> (Vec<Service>, Examined) {
    let (objects, held) = {
        let state = api.storage.state();
        let objects: Vec<_> = state.range(SERVICE.id(), Bound::Unbounded).cloned().collect();
        (objects, api.pools.held())
    };
    let read = |object: &evenkeel_store::Object| {
        let claims = Claims::stored(&object.encoded).unwrap_or_default();
        Service { key: object.key.clone(), revision: object.revision, claims }
    };
    let services: Vec<Service> = objects.iter().map(|object| read(object)).collect();
    let examined = examine(&services, &held, leaks);
    (services, examined)
}

/// While the state is locked, nothing commits.
fn correct(api: &Api, services: &[Service], correction: &Correction) {
    let Correction { number, problem, services: owners, .. } = correction;
    let state = api.storage.state();
    let is_same = |owner: &usize| {
        let service = &services[*owner];
        let present = state.object(SERVICE.id(), &service.key);
        present.is_some_and(|present| present.revision == service.revision)
    };
    let pool = number.pool();
    if !owners.iter().all(is_same) || !api.pools.correct(correction) {
        return api.metrics.repair.failed(pool);
    }
    if owners.is_empty() {
        api.metrics.repair.found(pool, *problem);
        tracing::warn!(%number, "released a leaked allocation");
    }
}

/// Writes an Event, or increments the count of the existing one.
async fn tell(
    api: &Api,
    service: &Service,
    finding: &Finding,
    before: Option<(String, u64)>,
) -> Result<(String, u64)> {
    let actor = Actor::new(api, &actors::APISERVER);
    if let Some((event, count)) = before {
        let series = json!({"count": count + 1, "lastObservedTime": micros(actor.now)});
        let place = Edit {
            kind: &EVENT,
            key: &event,
            uid: None,
            version: None,
            strategy: UpdateStrategy::Unchecked,
        };
        let again = |event: &mut Value| {
            *entry(event, &["series"]) = series.clone();
            Ok(())
        };
        // A deleted one is written anew.
        if actor.edit("patch", "", place, again).await.is_ok() {
            return Ok((event, count + 1));
        }
    }
    let event = event(service, finding, actor.now);
    let (namespace, _) = service.key.split_once('/').unwrap_or_default();
    let key = format!("{namespace}/{}", name_of(&event));
    // The name is random; if it exists already, the next pass picks another.
    actor.create(&EVENT, Some(namespace), event).await?;
    Ok((key, 1))
}

fn event(service: &Service, finding: &Finding, now: Timestamp) -> Value {
    let (namespace, name) = service.key.split_once('/').unwrap_or_default();
    let reporter = match finding.pool {
        Pool::ClusterIps => "ipallocator-repair-controller",
        Pool::NodePorts => "portallocator-repair-controller",
    };
    json!({
        "kind": EVENT.kind, "apiVersion": EVENT.api_version(),
        "metadata": {"name": format!("{name}.{:016x}", random::below(u64::MAX)), "namespace": namespace},
        "involvedObject": {
            "kind": SERVICE.kind, "apiVersion": SERVICE.api_version(),
            "namespace": namespace, "name": name,
            "uid": service.claims.uid, "resourceVersion": service.revision.to_string(),
        },
        "type": "Warning",
        "reason": finding.reason(), "action": finding.action(), "message": finding.note,
        "eventTime": micros(now),
        "reportingComponent": reporter, "reportingInstance": reporter,
    })
}

fn micros(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests;
