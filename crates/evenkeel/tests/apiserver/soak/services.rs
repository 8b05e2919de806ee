//! Services that are created and deleted, half of them by requests that are reset, and Deployments
//! that are scaled.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{
    Life,
    client::{Client, JSON, MERGE},
};
use crate::{
    hostile::{h2::Http2, raw},
    kill::model::Chance,
};

const COLLECTION: &str = "/api/v1/namespaces/default/services";
const NAMES: u64 = 60;
const BETWEEN: Duration = Duration::from_millis(5);

/// Addresses that Services got in this run.
#[derive(Debug, Default)]
pub(super) struct Addresses(BTreeSet<String>);

impl Addresses {
    pub(super) async fn churn(&mut self, life: &Life, until: Instant, mut chance: Chance) {
        self.0.clear();
        let (mut client, mut resetting) = (Client::new(life), None);
        while Instant::now() < until {
            let name = format!("svc-{}", chance.below(NAMES));
            let line = match chance.one_in(2) {
                true => format!("POST {COLLECTION}"),
                false => format!("DELETE {COLLECTION}/{name}"),
            };
            let body =
                if line.starts_with("POST") { service(&name, &mut chance) } else { json!({}) };
            if chance.one_in(2) {
                reset(
                    life,
                    &mut resetting,
                    &line,
                    &body,
                    Duration::from_micros(chance.below(4000)),
                )
                .await;
                continue;
            }
            match client.send(&line, JSON, body.to_string()).await {
                // Responses to creates; those to deletes contain no address.
                Some((200 | 201, made)) => {
                    self.0.extend(ips(&made).map(str::to_owned));
                    life.totals.writes.fetch_add(1, Ordering::Relaxed);
                }
                Some((404 | 409 | 507, _)) => {}
                Some((code, status)) => life.problem(format!("{line}: {code} {status}")),
                None => life.problem(format!("{line}: no answer while the server runs")),
            }
            sleep(BETWEEN).await;
        }
    }

    /// No address and no node port belongs to two Services.
    pub(super) async fn check(&mut self, life: &Life) {
        let Some(services) = listed(life).await else { return };
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        for service in &services {
            let (namespace, name) =
                (&service["metadata"]["namespace"], &service["metadata"]["name"]);
            let ports = service["spec"]["ports"].as_array().into_iter().flatten();
            let ports = ports.filter_map(|port| port["nodePort"].as_u64());
            let held = ips(service).map(str::to_owned).chain(ports.map(|port| port.to_string()));
            for address in held {
                if let Some(other) = owners.insert(address.clone(), format!("{namespace}/{name}")) {
                    life.problem(format!("{address} belongs to {namespace}/{name} and {other}"));
                }
            }
        }
    }

    /// Free addresses can be requested.
    pub(super) async fn check_free(&self, life: &Life) {
        let Some(services) = listed(life).await else { return };
        let held: BTreeSet<&str> = services.iter().flat_map(ips).collect();
        let mut client = Client::new(life);
        for ip in self.0.iter().filter(|ip| !held.contains(ip.as_str())).take(25) {
            let mut body =
                json!({"metadata": {"name": "probe"}, "spec": {"ports": [{"port": 80}]}});
            body["spec"]["clusterIP"] = ip.as_str().into();
            match client.send(&format!("POST {COLLECTION}"), JSON, body.to_string()).await {
                Some((201, _)) => {}
                other => life.problem(format!("{ip} is free and can't be had: {other:?}")),
            }
            let gone = client.send(&format!("DELETE {COLLECTION}/probe"), JSON, "").await;
            if gone.as_ref().is_none_or(|(code, _)| *code != 200) {
                life.problem(format!("the probe for {ip} stays: {gone:?}"));
            }
        }
    }
}

/// The sample's Deployments are scaled up and down, so that Pods and slices follow.
pub(super) async fn scale_deployments(life: &Life, until: Instant, mut chance: Chance) {
    let mut client = Client::new(life);
    while Instant::now() < until {
        let name = ["web", "cart", "payments", "search"][chance.below(4) as usize];
        let line = format!("PATCH /apis/apps/v1/namespaces/shop/deployments/{name}/scale");
        let body = json!({"spec": {"replicas": chance.below(12)}}).to_string();
        match client.send(&line, MERGE, body).await {
            Some((200 | 404 | 409 | 507, _)) => {}
            Some((code, status)) => life.problem(format!("{line}: {code} {status}")),
            None => life.problem(format!("{line}: no answer while the server runs")),
        }
        sleep(Duration::from_millis(200 + chance.below(800))).await;
    }
}

/// Sends a request and resets it after a moment.
async fn reset(
    life: &Life,
    connection: &mut Option<Http2>,
    line: &str,
    body: &Value,
    after: Duration,
) {
    if connection.is_none() {
        let Ok(stream) = raw::try_connect(&life.cluster.server, &["h2"]).await else { return };
        *connection = Http2::over(stream).await.ok();
    }
    let Some(http) = connection else { return };
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let answer = http.request(method, path, body.to_string());
    life.totals.resets.fetch_add(1, Ordering::Relaxed);
    if let Ok(Err(_)) = timeout(after, answer).await {
        *connection = None;
    }
}

fn service(name: &str, chance: &mut Chance) -> Value {
    let of = ["ClusterIP", "ClusterIP", "NodePort", "LoadBalancer"][chance.below(4) as usize];
    json!({
        "metadata": {"name": name},
        "spec": {"type": of, "selector": {"app": name}, "ports": [{"port": 80}]},
    })
}

async fn listed(life: &Life) -> Option<Vec<Value>> {
    match Client::new(life).get("/api/v1/services").await {
        Some((200, list)) => list["items"].as_array().cloned(),
        other => {
            life.problem(format!("can't list Services: {other:?}"));
            None
        }
    }
}

fn ips(service: &Value) -> impl Iterator<Item = &str> {
    let all = service["spec"]["clusterIPs"].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).filter(|ip| *ip != "None")
}
