//! The documents by which others verify tokens: OpenID Connect discovery.
//!
//! Served where the issuer is an address that others can ask (`https`, without query and fragment),
//! as in `pkg/serviceaccount/openidmetadata.go`.

use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};

use super::{AccountTokens, keys::ALGORITHM};
use crate::{
    answer::Answer,
    api::Api,
    status::{Failure, Result},
};

pub(crate) const OPENID_PATH: &str = "/.well-known/openid-configuration";
pub(crate) const JWKS_PATH: &str = "/openid/v1/jwks";

const JWKS_TYPE: &str = "application/jwk-set+json";
/// A new key signs only when it has been published for longer than this.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=3600");

pub(crate) fn configuration(api: &Api, headers: &HeaderMap) -> Result<Answer> {
    let issuer = api.accounts.public_issuer().ok_or_else(Failure::unknown_path)?;
    document(
        headers,
        "application/json",
        &json!({
            "issuer": issuer,
            "jwks_uri": format!("https://{}{JWKS_PATH}", api.address),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
        }),
    )
}

pub(crate) fn jwks(api: &Api, headers: &HeaderMap) -> Result<Answer> {
    api.accounts.public_issuer().ok_or_else(Failure::unknown_path)?;
    document(headers, JWKS_TYPE, &api.accounts.keys.current().published())
}

fn document(headers: &HeaderMap, media: &'static str, value: &Value) -> Result<Answer> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if !accepts(accept.unwrap_or_default(), media) {
        return Err(Failure::not_acceptable(media));
    }
    let mut answer = Answer::new(200, media, value.to_string());
    answer.headers.push((header::CACHE_CONTROL, CACHED));
    Ok(answer)
}

fn accepts(accept: &str, media: &str) -> bool {
    let named = |range: &str| range.split(';').next().unwrap_or_default().trim().to_lowercase();
    let all = media.split('/').next().map(|kind| format!("{kind}/*")).unwrap_or_default();
    accept.is_empty()
        || accept.split(',').map(named).any(|one| one == media || one == "*/*" || one == all)
}

impl AccountTokens {
    /// The issuer, if relying parties can find its documents.
    fn public_issuer(&self) -> Option<&str> {
        let issuer = self.settings.issuer();
        let is_public = issuer.starts_with("https://") && !issuer.contains(['?', '#']);
        is_public.then_some(issuer)
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::{
        server::{in_process::settings, testing::Server},
        settings::{ServiceAccounts, Settings},
    };

    #[tokio::test(flavor = "multi_thread")]
    async fn relying_parties_find_the_keys() {
        let server = Server::start(None, settings()).await;
        let found = server.get(OPENID_PATH).await;
        let expected = json!({
            "issuer": "https://kubernetes.default.svc",
            "jwks_uri": "https://127.0.0.1:6443/openid/v1/jwks",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        });
        assert_eq!(found, expected);
        let keys = server.get(JWKS_PATH).await;
        assert_eq!(keys, server.api.accounts.keys.current().published());
        for (method, path, code) in [
            (Method::POST, JWKS_PATH, 405),
            (Method::GET, "/openid/v1", 404),
            (Method::GET, "/.well-known", 404),
            (Method::GET, "/openid/v1/jwks/", 200),
        ] {
            assert_eq!(server.ask(method, path, &Value::Null).await.0, code, "{path}");
        }
        let headers = HeaderMap::new();
        let answer = jwks(&server.api, &headers).unwrap();
        assert_eq!(answer.content_type, "application/jwk-set+json");
        assert_eq!(answer.headers, [(header::CACHE_CONTROL, CACHED)]);
        server.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_issuer_that_nobody_can_ask_has_no_documents() {
        for issuer in ["name", "http://x", "https://x?y", "https://x#y"] {
            let issuers = vec![issuer.to_owned()];
            let service_accounts = ServiceAccounts { issuers, ..ServiceAccounts::default() };
            let server = Server::start(None, Settings { service_accounts, ..settings() }).await;
            assert!(configuration(&server.api, &HeaderMap::new()).is_err(), "{issuer}");
            assert!(jwks(&server.api, &HeaderMap::new()).is_err(), "{issuer}");
            server.stop().await;
        }
    }

    #[test]
    fn a_document_has_one_media_type() {
        for (accept, expected) in [
            ("", true),
            ("*/*", true),
            ("application/*", true),
            ("text/html, application/jwk-set+json;q=0.5", true),
            ("application/json", false),
            ("text/*", false),
        ] {
            assert_eq!(accepts(accept, JWKS_TYPE), expected, "{accept}");
        }
    }
}
