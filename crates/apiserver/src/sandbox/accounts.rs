//! ServiceAccounts: each Namespace gets one named `default` and the CA certificate. A Secret
//! created for the token of a ServiceAccount is filled in; none is created on its own. Sources:
//! `pkg/controller/serviceaccount`, `pkg/controller/certificates/rootcacertpublisher`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use serde_json::json;

use super::{
    action::{Action, Step},
    world::{ROOT_CA, World, annotation, is_dying, namespace_of, uid_of},
};
use crate::{
    identity::service_account::{NAME, UID},
    kinds::{CONFIG_MAP, SECRET, SERVICE_ACCOUNT},
    settings::Sandbox,
};

pub(super) fn namespace(world: &World, name: &str, _: Timestamp, _: &Sandbox) -> Step {
    let Some(namespace) = world.namespaces.get(name) else { return Step::nothing() };
    if is_dying(&namespace.metadata) {
        return Step::nothing();
    }
    let mut actions = Vec::new();
    if !world.service_accounts.contains_key(format!("{name}/default").as_str()) {
        let object = json!({"metadata": {"name": "default"}});
        let namespace = Some(name.to_owned());
        actions.push(Action::Create { kind: &SERVICE_ACCOUNT, namespace, object });
    }
    actions.extend(root_certificate(world, name));
    Step::act(actions)
}

fn root_certificate(world: &World, namespace: &str) -> Option<Action> {
    let key = format!("{namespace}/{ROOT_CA}");
    let wanted = json!({"ca.crt": world.authority});
    let Some(present) = world.config_maps.get(key.as_str()) else {
        let note = "Contains a CA bundle that can be used to verify the API server.";
        let annotations = json!({"kubernetes.io/description": note});
        let object =
            json!({"metadata": {"name": ROOT_CA, "annotations": annotations}, "data": wanted});
        let namespace = Some(namespace.to_owned());
        return Some(Action::Create { kind: &CONFIG_MAP, namespace, object });
    };
    let own = present.data.as_ref().and_then(|data| data.get("ca.crt"));
    (own != Some(&world.authority))
        .then(|| Action::patch(&CONFIG_MAP, &present.metadata, json!({"data": wanted})))
}

/// A Secret is filled in for its account, and deleted with it.
pub(super) fn token(world: &World, key: &str, _: Timestamp, _: &Sandbox) -> Step {
    let Some(secret) = world.secrets.get(key) else { return Step::nothing() };
    let Some(name) = annotation(&secret.metadata, NAME) else { return Step::nothing() };
    if is_dying(&secret.metadata) {
        return Step::nothing();
    }
    let place = format!("{}/{name}", namespace_of(&secret.metadata));
    let account = world.service_accounts.get(place.as_str());
    match account.filter(|account| belongs(secret, account)) {
        None => Step::act(vec![Action::delete(&SECRET, &secret.metadata, None)]),
        Some(account) if !is_filled(secret, &world.authority) => {
            let [uid, account_uid] =
                [&secret.metadata, &account.metadata].map(|of| uid_of(of).to_owned());
            Step::act(vec![Action::Token { key: key.to_owned(), uid, account_uid }])
        }
        Some(_) => Step::nothing(),
    }
}

/// A Secret created by hand names the account without its uid.
fn belongs(secret: &Secret, account: &ServiceAccount) -> bool {
    let uid = annotation(&secret.metadata, UID);
    annotation(&secret.metadata, NAME) == account.metadata.name.as_deref()
        && uid.is_none_or(|uid| uid == uid_of(&account.metadata))
}

fn is_filled(secret: &Secret, authority: &str) -> bool {
    let data = |name: &str| secret.data.as_ref().and_then(|data| data.get(name));
    annotation(&secret.metadata, UID).is_some()
        && ["namespace", "token"].iter().all(|name| data(name).is_some())
        && data("ca.crt").is_some_and(|bytes| bytes.0 == authority.as_bytes())
}
