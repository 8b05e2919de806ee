//! What is missing in a namespace and in a Secret for a token: pure decisions.
//!
//! Sources: `pkg/controller/serviceaccount` for the account `default` and the Secrets,
//! `pkg/controller/certificates/rootcacertpublisher` for the CA certificate.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    identity::{User, actors},
    kinds::{
        CONFIG_MAP, KindRef, SERVICE_ACCOUNT,
        read::{at, entry, text},
    },
};

pub(super) const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";
pub(super) const ROOT_CA: &str = "kube-root-ca.crt";
pub(super) const DEFAULT: &str = "default";

const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
     endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
     guaranteed across distributions of Kubernetes clusters.";

/// What tokens of earlier versions of this server begin with. They are not accepted any more.
const FORMER: &[u8] = b"evenkeel.";

/// A write that is due.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    CreateAccount,
    CreateRoot(Value),
    /// The ConfigMap of the CA certificate has something else in it.
    RestoreRoot,
    FillSecret {
        uid: String,
        account: String,
        account_uid: String,
    },
    DeleteSecret {
        uid: String,
    },
}

/// The changes of a namespace, which exists; its account `default` and CA certificate may not.
pub(super) fn namespace(
    namespace: &Value,
    has_account: bool,
    root: Option<&Value>,
    authority: &str,
) -> Vec<Change> {
    if is_dying(namespace) {
        return Vec::new();
    }
    let mut changes = Vec::new();
    if !has_account {
        changes.push(Change::CreateAccount);
    }
    match root {
        None => {
            let mut root = json!({"metadata": {"name": ROOT_CA}});
            restore(&mut root, authority);
            changes.push(Change::CreateRoot(root));
        }
        Some(root) if !is_published(root, authority) => changes.push(Change::RestoreRoot),
        Some(_) => {}
    }
    changes
}

fn is_published(root: &Value, authority: &str) -> bool {
    root["data"] == json!({"ca.crt": authority})
        && !text(root, &["metadata", "annotations", DESCRIPTION]).is_empty()
}

/// Sets the content of the ConfigMap of the CA certificate.
pub(super) fn restore(root: &mut Value, authority: &str) {
    root["data"] = json!({"ca.crt": authority});
    *entry(root, &["metadata", "annotations", DESCRIPTION]) = DESCRIPTION_TEXT.into();
}

/// The account that a Secret for a token names.
pub(super) fn account_of(secret: &Value) -> Option<&str> {
    let name = text(secret, &["metadata", "annotations", ACCOUNT_NAME]);
    (text(secret, &["type"]) == TOKEN_TYPE && !name.is_empty()).then_some(name)
}

/// A Secret is filled in for its account, and deleted with it. One that names no account is left
/// alone, and none is created.
pub(super) fn secret(secret: &Value, account: Option<&Value>, authority: &str) -> Option<Change> {
    let name = account_of(secret)?;
    if is_dying(secret) {
        return None;
    }
    let uid = text(secret, &["metadata", "uid"]).to_owned();
    let wanted = text(secret, &["metadata", "annotations", ACCOUNT_UID]);
    let own = |account: &&Value| {
        // One created by hand names the account without its uid.
        wanted.is_empty() || wanted == text(account, &["metadata", "uid"])
    };
    let Some(account) = account.filter(own) else { return Some(Change::DeleteSecret { uid }) };
    let is_filled = !wanted.is_empty()
        && decoded(secret, "ca.crt") == authority.as_bytes()
        && !decoded(secret, "namespace").is_empty()
        && has_token(secret);
    let account_uid = text(account, &["metadata", "uid"]).to_owned();
    (!is_filled).then(|| Change::FillSecret { uid, account: name.to_owned(), account_uid })
}

/// Fills in a Secret; an existing token is kept unless no server accepts it any more.
pub(super) fn fill(
    secret: &mut Value,
    namespace: &str,
    account_uid: &str,
    authority: &str,
    token: &str,
) {
    *entry(secret, &["metadata", "annotations", ACCOUNT_UID]) = account_uid.into();
    *entry(secret, &["data", "ca.crt"]) = STANDARD.encode(authority).into();
    if decoded(secret, "namespace").is_empty() {
        *entry(secret, &["data", "namespace"]) = STANDARD.encode(namespace).into();
    }
    if !has_token(secret) {
        *entry(secret, &["data", "token"]) = STANDARD.encode(token).into();
    }
}

fn has_token(secret: &Value) -> bool {
    let token = decoded(secret, "token");
    !token.is_empty() && !token.starts_with(FORMER)
}

