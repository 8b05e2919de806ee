//! Objects that exist in every cluster: four namespaces, the Service `kubernetes` with its slice, and
//! Kubernetes' default roles and bindings.

use std::net::IpAddr;

use evenkeel_authorization::rbac::defaults::{self, DefaultObject};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::definitions;
use crate::{
    api::{Api, key, name_of},
    chain::actor::Actor,
    document, fairness,
    identity::actors,
    kinds::{
        self, ENDPOINT_SLICE, KindRef, NAMESPACE, Part, SERVICE,
        read::{entry, text},
    },
    registry::{DeleteOptions, Edit, Result, UpdateStrategy},
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
    roles(api).await?;
    api.started.roles();
    definitions::install(api).await;
    fairness::start(api).await;
    note_gates(api).await
}

/// Kubernetes' default roles and bindings: created, or completed. Together, so that they share a few
/// syncs of the disk.
async fn roles(api: &Api) -> Result<()> {
    let objects = defaults::objects();
    let each: Vec<_> = objects.into_iter().map(|object| reconciled(api, object)).collect();
    stream::iter(each).buffer_unordered(ROLES_AT_ONCE).try_collect().await
}

async fn reconciled(api: &Api, object: DefaultObject) -> Result<()> {
    let DefaultObject { kind, namespace, name, value } = object;
    let Some(kind) = kinds::of_kind(RBAC, kind) else { return Ok(()) };
    let actor = Actor::new(api, &actors::APISERVER);
    let key = key(namespace, name);
    let present = api.storage.object(kind, &key);
    let present = present.map(|object| document::value(kind, &object)).transpose()?;
    match defaults::reconcile(present.as_ref(), &value) {
        defaults::Action::Nothing => {}
        defaults::Action::Create(value) => drop(actor.create(kind, namespace, value).await?),
        defaults::Action::Update(value) => {
            let strategy = UpdateStrategy::OfKind(Part::Main);
            let edit = Edit { kind, key: &key, uid: None, version: None, strategy };
            let replace = |object: &mut Value| {
                *object = value.clone();
                Ok(())
            };
            actor.edit("update", "", edit, replace).await?;
        }
        // A binding can't be changed to refer to another role.
        defaults::Action::Recreate(value) => {
            actor.delete(kind, &key, &DeleteOptions::default()).await?;
            actor.create(kind, namespace, value).await?;
        }
    }
    Ok(())
}

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const ROLES_AT_ONCE: usize = 64;

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
    kind: &'static KindRef,
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
