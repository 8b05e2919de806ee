//! Whether a signed token is valid at a time, and whose it is: a pure decision.
//!
//! The ServiceAccount and the object that the token is bound to must exist, with the UIDs of the
//! claims. One that is being deleted counts for another minute, as in Kubernetes; for a token in a
//! Secret it does not count at all. Sources: `Validate` in `pkg/serviceaccount/claims.go` and
//! `legacy.go`.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use evenkeel_store::Revision;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::{
    claims::{BoundClaims, Claims, LEGACY_ISSUER, LegacyClaims, ObjectClaim, username},
    jwt::{Refusal, because},
};
use crate::{
    api::key,
    identity::User,
    kinds::{
        KindRef, NODE, POD, SECRET, SERVICE_ACCOUNT,
        read::{at, text},
    },
};

/// How much clocks may differ. Same as Kubernetes.
const LEEWAY: SignedDuration = SignedDuration::from_secs(60);

const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
const EXTRA: &str = "authentication.kubernetes.io/";

/// The objects that tokens depend on.
pub(crate) trait Objects {
    fn object(&self, kind: &'static KindRef, key: &str) -> Option<(Revision, Value)>;

    fn revision(&self, kind: &'static KindRef, key: &str) -> Option<Revision>;
}

/// A valid token.
#[derive(Clone, Debug)]
pub(crate) struct Valid {
    pub(super) claims: Claims,
    pub(crate) user: Arc<User>,
    seen: Vec<Seen>,
}

/// A version of an object that was found good.
#[derive(Clone, Debug)]
struct Seen {
    kind: &'static KindRef,
    key: String,
    revision: Revision,
    /// It does not count from this time on.
    ends: Option<Timestamp>,
}

pub(super) fn validate(
    token: &str,
    claims: Claims,
    now: Timestamp,
    objects: &impl Objects,
) -> Result<Valid, Refusal> {
    let mut look = Look { objects, now, seen: Vec::new() };
    let user = match claims.issuer == LEGACY_ISSUER {
        true => look.legacy(token, &claims),
        false => check_times(&claims, now).and_then(|()| look.bound(&claims)),
    };
    let user = Arc::new(user.map_err(|reason| because(&reason))?.authenticated());
    Ok(Valid { claims, user, seen: look.seen })
}

// === impl Valid ===

impl Valid {
    /// Whether all of it still holds, without reading an object again. If not, `validate` tells why.
    pub(super) fn still_holds(&self, now: Timestamp, objects: &impl Objects) -> bool {
        let is_seen = |seen: &Seen| {
            objects.revision(seen.kind, &seen.key) == Some(seen.revision)
                && seen.ends.is_none_or(|ends| now <= ends)
        };
        let in_time = self.claims.issuer == LEGACY_ISSUER || check_times(&self.claims, now).is_ok();
        in_time && self.seen.iter().all(is_seen)
    }
}

fn check_times(claims: &Claims, now: Timestamp) -> Result<(), String> {
    let time = |seconds: i64| Timestamp::from_second(seconds);
    let begins = |at: Option<i64>| {
        at.is_some_and(|at| time(at).map_or(at > 0, |at| later(now, LEEWAY) < at))
    };
    if begins(claims.not_before) {
        return Err("service account token is not valid yet".to_owned());
    }
    let is_over =
        |at: i64| time(at).map_or(at < 0, |at| now.checked_sub(LEEWAY).is_ok_and(|now| now > at));
    if claims.expiry.is_some_and(is_over) {
        return Err("service account token has expired".to_owned());
    }
    if begins(claims.issued_at) {
        return Err("service account token is issued in the future".to_owned());
    }
    Ok(())
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// The objects of one token, each noted when it is found good.
struct Look<'a, O> {
    objects: &'a O,
    now: Timestamp,
    seen: Vec<Seen>,
}

impl<O: Objects> Look<'_, O> {
    fn bound(&mut self, claims: &Claims) -> Result<User, String> {
        let BoundClaims { namespace, account, pod, secret, node, validating, mutating } =
            &claims.bound;
        self.account(namespace, account)?;
        if let Some(secret) = secret {
            self.one(&SECRET, Some(namespace), secret)?;
        }
        if let Some(pod) = pod {
            self.one(&POD, Some(namespace), pod)?;
        }
        // The Node of a Pod is only information.
        if let (Some(node), None) = (node, pod) {
            self.one(&NODE, None, node)?;
        }
        if validating.is_some() || mutating.is_some() {
            let gate = "APIServerWebhookAuthenticationToken";
            return Err(format!("feature gate {gate:?} is disabled, but token is webhook bound"));
        }
        let mut extra = BTreeMap::new();
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                extra.insert(format!("{EXTRA}{name}"), vec![value.to_owned()]);
            }
        };
        if !claims.id.is_empty() {
            add("credential-id", &format!("JTI={}", claims.id));
        }
        for (what, bound) in [("pod", pod), ("node", node)] {
            if let Some(ObjectClaim { name, uid }) = bound {
                add(&format!("{what}-name"), name);
                add(&format!("{what}-uid"), uid);
            }
        }
        Ok(User { extra, ..user(namespace, &account.name, &account.uid) })
    }

    fn account(&mut self, namespace: &str, claim: &ObjectClaim) -> Result<(), String> {
        let ObjectClaim { name, uid } = claim;
        let (key, revision, account) = self.account_object(namespace, name)?;
        let own = text(&account, &["metadata", "uid"]);
        if own != uid {
            return Err(format!("service account UID ({own}) does not match claim ({uid})"));
        }
        let ends = self.ends(&account);
        if ends.is_some_and(|ends| ends < self.now) {
            return Err(format!("service account {namespace}/{name} has been deleted"));
        }
        self.seen.push(Seen { kind: &SERVICE_ACCOUNT, key, revision, ends });
        Ok(())
    }

    fn account_object(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<(String, Revision, Value), String> {
        if name.is_empty() {
            return Err("resource name may not be empty".to_owned());
        }
        let key = key(Some(namespace), name);
        let found = self.objects.object(&SERVICE_ACCOUNT, &key);
        let (revision, account) =
            found.ok_or_else(|| format!("serviceaccounts {name:?} not found"))?;
        Ok((key, revision, account))
    }

    fn one(
        &mut self,
        kind: &'static KindRef,
        namespace: Option<&str>,
        claim: &ObjectClaim,
    ) -> Result<(), String> {
        let gone = || "service account token has been invalidated".to_owned();
        let key = key(namespace, &claim.name);
        let (revision, object) = self.objects.object(kind, &key).ok_or_else(gone)?;
        let own = text(&object, &["metadata", "uid"]);
        if own != claim.uid {
            let (what, uid) = (&*kind.singular, &claim.uid);
            return Err(format!(
                "{what} UID ({own}) does not match service account {what} ref claim ({uid})"
            ));
        }
        let ends = self.ends(&object);
        if ends.is_some_and(|ends| ends < self.now) {
            return Err(gone());
        }
        self.seen.push(Seen { kind, key, revision, ends });
        Ok(())
    }

    /// Until when an object counts that is being deleted.
    fn ends(&self, object: &Value) -> Option<Timestamp> {
        let deleted = text(object, &["metadata", "deletionTimestamp"]);
        if deleted.is_empty() {
            return None;
        }
        // An unreadable time counts as long ago.
        Some(deleted.parse().map_or(Timestamp::MIN, |deleted| later(deleted, LEEWAY)))
    }

    fn legacy(&mut self, token: &str, claims: &Claims) -> Result<User, String> {
        let LegacyClaims { namespace, account, uid, secret } = &claims.legacy;
        for (name, value) in [
            ("sub", &claims.subject),
            ("namespace", namespace),
            ("secretName", secret),
            ("serviceAccountName", account),
            ("serviceAccountUID", uid),
        ] {
            if value.is_empty() {
                return Err(format!("{name} claim is missing"));
            }
        }
        if claims.subject != username(namespace, account) {
            return Err("sub claim is invalid".to_owned());
        }
        let secret_key = key(Some(namespace), secret);
        let marked = self.legacy_secret(token, &secret_key)?;
        self.legacy_account(namespace, account, uid)?;
        if marked {
            return Err(format!(
                "the token in secret {secret_key} for service account {namespace}/{account} has \
                 been marked invalid. Use tokens from the TokenRequest API or manually created \
                 secret-based tokens, or remove the '{INVALID_SINCE}' label from the secret to \
                 temporarily allow use of this token"
            ));
        }
        Ok(user(namespace, account, uid))
    }

    /// The Secret must contain the token. Returns whether it is marked as invalid.
    fn legacy_secret(&mut self, token: &str, key: &str) -> Result<bool, String> {
        let gone = || "Token has been invalidated".to_owned();
        let (revision, secret) = self.objects.object(&SECRET, key).ok_or_else(gone)?;
        if is_dying(&secret) {
            return Err(gone());
        }
        let kept = STANDARD.decode(text(&secret, &["data", "token"])).unwrap_or_default();
        if !bool::from(kept.as_slice().ct_eq(token.as_bytes())) {
            return Err("Token does not match server's copy".to_owned());
        }
        self.seen.push(Seen { kind: &SECRET, key: key.to_owned(), revision, ends: None });
        Ok(!text(&secret, &["metadata", "labels", INVALID_SINCE]).is_empty())
    }

    fn legacy_account(&mut self, namespace: &str, name: &str, uid: &str) -> Result<(), String> {
        let (key, revision, account) = self.account_object(namespace, name)?;
        if is_dying(&account) {
            return Err(format!("ServiceAccount {namespace}/{name} has been deleted"));
        }
        let own = text(&account, &["metadata", "uid"]);
        if own != uid {
            return Err(format!("ServiceAccount UID ({own}) does not match claim ({uid})"));
        }
        self.seen.push(Seen { kind: &SERVICE_ACCOUNT, key, revision, ends: None });
        Ok(())
    }
}

fn is_dying(object: &Value) -> bool {
    !at(object, &["metadata", "deletionTimestamp"]).is_null()
}

fn user(namespace: &str, account: &str, uid: &str) -> User {
    let all = "system:serviceaccounts";
    User {
        name: username(namespace, account),
        uid: uid.to_owned(),
        groups: vec![all.to_owned(), format!("{all}:{namespace}")],
        ..User::default()
    }
}
