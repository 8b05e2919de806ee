//! Objects that exist in every cluster: four namespaces, and the Service `kubernetes` with its
//! slice.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::{
    api::{Api, key, name_of},
    chain::actor::Actor,
    document,
    identity::actors,
    kinds::{
        ENDPOINT_SLICE, Kind, NAMESPACE, SERVICE,
        read::{entry, text},
    },
    registry::{Edit, Result, UpdateStrategy},
};

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

pub(crate) async fn create(api: &Api) -> Result<()> {
    for name in NAMESPACES {
        present(api, &NAMESPACE, None, json!({"metadata": {"name": name}})).await?;
    }
    api.started.namespaces();
    present(api, &SERVICE, Some("default"), service(api)).await?;
    present(api, &ENDPOINT_SLICE, Some("default"), slice(api)).await?;
    api.started.kubernetes();
    note_gates(api).await
}

/// The gates that affect how Services are shown, if they ever differed from the default.
const GATES: &str = "evenkeel.dev/feature-gates";

/// Records on the Service `kubernetes` how Services are shown. The record outlives this process,
/// and it is a write: its revision separates what was shown before a change of gates from what is
/// shown after.
async fn note_gates(api: &Api) -> Result<()> {
    let is_on = api.settings.features.service_traffic_distribution;
    let gates = format!("ServiceTrafficDistribution={is_on}");
    let path = ["metadata", "annotations", GATES];
    let noted = || {
        let object = api.storage.object(&SERVICE, "default/kubernetes")?;
        let value = document::value(&SERVICE, &object).ok()?;
        Some((text(&value, &path).to_owned(), object.revision))
    };
    let before = noted().map(|(gates, _)| gates).unwrap_or_default();
    if before.is_empty() && is_on {
        return Ok(());
    }
    if before != gates {
        let place = Edit {
            kind: &SERVICE,
            key: "default/kubernetes",
            uid: None,
            version: None,
            strategy: UpdateStrategy::Unchecked,
        };
        let note = |value: &mut Value| {
            *entry(value, &path) = gates.as_str().into();
            Ok(())
        };
        Actor::new(api, &actors::APISERVER).edit("patch", "", place, note).await?;
    }
    if let Some((_, revision)) = noted() {
        // This is the only place that sets it, once per process.
        let _ = api.services_shown_since.set(revision);
    }
    Ok(())
}

async fn present(
    api: &Api,
    kind: &'static Kind,
    namespace: Option<&str>,
    value: Value,
) -> Result<()> {
    let key = key(namespace, name_of(&value));
    if api.storage.object(kind, &key).is_some() {
        return Ok(());
    }
    // There are no other writers yet; a concurrent write would have been the same.
    Actor::new(api, &actors::APISERVER).create(kind, namespace, value).await.map(drop)
}

fn service(api: &Api) -> Value {
    let mut spec = json!({
        "ports": [{"name": "https", "port": 443, "targetPort": api.address.port()}],
    });
    if let Some(ip) = api.pools.kubernetes_ip() {
        spec["clusterIP"] = ip.to_string().into();
    }
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    json!({"metadata": {"name": "kubernetes", "labels": labels}, "spec": spec})
}

fn slice(api: &Api) -> Value {
    let address = api.address.ip();
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    // A slice may not contain a loopback address: the first service address stands for it.
    let address = match address {
        address if address.is_loopback() || address.is_unspecified() => {
            api.pools.kubernetes_ip().unwrap_or(address)
        }
        address => address,
    };
    let family = if matches!(address, IpAddr::V6(_)) { "IPv6" } else { family };
    json!({
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": family,
        "endpoints": [{"addresses": [address.to_string()], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": api.address.port(), "protocol": "TCP"}],
    })
}
