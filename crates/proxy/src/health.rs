//! `/healthz` and `/livez`, as load balancers and kubelets ask kube-proxy for them.
//!
//! Rules that are late are unhealthy: a change that has been waiting for a minute. `/healthz` also says
//! no on a node that is about to go, so that load balancers stop using it; `/livez` does not, or the
//! proxy would be restarted for it.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use evenkeel_admin::{
    endpoint::{Reply, typed},
    supervisor::Supervisor,
};
use evenkeel_k8s::watch::{Conditions, Resource};
use http::{HeaderValue, Method, StatusCode, Uri};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::metrics::Metrics;

/// A change that is not in force after this time is too late.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The state of a proxy, as its tasks tell it.
#[derive(Debug)]
pub(crate) struct Vitals {
    pub(crate) watches: Arc<Conditions>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Since when a change waits to be in force.
    waiting: Option<Instant>,
    is_synced: bool,
    /// The Node is known and stays.
    is_eligible: bool,
    /// Why the last commit failed.
    problem: Option<String>,
    last_sync: Option<SystemTime>,
    is_stopping: bool,
}

// === impl Vitals ===

impl Vitals {
    pub(crate) fn new(watches: Arc<Conditions>) -> Vitals {
        Vitals { watches, state: Mutex::default() }
    }

    pub(crate) fn waiting(&self, now: Instant) {
        self.state.lock().waiting.get_or_insert(now);
    }

    pub(crate) fn in_force(&self) {
        let mut state = self.state.lock();
        (state.waiting, state.problem, state.is_synced) = (None, None, true);
        state.last_sync = Some(SystemTime::now());
    }

    pub(crate) fn failed(&self, problem: String) {
        self.state.lock().problem = Some(problem);
    }

    pub(crate) fn eligible(&self, is_eligible: bool) {
        self.state.lock().is_eligible = is_eligible;
    }

    pub(crate) fn stopping(&self) {
        self.state.lock().is_stopping = true;
    }

    /// Rules follow the API.
    pub(crate) fn is_healthy(&self, now: Instant) -> bool {
        let state = self.state.lock();
        state.waiting.is_none_or(|since| now.saturating_duration_since(since) < TIMEOUT)
    }

    /// What `/readyz` says no for.
    fn problem(&self, now: Instant) -> Option<String> {
        let watches = [Resource::Nodes, Resource::Services, Resource::EndpointSlices];
        let state = self.state.lock();
        if state.is_stopping {
            return Some("process is shutting down".to_owned());
        }
        if !state.is_synced {
            return Some("rules are not synced yet".to_owned());
        }
        let failed = state.problem.clone();
        drop(state);
        failed.or_else(|| watches.into_iter().find_map(|watch| self.watches.problem(watch, now)))
    }
}

/// The answers of the health endpoint.
pub(crate) fn answer(
    vitals: &Arc<Vitals>,
    metrics: &Arc<Metrics>,
    supervisor: &Supervisor,
    uri: &Uri,
    method: &Method,
) -> Reply {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n".to_owned());
    }
    let now = Instant::now();
    match uri.path() {
        "/healthz" => status(vitals, metrics, now, true),
        "/livez" => status(vitals, metrics, now, false),
        "/readyz" => {
            let task = supervisor.names().into_iter().find_map(|name| supervisor.check(name).err());
            match vitals.problem(now).or(task) {
                None => plain(StatusCode::OK, "ok".to_owned()),
                Some(problem) => plain(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!("readyz check failed: {problem}\n"),
                ),
            }
        }
        _ => plain(StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
    }
}

/// As kube-proxy writes it.
fn status(vitals: &Vitals, metrics: &Metrics, now: Instant, is_healthz: bool) -> Reply {
    let is_healthy = vitals.is_healthy(now);
    let state = vitals.state.lock();
    let is_ok = is_healthy && (state.is_eligible || !is_healthz);
    let current = Timestamp::now();
    let last = state.last_sync.and_then(|time| Timestamp::try_from(time).ok());
    let updated = if is_ok { current } else { last.unwrap_or(current) };
    let of_family = json!({ "lastUpdated": updated.to_string(), "healthy": is_healthy });
    let mut body = json!({
        "lastUpdated": updated.to_string(),
        "currentTime": current.to_string(),
        "healthy": is_healthy,
        "status": { "IPv4": of_family, "IPv6": of_family },
    });
    if is_healthz {
        body["nodeEligible"] = state.is_eligible.into();
    }
    drop(state);
    let code = if is_ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    metrics.answered(is_healthz, code.as_u16());
    with("application/json", code, body.to_string())
}

fn plain(code: StatusCode, body: String) -> Reply {
    with("text/plain; charset=utf-8", code, body)
}

pub(crate) fn with(content_type: &'static str, code: StatusCode, body: String) -> Reply {
    let mut response = typed(content_type, body);
    *response.status_mut() = code;
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert("x-content-type-options", nosniff);
    response
}
