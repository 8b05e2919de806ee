//! `serviceaccounts/token`: issues a token for an account.
//!
//! The order of the checks and their messages are those of
//! `pkg/registry/core/serviceaccount/storage/token.go`.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    claims::{BoundClaims, NewToken, ObjectClaim},
    jwt::MAX_LENGTH,
    kubelet::{self, Requested},
};
use crate::{
    answer::Answer,
    api::{Api, Call, key},
    body::{self, Expected},
    document,
    invalid::{Errors, FieldError, Path},
    kinds::{
        Kind, KindRef, NODE, POD, SECRET, SERVICE_ACCOUNT,
        metadata::seconds,
        read::{at, entry, number, text},
    },
    random,
    settings::ServiceAccounts,
    status::{Failure, Result},
    verbs,
};

const TOKEN_REQUEST: Expected<'_> = Expected {
    group: "authentication.k8s.io",
    version: "v1",
    kind: "TokenRequest",
    schema: "io.k8s.api.authentication.v1.TokenRequest",
};

const DEFAULT_SECONDS: i64 = 3600;
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;
/// A lifetime that kubelets ask for where an old client may not read its token again. Such a token
/// is valid for a year, and its use is worth a warning from then on.
const EXTENDED: i64 = 3607;
const EXTENSION: i64 = 365 * 24 * 3600;

const UID_MISMATCH: &str = "does not match the UID in record. The object might have been deleted \
                            and then recreated";

/// An accepted request.
#[derive(Debug)]
struct Accepted {
    bound: BoundClaims,
    audiences: Vec<String>,
    lifetime: i64,
    warn_after: Option<i64>,
    /// The request as it is answered, without its status.
    shown: Value,
    warnings: Vec<String>,
}

pub(crate) async fn create(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let (kind, name) = (call.kind(), &call.resource.name);
    let options = call.query.write_options("CreateOptions")?;
    let read = body::typed(call.body(), TOKEN_REQUEST, options.field_validation)?;
    let namespace = call.namespace().unwrap_or_default();
    check_namespace(&read.value, namespace)?;
    let registry = call.registry(api, options.dry_run);
    registry.check_namespace(kind, namespace, name)?;
    let find = |kind: &Kind, key: &str| {
        let object = api.storage.object(kind, key)?;
        document::value(kind, &object).ok()
    };
    let requested = Requested { kind, key: &call.key(name), request: &read.value };
    kubelet::restrict(&registry, requested, |pod| find(&POD, &call.key(pod)))?;
    let settings = &api.settings.service_accounts;
    let mut accepted = accept(read.value, (namespace, name), settings, call.now(), find)?;
    accepted.warnings.splice(0..0, read.warnings);
    let end = call.now() + SignedDuration::from_secs(accepted.requested());
    let token = issued(api, &accepted, call.now()).await?;
    let mut shown = accepted.shown;
    shown["status"] = json!({"token": token, "expirationTimestamp": seconds(end)});
    Ok(verbs::shown(&shown, call.view.format)?.with_warnings(accepted.warnings))
}

async fn issued(api: &Api, accepted: &Accepted, now: Timestamp) -> Result<String> {
    let accounts = api.accounts.clone();
    let Accepted { bound, audiences, lifetime, warn_after, .. } = accepted;
    let (bound, audiences) = (bound.clone(), audiences.clone());
    let (lifetime, warn_after) = (*lifetime, *warn_after);
    let issue = move || {
        let token = NewToken {
            issuer: accounts.settings.issuer(),
            audiences: &audiences,
            bound,
            lifetime,
            warn_after,
            id: &random::uuid(),
        };
        accounts.issue(&token, now)
    };
    // It may write the file of keys.
    let issued = tokio::task::spawn_blocking(issue).await;
    let failed = |why: &str| Failure::internal_error(&format!("failed to generate token: {why}"));
    let token = issued.map_err(|_| failed("stopped"))?.map_err(|why| failed(&why.to_string()))?;
    match token.len() > MAX_LENGTH {
        true => Err(invalid(
            "",
            &[FieldError::forbidden(
                Path::root("spec").child("audiences"),
                format!("may not result in a token of more than {MAX_LENGTH} bytes"),
            )],
        )),
        false => Ok(token),
    }
}

