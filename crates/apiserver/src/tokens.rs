//! Tokens of ServiceAccounts: issued by TokenRequest and for Secrets, accepted from clients,
//! reviewed by TokenReview, and verifiable by others through OpenID Connect discovery.
//!
//! ```text
//! token ─► cache ─► still holds? ───────────────────────────────► user
//!            └► jwt (signature) ─► claims ─► validate (objects) ──► user, into the cache
//! ```
//!
//! Only signatures are cached. That the account and the bound object exist is checked on each
//! request, so deleting one revokes its tokens at once.

mod cache;
mod claims;
mod discovery;
#[cfg(test)]
mod hostile;
mod json;
mod jwt;
mod key_file;
mod keys;
mod kubelet;
#[cfg(test)]
mod recorded;
mod request;
mod validate;

use std::sync::Arc;

use evenkeel_store::Revision;
use jiff::Timestamp;
use serde_json::Value;

pub use self::key_file::TokenKeyError;
use self::{
    cache::Cache,
    claims::{Claims, LEGACY_ISSUER, NewToken},
    keys::End,
    validate::{Objects, Valid},
};
pub(crate) use self::{
    claims::LegacyClaims,
    discovery::{JWKS_PATH, OPENID_PATH, configuration, jwks},
    jwt::Refusal,
    key_file::{Keys, keep_rotated},
    request::create,
};
use crate::{
    api::Api, document, identity::User, kinds::KindRef, settings::ServiceAccounts, storage::Storage,
};

/// Issues and verifies tokens.
#[derive(Debug)]
pub(crate) struct AccountTokens {
    settings: ServiceAccounts,
    keys: Keys,
    cache: Cache,
}

/// The user of a token that authenticates a request: of a ServiceAccount, or from the token file.
pub(crate) fn user(api: &Api, token: &str) -> Option<Arc<User>> {
    let accounts = &api.accounts;
    match accounts.valid(token, accounts.audiences(), Timestamp::now(), &api.storage) {
        Ok(valid) => Some(valid.user.clone()),
        Err(_) => api.tokens.user(token),
    }
}

/// The user of a token for one of these audiences, and those that it is for; or what a TokenReview
/// says about it.
pub(crate) fn reviewed(
    api: &Api,
    token: &str,
    asked: &[String],
) -> Result<(Arc<User>, Vec<String>), String> {
    let accounts = &api.accounts;
    // Tokens of the file are for this server.
    let own = common(accounts.audiences(), asked);
    if let Some(user) = api.tokens.user(token).filter(|_| !own.is_empty()) {
        return Ok((user, own));
    }
    match accounts.valid(token, asked, Timestamp::now(), &api.storage) {
        Ok(valid) => Ok((valid.user.clone(), common(accounts.audiences_of(&valid.claims), asked))),
        Err(Refusal::NotOurs) => Err("invalid bearer token".to_owned()),
        Err(Refusal::Because(reason)) => Err(format!("[invalid bearer token, {reason}]")),
    }
}

/// The asked ones among these, in their order.
fn common(own: &[String], asked: &[String]) -> Vec<String> {
    asked.iter().filter(|audience| own.contains(audience)).cloned().collect()
}

// === impl AccountTokens ===

impl AccountTokens {
    pub(crate) fn new(settings: ServiceAccounts, keys: Keys) -> AccountTokens {
        AccountTokens { settings, keys, cache: Cache::default() }
    }

    /// The audiences that this server is.
    pub(crate) fn audiences(&self) -> &[String] {
        self.settings.audiences()
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// A token for a Secret, which does not expire.
    pub(crate) fn legacy(
        &self,
        claims: &LegacyClaims,
        now: Timestamp,
    ) -> Result<String, TokenKeyError> {
        self.keys.sign(&claims.claims(), End::Never, now)
    }

    /// The token is then verified as if it had not been seen before.
    pub(crate) fn forget(&self, token: &str) {
        self.cache.remove(token);
    }

    fn issue(&self, token: &NewToken<'_>, now: Timestamp) -> Result<String, TokenKeyError> {
        let end = Timestamp::from_second(now.as_second().saturating_add(token.lifetime));
        self.keys.sign(&token.claims(now), end.map_or(End::Never, End::At), now)
    }

    /// A valid token for one of the asked audiences.
    fn valid(
        &self,
        token: &str,
        asked: &[String],
        now: Timestamp,
        objects: &impl Objects,
    ) -> Result<Arc<Valid>, Refusal> {
        let known = self.cache.get(token);
        if let Some(valid) = known.as_ref().filter(|valid| valid.still_holds(now, objects)) {
            return self.check_audience(&valid.claims, asked).map(|()| valid.clone());
        }
        let claims = match &known {
            Some(valid) => valid.claims.clone(),
            None => self.verified(token)?,
        };
        self.check_audience(&claims, asked)?;
        match validate::validate(token, claims, now, objects) {
            Ok(valid) => {
                let valid = Arc::new(valid);
                self.cache.put(token, valid.clone());
                Ok(valid)
            }
            Err(refusal) => {
                if known.is_some() {
                    self.cache.remove(token);
                }
                Err(refusal)
            }
        }
    }

    fn verified(&self, token: &str) -> Result<Claims, Refusal> {
        let is_issuer = |issuer: &str| {
            issuer == LEGACY_ISSUER || self.settings.issuers.iter().any(|known| known == issuer)
        };
        let claims = jwt::verified(token, &self.keys.current(), is_issuer)?;
        serde_json::from_value(claims).map_err(|problem| jwt::because(&problem.to_string()))
    }

    fn check_audience(&self, claims: &Claims, asked: &[String]) -> Result<(), Refusal> {
        let own = self.audiences_of(claims);
        if asked.iter().any(|audience| own.contains(audience)) {
            return Ok(());
        }
        Err(jwt::because(&format!(
            "token audiences {} is invalid for the target audiences {}",
            quoted(own),
            quoted(asked)
        )))
    }

    /// A token without audience is for this server.
    fn audiences_of<'a>(&'a self, claims: &'a Claims) -> &'a [String] {
        if claims.audiences.is_empty() { self.audiences() } else { &claims.audiences }
    }
}

/// As Go prints a list of texts.
fn quoted(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| crate::invalid::quoted(text)).collect();
    format!("[{}]", texts.join(" "))
}

impl Objects for Storage {
    fn object(&self, kind: &'static KindRef, key: &str) -> Option<(Revision, Value)> {
        let object = Storage::object(self, kind, key)?;
        // An object that can't be read is as good as none.
        Some((object.revision, document::value(kind, &object).ok()?))
    }

    fn revision(&self, kind: &'static KindRef, key: &str) -> Option<Revision> {
        self.state().object(kind.id(), key).map(|object| object.revision)
    }
}
