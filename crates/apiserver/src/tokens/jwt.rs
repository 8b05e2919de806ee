//! Signed tokens in compact form: `HEADER.CLAIMS.SIGNATURE`, each in base64url (RFC 7515).
//!
//! Only what this server itself would write is accepted: its algorithm, a key it knows by its ID, no
//! critical extension, no key in the header, canonical base64 without padding. The size is limited
//! before anything is decoded, and at most one signature is verified. A general library would have
//! to be told all of this, and would bring algorithms that must never be accepted.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::SecureRandom;
use serde_json::{Value, json};

use super::{
    json::{self, JsonError},
    keys::{ALGORITHM, CryptoError, Key, KeySet},
};

/// Maximum size of a token. The server issues none that is larger.
pub(crate) const MAX_LENGTH: usize = 32 << 10;

/// Why a token is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is not a token of ServiceAccounts of this server; it may be another kind of token.
    NotOurs,
    /// It claims to be one: the reason, in Kubernetes' words.
    Because(String),
}

/// A signed token with these claims.
pub(super) fn signed(
    claims: &Value,
    key: &Key,
    random: &dyn SecureRandom,
) -> Result<String, CryptoError> {
    let header = json!({"alg": ALGORITHM, "kid": key.kid()});
    let [header, claims] = [&header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let mut token = format!("{header}.{claims}");
    let signature = key.sign(token.as_bytes(), random)?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token)
}

/// The claims of a token, if its signature is valid. `is_issuer`: whether tokens of an issuer are
/// those of this server.
pub(super) fn verified(
    token: &str,
    keys: &KeySet,
    is_issuer: impl Fn(&str) -> bool,
) -> Result<Value, Refusal> {
    if token.len() > MAX_LENGTH {
        return Err(Refusal::NotOurs);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(Refusal::NotOurs)?;
    let (header, claims) = signed.split_once('.').ok_or(Refusal::NotOurs)?;
    if claims.contains('.') {
        return Err(Refusal::NotOurs);
    }
    let claims = match json::parse(&decoded(claims)?) {
        Err(JsonError::Duplicate(key)) => {
            return Err(because(&format!("json: duplicate key '{key}' in object")));
        }
        claims => claims.map_err(|_| Refusal::NotOurs)?,
    };
    if !claims.get("iss").and_then(Value::as_str).is_some_and(is_issuer) {
        return Err(Refusal::NotOurs);
    }
    let header = json::parse(&decoded(header)?).map_err(|_| Refusal::NotOurs)?;
    let signature = decoded(signature)?;
    if !header.is_object() || header.get("jwk").is_some() {
        return Err(Refusal::NotOurs);
    }
    let kid = header.get("kid").and_then(Value::as_str).unwrap_or_default();
    let key = keys.find(kid).ok_or_else(|| because("invalid signature, no keys found"))?;
    let is_valid =
        is_understood(&header) && key.verifies(signed.as_bytes(), &signature) && claims.is_object();
    match is_valid {
        true => Ok(claims),
        false => Err(because("go-jose/go-jose: error in cryptographic primitive")),
    }
}

/// The algorithm of the keys, and nothing that this server would have to know.
fn is_understood(header: &Value) -> bool {
    let critical = match header.get("crit") {
        None => false,
        Some(Value::Array(names)) => !names.is_empty(),
        Some(_) => true,
    };
    header.get("alg").and_then(Value::as_str) == Some(ALGORITHM) && !critical
}

/// Only the canonical form is accepted: no padding, no bits beyond the last byte.
fn decoded(part: &str) -> Result<Vec<u8>, Refusal> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::NotOurs)
}

pub(super) fn because(reason: &str) -> Refusal {
    Refusal::Because(reason.to_owned())
}