/// `find` looks up objects.
fn accept(
    mut request: Value,
    (namespace, name): (&str, &str),
    settings: &ServiceAccounts,
    now: Timestamp,
    find: impl Fn(&Kind, &str) -> Option<Value>,
) -> Result<Accepted> {
    let given = text(&request, &["metadata", "name"]);
    if !given.is_empty() && given != name {
        let path = Path::root("metadata").child("name");
        let why = "must match the service account name if specified";
        return Err(invalid(name, &[FieldError::invalid(path, &json!(given), why)]));
    }
    let account = find(&SERVICE_ACCOUNT, &key(Some(namespace), name));
    let account = account.ok_or_else(|| Failure::not_found(&SERVICE_ACCOUNT, name))?;
    let uid = text(&account, &["metadata", "uid"]);
    check_uid(&request, name, uid)?;
    let metadata = [
        ("name", name.into()),
        ("namespace", namespace.into()),
        ("uid", uid.into()),
        ("creationTimestamp", seconds(now).into()),
    ];
    for (field, value) in metadata {
        *entry(&mut request, &["metadata", field]) = value;
    }
    let errors = validate(&request);
    if !errors.is_empty() {
        return Err(invalid("", &errors));
    }
    let account = ObjectClaim::new(name, uid);
    let bound = bound(
        &request,
        BoundClaims { namespace: namespace.to_owned(), account, ..BoundClaims::default() },
        find,
    )?;
    Ok(accepted(request, bound, settings))
}

fn check_namespace(request: &Value, namespace: &str) -> Result<()> {
    verbs::placed_in(json!({"metadata": request["metadata"]}), namespace).map(drop)
}

fn check_uid(request: &Value, name: &str, uid: &str) -> Result<()> {
    let given = text(request, &["metadata", "uid"]);
    if given.is_empty() || given == uid {
        return Ok(());
    }
    let why = format!(
        "the UID in the token request ({given}) does not match the UID of the service account \
         ({uid})"
    );
    Err(Failure::conflict_with("authentication.k8s.io", "TokenRequest", name, &why))
}

fn validate(request: &Value) -> Errors {
    let spec = Path::root("spec");
    let path = spec.child("expirationSeconds");
    let given = lifetime(request);
    let mut errors = Errors::new();
    if given < MIN_SECONDS {
        let why = "may not specify a duration less than 10 minutes";
        errors.push(FieldError::invalid(path.clone(), &json!(given), why));
    }
    if given > MAX_SECONDS {
        let why = "may not specify a duration larger than 2^32 seconds";
        errors.push(FieldError::invalid(path.clone(), &json!(given), why));
    }
    let attestations = at(request, &["spec", "attestations"]);
    let path = spec.child("attestations");
    let reference = at(request, &["spec", "boundObjectRef"]);
    if is_webhook(reference) {
        let why = "webhook bound requests require exactly one admissionReviewAPIGroups attestation";
        if attestations.as_object().is_none_or(|all| all.len() != 1) {
            errors.push(FieldError::invalid(path, attestations, why));
        }
    } else if attestations.as_object().is_some_and(|all| !all.is_empty()) {
        let why = "attestations may only be specified with a webhook bound object reference";
        return vec![FieldError::invalid(path, attestations, why)];
    }
    errors
}

fn is_webhook(reference: &Value) -> bool {
    let kinds = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
    text(reference, &["apiVersion"]) == "admissionregistration.k8s.io/v1"
        && kinds.contains(&text(reference, &["kind"]))
}

