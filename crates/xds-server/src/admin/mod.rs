//! Health and metrics, and what operators ask about the mesh, as JSON.

mod inspect;
mod policies;

use std::{sync::Arc, time::Duration};

use evenkeel_admin::{
    endpoint::{Answer, METRICS_TYPE, Reply, typed},
    health::Health,
};
use evenkeel_locality::view::ProxyKey;
use evenkeel_xds::{
    Variant,
    session::{SyncState, TypeStatus},
};
use http::{HeaderValue, Method, StatusCode, Uri, header::ALLOW};
use serde_json::{Value, json};

use crate::control::{Control, Peer};

#[derive(Debug)]
pub(crate) struct Admin {
    control: Arc<Control>,
    health: Health,
}

pub(crate) fn answer(admin: Admin) -> Answer {
    Arc::new(move |method, uri| admin.answer(method, uri))
}

// === impl Admin ===

impl Admin {
    pub(crate) fn new(control: Arc<Control>, health: Health) -> Self {
        Self { control, health }
    }

    fn answer(&self, method: &Method, uri: &Uri) -> Reply {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut refusal =
                problem(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed");
            refusal.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        match uri.path() {
            "/metrics" => typed(METRICS_TYPE, self.control.metrics.text()),
            "/mesh/proxies" => json_reply(&self.proxies()),
            "/mesh/propagation" => json_reply(&self.propagation()),
            "/mesh/policies" => json_reply(&self.policies()),
            "/mesh/inspect" => self.inspect(uri.query().unwrap_or_default()),
            path => match self.health.answer(path, uri.query()) {
                Some(answer) => answer.map(|text| text.into_bytes().into()),
                None => problem(StatusCode::NOT_FOUND, "no such page"),
            },
        }
    }

    fn proxies(&self) -> Value {
        let peers = self.control.peers();
        let missing = {
            let mut engine = self.control.engine();
            let proxies: Vec<ProxyKey> = engine.view().proxies().collect();
            let missing: Vec<ProxyKey> =
                proxies.iter().filter(|proxy| !engine.is_connected(proxy)).cloned().collect();
            let proxies: std::collections::BTreeSet<ProxyKey> = proxies.into_iter().collect();
            (missing, proxies)
        };
        let (missing, known) = missing;
        let peers: Vec<Value> = peers
            .iter()
            .map(|peer| self.peer(peer, known.contains(&peer.identity.proxy)))
            .collect();
        json!({ "proxies": peers, "notConnected": missing })
    }

    fn peer(&self, peer: &Peer, has_dataplane: bool) -> Value {
        let Peer { identity, variant, since, shown, .. } = peer;
        let shown = shown.lock().clone();
        let types = shown
            .types
            .iter()
            .map(|status| (status.kind.service().to_owned(), self.status(status)));
        let protocol = match variant {
            Variant::StateOfTheWorld => "sotw",
            Variant::Incremental => "delta",
        };
        json!({
            "mesh": identity.proxy.mesh,
            "dataplane": identity.proxy.name,
            "hasDataplane": has_dataplane,
            "node": {
                "id": identity.id,
                "cluster": identity.cluster,
                "zone": identity.zone,
                "metadata": identity.metadata,
            },
            "protocol": protocol,
            "connectedAt": self.unix(*since),
            "oldestUnacknowledgedChange": shown.behind,
            "types": types.collect::<serde_json::Map<String, Value>>(),
        })
    }

    fn status(&self, status: &TypeStatus) -> Value {
        let TypeStatus { state, acked, acked_at, n_resources, n_subscribed, .. } = status;
        let mut value = json!({
            "version": acked.map(|version| version.to_string()),
            "acknowledgedAt": acked_at.map(|at| self.unix(at)),
            "resources": n_resources,
            "subscribed": n_subscribed,
        });
        let state = match state {
            SyncState::NotRequested => json!("NOT_REQUESTED"),
            SyncState::Synced => json!("SYNCED"),
            SyncState::Stale { since } => {
                value["since"] = json!(self.unix(*since));
                json!("STALE")
            }
            SyncState::Nacked(rejection) => {
                value["since"] = json!(self.unix(rejection.at));
                value["message"] = json!(rejection.message);
                value["rejected"] = json!(rejection.names);
                json!("NACKED")
            }
        };
        value["state"] = state;
        value
    }

    fn propagation(&self) -> Value {
        json!({ "changes": self.control.propagation() })
    }

    fn policies(&self) -> Value {
        let findings = self.control.findings().into_iter().map(|found| {
            json!({
                "policy": found.policy,
                "to": found.to,
                "severity": found.finding.severity(),
                "finding": found.finding,
                "message": found.finding.to_string(),
                "advice": found.finding.advice(),
            })
        });
        let findings: Vec<Value> = findings.collect();
        json!({
            "policies": policies::in_force(&self.control),
            "findings": findings,
            "invalid": self.control.problems(),
        })
    }

    fn inspect(&self, query: &str) -> Reply {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let name = pairs.find(|(key, _)| *key == "dataplane").map(|(_, value)| value);
        let name = name.map(|name| name.replace("%2F", "/").replace("%2f", "/"));
        let parts = name.as_deref().and_then(|name| name.split_once('/'));
        let Some((mesh, name)) = parts else {
            return problem(StatusCode::BAD_REQUEST, "name one: ?dataplane=MESH/NAME");
        };
        match inspect::inspect(&self.control, &ProxyKey::new(mesh, name)) {
            Some(inspected) => json_reply(&json!(inspected)),
            None => problem(StatusCode::NOT_FOUND, "there is no such Dataplane"),
        }
    }

    fn unix(&self, since_start: Duration) -> f64 {
        self.control.clock.unix(since_start)
    }
}

fn json_reply(value: &Value) -> Reply {
    typed("application/json", value.to_string())
}

fn problem(status: StatusCode, message: &str) -> Reply {
    let mut reply = json_reply(&json!({ "error": message }));
    *reply.status_mut() = status;
    reply
}
