//! Who sends a request.
//!
//! A request authenticates by client certificate or bearer token, in this order as in Kubernetes.
//! Without credentials a request is rejected, except for anonymous health checks. An authorized
//! user may then act as another one (`impersonate`). What a user may do is decided by
//! `authorizer`.

mod access_review;
pub(crate) mod actors;
mod certificate;
mod impersonate;
#[cfg(test)]
mod recorded;
mod review;
mod rules_review;
mod tokens;

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use http::{Method, header::AUTHORIZATION, request::Parts};
use serde_json::{Map, Value, json};

pub(crate) use evenkeel_authorization::{
    ANONYMOUS, AUTHENTICATED, Attributes, MASTERS, On, UNAUTHENTICATED, User,
};

pub(crate) use crate::authorizer::Decision;

pub use self::tokens::TokenFileError;
pub(crate) use self::{
    access_review::{Subject, access_review},
    certificate::{Certificate, CertificateVerifier},
    impersonate::{Refusal, impersonate},
    review::{self_subject_review, token_review},
    rules_review::rules_review,
    tokens::Tokens,
};
use crate::serve::Peer;

/// What is allowed without credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Anonymous {
    Nothing,
    /// `/healthz`, `/livez` and `/readyz`.
    #[default]
    Health,
}

/// The request is not authenticated: 401.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unauthorized;

/// The user of a request. A valid certificate takes precedence over a token; invalid credentials
/// are an error even where none are needed.
pub(crate) fn authenticate(
    parts: &Parts,
    peer: &Peer,
    user_of_token: impl Fn(&str) -> Option<Arc<User>>,
    anonymous: Anonymous,
) -> Result<Arc<User>, Unauthorized> {
    if let Certificate::Of { user, ends } = &peer.certificate
        && now_in_seconds() < *ends
    {
        return Ok(Arc::clone(user));
    }
    let header = parts.headers.get(AUTHORIZATION);
    if let Some(token) = header.and_then(|value| value.to_str().ok()).and_then(tokens::bearer) {
        return user_of_token(token).ok_or(Unauthorized);
    }
    let without_credentials = header.is_none() && matches!(peer.certificate, Certificate::None);
    if without_credentials && anonymous == Anonymous::Health && is_health(parts) {
        return Ok(Arc::new(User::anonymous()));
    }
    Err(Unauthorized)
}

fn is_health(parts: &Parts) -> bool {
    let path = parts.uri.path();
    parts.method == Method::GET && matches!(path, "/healthz" | "/livez" | "/readyz")
}

fn now_in_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The `UserInfo` of reviews, without empty fields.
pub(crate) fn user_info(user: &User) -> Value {
    let User { name, uid, groups, extra } = user;
    let mut info = Map::new();
    let mut set = |key: &str, empty: bool, value: Value| {
        if !empty {
            info.insert(key.to_owned(), value);
        }
    };
    set("username", name.is_empty(), json!(name));
    set("uid", uid.is_empty(), json!(uid));
    set("groups", groups.is_empty(), json!(groups));
    set("extra", extra.is_empty(), json!(extra));
    Value::Object(info)
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    fn of_certificate(ends: i64) -> Certificate {
        let user = User { name: "carol".to_owned(), ..User::default() }.authenticated();
        Certificate::Of { user: Arc::new(user), ends }
    }

    #[test]
    fn credentials_determine_the_user() {
        let tokens = Tokens::read("secret,alice,u1,devs\n").unwrap();
        let later = i64::MAX;
        // Path, certificate, Authorization, and the expected user if anonymous health checks are
        // allowed.
        let cases: &[(&str, Certificate, &str, Option<&str>)] = &[
            ("/api", Certificate::None, "", None),
            ("/healthz", Certificate::None, "", Some(ANONYMOUS)),
            ("/livez", Certificate::None, "", Some(ANONYMOUS)),
            ("/readyz", Certificate::None, "", Some(ANONYMOUS)),
            ("/readyz/ping", Certificate::None, "", None),
            ("/version", Certificate::None, "", None),
            ("/healthz", Certificate::None, "Bearer wrong", None),
            ("/healthz", Certificate::None, "Basic YTpi", None),
            ("/healthz", Certificate::Refused, "", None),
            ("/api", Certificate::None, "Bearer secret", Some("alice")),
            ("/api", Certificate::None, "bearer secret", Some("alice")),
            ("/api", Certificate::None, "  BEARER secret trailing", Some("alice")),
            ("/api", Certificate::None, "Bearer  secret", None),
            ("/api", Certificate::None, "Bearer", None),
            ("/api", Certificate::None, "Bearer secre", None),
            ("/api", Certificate::None, "Bearer secrett", None),
            ("/api", Certificate::Refused, "Bearer secret", Some("alice")),
            ("/api", of_certificate(later), "", Some("carol")),
            ("/api", of_certificate(later), "Bearer secret", Some("carol")),
            ("/api", of_certificate(later), "Bearer wrong", Some("carol")),
            ("/api", of_certificate(1), "", None),
            ("/healthz", of_certificate(1), "", None),
            ("/api", of_certificate(1), "Bearer secret", Some("alice")),
        ];
        for (path, certificate, authorization, expected) in cases {
            let mut request = Request::get(*path);
            if !authorization.is_empty() {
                request = request.header(AUTHORIZATION, *authorization);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let user = authenticate(
                &parts,
                &Peer::new(certificate.clone()),
                |token| tokens.user(token),
                Anonymous::Health,
            );
            let name = user.as_ref().map(|user| user.name.as_str()).ok();
            assert_eq!(name, *expected, "{path} {certificate:?} {authorization:?}");
        }
    }

    #[test]
    fn health_needs_a_user_where_nothing_is_anonymous() {
        let (parts, ()) = Request::get("/healthz").body(()).unwrap().into_parts();
        let nobody = Peer::new(Certificate::None);
        let user = authenticate(&parts, &nobody, |_| None, Anonymous::Nothing);
        assert_eq!(user, Err(Unauthorized));
    }
}