/// Adds the object that the token is bound to, if it exists and may be.
fn bound(
    request: &Value,
    mut claims: BoundClaims,
    find: impl Fn(&Kind, &str) -> Option<Value>,
) -> Result<BoundClaims> {
    let reference = at(request, &["spec", "boundObjectRef"]);
    if reference.is_null() {
        return Ok(claims);
    }
    let [api_version, kind, name, uid] =
        ["apiVersion", "kind", "name", "uid"].map(|field| text(reference, &[field]));
    let (group, version) = group_version(api_version);
    let kind: &'static KindRef = match (group, kind) {
        ("", "Pod") => &POD,
        ("", "Secret") => &SECRET,
        ("", "Node") => &NODE,
        _ => {
            let words =
                format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Failure::bad_request(match is_webhook(reference) {
                true => format!(
                    "{words} (feature gate APIServerWebhookAuthenticationToken is disabled)"
                ),
                false => words,
            }));
        }
    };
    if name.is_empty() {
        return Err(Failure::bad_request("Name parameter required."));
    }
    let namespace = kind.namespaced.then_some(claims.namespace.as_str());
    let object = find(kind, &key(namespace, name)).ok_or_else(|| Failure::not_found(kind, name))?;
    if kind == &POD {
        check_account(&object, &claims.account.name)?;
    }
    let own = text(&object, &["metadata", "uid"]);
    if !uid.is_empty() && uid != own {
        let why = format!("the UID in the bound object reference ({uid}) {UID_MISMATCH}");
        return Err(Failure::precondition(kind, name, &why));
    }
    let claim = Some(ObjectClaim::new(name, own));
    match &*kind.kind {
        "Pod" => (claims.pod, claims.node) = (claim, node_of(&object, find)),
        "Secret" => claims.secret = claim,
        _ => claims.node = claim,
    }
    Ok(claims)
}

fn check_account(pod: &Value, account: &str) -> Result<()> {
    if text(pod, &["spec", "serviceAccountName"]) == account {
        return Ok(());
    }
    Err(Failure::bad_request(format!(
        "cannot bind token for serviceaccount {account:?} to pod running with different \
         serviceaccount name."
    )))
}

/// The Node of a Pod, without its UID if it does not exist.
fn node_of(pod: &Value, find: impl Fn(&Kind, &str) -> Option<Value>) -> Option<ObjectClaim> {
    let name = text(pod, &["spec", "nodeName"]);
    if name.is_empty() {
        return None;
    }
    let node = find(&NODE, name).unwrap_or_default();
    Some(ObjectClaim::new(name, text(&node, &["metadata", "uid"])))
}

/// As `schema.FromAPIVersionAndKind` reads it: one with too many parts is empty.
fn group_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        Some((_, version)) if version.contains('/') => ("", ""),
        Some((group, version)) => (group, version),
        None => ("", api_version),
    }
}

fn accepted(mut request: Value, bound: BoundClaims, settings: &ServiceAccounts) -> Accepted {
    let asked: Vec<String> = at(&request, &["spec", "audiences"])
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|audience| audience.as_str().map(str::to_owned))
        .collect();
    let audiences = if asked.is_empty() { settings.audiences().to_vec() } else { asked };
    let mut warnings = Vec::new();
    let mut lifetime = lifetime(&request);
    if let Some(most) = settings.max_seconds().filter(|most| lifetime > *most) {
        warnings.push(format!(
            "requested expiration of {lifetime} seconds shortened to {most} seconds"
        ));
        lifetime = most;
    }
    let reference = at(&request, &["spec", "boundObjectRef"]).clone();
    request["spec"] = json!({
        "audiences": audiences, "expirationSeconds": lifetime, "boundObjectRef": reference,
    });
    request["kind"] = TOKEN_REQUEST.kind.into();
    request["apiVersion"] = "authentication.k8s.io/v1".into();
    let is_for_us = audiences.iter().all(|one| settings.audiences().contains(one));
    let extends = settings.extend_token_expiration
        && bound.pod.is_some()
        && lifetime == EXTENDED
        && is_for_us;
    let warn_after = extends.then_some(lifetime);
    let lifetime = if extends { EXTENSION } else { lifetime };
    Accepted { bound, audiences, lifetime, warn_after, shown: request, warnings }
}