fn decoded(secret: &Value, name: &str) -> Vec<u8> {
    STANDARD.decode(text(secret, &["data", name])).unwrap_or_default()
}

fn is_dying(object: &Value) -> bool {
    !at(object, &["metadata", "deletionTimestamp"]).is_null()
}

// === impl Change ===

impl Change {
    /// Who makes it, as in Kubernetes.
    pub(super) fn user(&self) -> &'static Arc<User> {
        match self {
            Change::CreateAccount => &actors::SERVICE_ACCOUNT_CONTROLLER,
            Change::CreateRoot(_) | Change::RestoreRoot => &actors::ROOT_CA_PUBLISHER,
            Change::FillSecret { .. } | Change::DeleteSecret { .. } => &actors::CONTROLLER_MANAGER,
        }
    }

    /// The object to be created.
    pub(super) fn creates(&self) -> Option<(&'static KindRef, Value)> {
        match self {
            Change::CreateAccount => {
                Some((&SERVICE_ACCOUNT, json!({"metadata": {"name": DEFAULT}})))
            }
            Change::CreateRoot(root) => Some((&CONFIG_MAP, root.clone())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_its_account_and_the_certificate() {
        let live = json!({"metadata": {"name": "shop"}});
        let dying = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        let mut root = json!({"metadata": {"name": ROOT_CA}});
        restore(&mut root, "CA");
        let with = |path: &[&str], value: Value| {
            let mut root = root.clone();
            *entry(&mut root, path) = value;
            root
        };
        let create = Change::CreateRoot(root.clone());
        for (place, has_account, present, expected) in [
            (&live, false, None, vec![Change::CreateAccount, create.clone()]),
            (&live, true, None, vec![create]),
            (&live, true, Some(root.clone()), vec![]),
            (&live, true, Some(with(&["data", "ca.crt"], json!("x"))), vec![Change::RestoreRoot]),
            (&live, true, Some(with(&["data", "more"], json!("x"))), vec![Change::RestoreRoot]),
            (&live, true, Some(with(&["data"], Value::Null)), vec![Change::RestoreRoot]),
            (&live, true, Some(with(&["metadata"], json!({}))), vec![Change::RestoreRoot]),
            (&live, true, Some(with(&["metadata", "labels"], json!({"a": "b"}))), vec![]),
            (&dying, false, None, vec![]),
        ] {
            let found = namespace(place, has_account, present.as_ref(), "CA");
            assert_eq!(found, expected, "{place} {present:?}");
        }
    }

    #[test]
    fn a_secret_is_filled_in_for_its_account_and_deleted_with_it() {
        let account = json!({"metadata": {"name": "web", "uid": "u1"}});
        let base = json!({
            "metadata": {"uid": "s1", "annotations": {ACCOUNT_NAME: "web"}}, "type": TOKEN_TYPE,
        });
        let with = |value: &Value, path: &[&str], to: Value| {
            let mut value = value.clone();
            *entry(&mut value, path) = to;
            value
        };
        let mut full = base.clone();
        fill(&mut full, "shop", "u1", "CA", "a.b.c");
        let kept = full.clone();
        fill(&mut full, "shop", "u1", "CA", "other");
        assert_eq!(full, kept, "a token is kept");
        let former = STANDARD.encode("evenkeel.c2hvcA.00");
        let former = with(&full, &["data", "token"], json!(former));
        let (uid, account_uid) = ("s1".to_owned(), "u1".to_owned());
        let filled =
            Some(Change::FillSecret { uid: uid.clone(), account: "web".to_owned(), account_uid });
        let deleted = Some(Change::DeleteSecret { uid });
        let uid_path = ["metadata", "annotations", ACCOUNT_UID];
        for (value, has_account, expected) in [
            (base.clone(), true, &filled),
            (full.clone(), true, &None),
            (former.clone(), true, &filled),
            (with(&full, &["data", "ca.crt"], json!("x")), true, &filled),
            (with(&full, &["data", "namespace"], Value::Null), true, &filled),
            (with(&full, &uid_path, json!("u0")), true, &deleted),
            (full.clone(), false, &deleted),
            (base.clone(), false, &deleted),
            (with(&base, &["type"], json!("Opaque")), false, &None),
            (with(&base, &["metadata", "annotations"], json!({})), false, &None),
            (with(&base, &["metadata", "deletionTimestamp"], json!("x")), false, &None),
        ] {
            let found = secret(&value, has_account.then_some(&account), "CA");
            assert_eq!(&found, expected, "{value}");
        }
        let mut renewed = former;
        fill(&mut renewed, "shop", "u1", "CA", "a.b.c");
        assert_eq!(renewed, full, "a token that nobody accepts is replaced");
    }
}
