//! Tokens of ServiceAccounts, as issued by the sandbox: stored in a Secret, which they name.
//!
//! A token is `evenkeel.SECRET.RANDOM`: the Secret's key in base64, and 256 random bits. It is
//! valid as long as the Secret contains it and the Secret's ServiceAccount exists. The whole token
//! is compared in constant time; the part that finds the Secret is not secret.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::User;
use crate::kinds::{Kind, SECRET, SERVICE_ACCOUNT, read::text};

pub(crate) const NAME: &str = "kubernetes.io/service-account.name";
pub(crate) const UID: &str = "kubernetes.io/service-account.uid";
pub(crate) const TYPE: &str = "kubernetes.io/service-account-token";

const PREFIX: &str = "evenkeel.";

/// `secret`: the key of the Secret.
pub(crate) fn new_token(secret: &str, random: &str) -> String {
    format!("{PREFIX}{}.{random}", URL_SAFE_NO_PAD.encode(secret))
}

/// The user of a token. `read` looks up objects.
pub(crate) fn user(token: &str, read: impl Fn(&Kind, &str) -> Option<Value>) -> Option<User> {
    let key = secret_of(token)?;
    let secret = read(&SECRET, &key)?;
    if text(&secret, &["type"]) != TYPE {
        return None;
    }
    let kept = STANDARD.decode(text(&secret, &["data", "token"])).ok()?;
    if !bool::from(kept.as_slice().ct_eq(token.as_bytes())) {
        return None;
    }
    let annotation = |name| text(&secret, &["metadata", "annotations", name]);
    let (namespace, name) = (key.split_once('/')?.0, annotation(NAME));
    let account = read(&SERVICE_ACCOUNT, &format!("{namespace}/{name}"))?;
    let uid = text(&account, &["metadata", "uid"]);
    if uid != annotation(UID) {
        return None;
    }
    let groups =
        ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    let user = User {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        uid: uid.to_owned(),
        groups: groups.into(),
        ..User::default()
    };
    Some(user.authenticated())
}

fn secret_of(token: &str) -> Option<String> {
    let (secret, _) = token.strip_prefix(PREFIX)?.split_once('.')?;
    String::from_utf8(URL_SAFE_NO_PAD.decode(secret).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_is_its_account_as_long_as_secret_and_account_are_there() {
        let token = new_token("shop/web-token-x", "0123");
        let secret = |token: &str, uid: &str, kind: &str| {
            json!({"type": kind, "data": {"token": STANDARD.encode(token)},
                "metadata": {"annotations": {NAME: "web", UID: uid}}})
        };
        let account = json!({"metadata": {"uid": "u1"}});
        let cases = [
            (Some(secret(&token, "u1", TYPE)), Some(account.clone()), true),
            (None, Some(account.clone()), false),
            (Some(secret(&token, "u1", TYPE)), None, false),
            (Some(secret(&token, "u0", TYPE)), Some(account.clone()), false),
            (Some(secret(&token, "u1", "Opaque")), Some(account.clone()), false),
            (Some(secret("", "u1", TYPE)), Some(account.clone()), false),
            (
                Some(secret(&new_token("shop/web-token-x", "0124"), "u1", TYPE)),
                Some(account),
                false,
            ),
        ];
        for (secret, account, expected) in cases {
            let read = |kind: &Kind, key: &str| match key {
                "shop/web-token-x" if kind == &SECRET => secret.clone(),
                "shop/web" if kind == &SERVICE_ACCOUNT => account.clone(),
                _ => None,
            };
            let found = user(&token, read);
            assert_eq!(found.is_some(), expected, "{secret:?}");
            let Some(user) = found else { continue };
            assert_eq!(user.name, "system:serviceaccount:shop:web");
            let groups =
                ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"];
            assert_eq!(user.groups, groups);
        }
        for wrong in ["", "evenkeel.", "evenkeel.?.x", "evenkeel.eA.x", "x"] {
            assert_eq!(user(wrong, |_, _| None), None);
        }
    }
}