fn lifetime(request: &Value) -> i64 {
    number(request, &["spec", "expirationSeconds"]).unwrap_or(DEFAULT_SECONDS)
}

fn invalid(name: &str, errors: &[FieldError]) -> Failure {
    Failure::invalid_as("authentication.k8s.io", "TokenRequest", name, errors)
}

impl Accepted {
    /// The lifetime that the client is told.
    fn requested(&self) -> i64 {
        self.warn_after.unwrap_or(self.lifetime)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn asked(spec: &Value, settings: &ServiceAccounts) -> Accepted {
        let find = |kind: &Kind, _: &str| match &*kind.kind {
            "Pod" => {
                Some(json!({"metadata": {"uid": "u2"}, "spec": {"serviceAccountName": "web"}}))
            }
            _ => Some(json!({"metadata": {"uid": "u1"}})),
        };
        let request = json!({"spec": spec});
        accept(request, ("shop", "web"), settings, Timestamp::UNIX_EPOCH, find).unwrap()
    }

    #[test]
    fn a_longer_lifetime_than_allowed_is_shortened_with_a_warning() {
        let most = Some(Duration::from_secs(7200));
        let settings = ServiceAccounts { max_token_expiration: most, ..Default::default() };
        for (seconds, expected, n_warnings) in [(7200, 7200, 0), (7201, 7200, 1), (600, 600, 0)] {
            let accepted = asked(&json!({"expirationSeconds": seconds}), &settings);
            assert_eq!((accepted.lifetime, accepted.requested()), (expected, expected));
            assert_eq!(accepted.shown["spec"]["expirationSeconds"], expected);
            assert_eq!(accepted.warnings.len(), n_warnings, "{:?}", accepted.warnings);
        }
        let warning = &asked(&json!({"expirationSeconds": 7201}), &settings).warnings[0];
        let expected = "requested expiration of 7201 seconds shortened to 7200 seconds";
        assert_eq!(warning, expected);
    }

    #[test]
    fn a_lifetime_is_extended_only_as_set_and_only_for_this_server() {
        let on = ServiceAccounts {
            api_audiences: vec!["a".to_owned(), "b".to_owned()],
            ..Default::default()
        };
        let off = ServiceAccounts { extend_token_expiration: false, ..on.clone() };
        let pod = json!({"kind": "Pod", "name": "p"});
        let with = |audiences: &[&str]| json!({"expirationSeconds": EXTENDED, "boundObjectRef": pod, "audiences": audiences});
        for (spec, settings, expected) in [
            (with(&[]), &on, EXTENSION),
            (with(&["b"]), &on, EXTENSION),
            (with(&["b", "c"]), &on, EXTENDED),
            (with(&[]), &off, EXTENDED),
        ] {
            let accepted = asked(&spec, settings);
            assert_eq!((accepted.lifetime, accepted.requested()), (expected, EXTENDED), "{spec}");
        }
    }

    #[test]
    fn the_audiences_of_the_server_are_the_default() {
        let settings =
            ServiceAccounts { api_audiences: vec!["a".to_owned()], ..ServiceAccounts::default() };
        assert_eq!(asked(&json!({}), &settings).audiences, ["a"]);
        assert_eq!(asked(&json!({"audiences": ["x"]}), &settings).audiences, ["x"]);
    }

    #[test]
    fn versions_are_read_as_in_kubernetes() {
        for (given, expected) in
            [("", ("", "")), ("v1", ("", "v1")), ("a/v1", ("a", "v1")), ("a/b/c", ("", ""))]
        {
            assert_eq!(group_version(given), expected);
        }
    }
}
