//! The claims of a token: as they are issued and as they are read back.
//!
//! Sources: `pkg/serviceaccount/claims.go` for tokens of TokenRequests, `legacy.go` for those in
//! Secrets, RFC 7519 for the common claims.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Map, Value, json};

/// The issuer of tokens in Secrets, whatever the issuer of others is.
pub(crate) const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// The claims of a token whose signature is valid.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct Claims {
    #[serde(rename = "iss")]
    pub(crate) issuer: String,
    #[serde(rename = "sub")]
    pub(crate) subject: String,
    #[serde(rename = "aud", deserialize_with = "audiences")]
    pub(crate) audiences: Vec<String>,
    #[serde(rename = "exp", deserialize_with = "date")]
    pub(crate) expiry: Option<i64>,
    #[serde(rename = "nbf", deserialize_with = "date")]
    pub(crate) not_before: Option<i64>,
    #[serde(rename = "iat", deserialize_with = "date")]
    pub(crate) issued_at: Option<i64>,
    #[serde(rename = "jti")]
    pub(crate) id: String,
    #[serde(rename = "kubernetes.io")]
    pub(crate) bound: BoundClaims,
    #[serde(flatten)]
    pub(crate) legacy: LegacyClaims,
}

/// The account of a token, and the objects whose existence it depends on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct BoundClaims {
    pub(crate) namespace: String,
    #[serde(rename = "serviceaccount")]
    pub(crate) account: ObjectClaim,
    pub(crate) pod: Option<ObjectClaim>,
    pub(crate) secret: Option<ObjectClaim>,
    pub(crate) node: Option<ObjectClaim>,
    /// This server issues no such tokens.
    #[serde(rename = "validatingwebhookconfiguration")]
    pub(crate) validating: Option<Value>,
    #[serde(rename = "mutatingwebhookconfiguration")]
    pub(crate) mutating: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct ObjectClaim {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// The account of a token in a Secret, and that Secret.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct LegacyClaims {
    #[serde(rename = "kubernetes.io/serviceaccount/namespace")]
    pub(crate) namespace: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name")]
    pub(crate) account: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.uid")]
    pub(crate) uid: String,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name")]
    pub(crate) secret: String,
}

/// The content of a token to be issued.
#[derive(Clone, Debug)]
pub(crate) struct NewToken<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) audiences: &'a [String],
    pub(crate) bound: BoundClaims,
    pub(crate) lifetime: i64,
    /// Seconds after which its use is worth a warning.
    pub(crate) warn_after: Option<i64>,
    /// A UUID.
    pub(crate) id: &'a str,
}

pub(crate) fn username(namespace: &str, account: &str) -> String {
    format!("system:serviceaccount:{namespace}:{account}")
}

// === impl NewToken ===

impl NewToken<'_> {
    pub(crate) fn claims(&self, now: Timestamp) -> Value {
        let BoundClaims { namespace, account, pod, secret, node, .. } = &self.bound;
        let now = now.as_second();
        let mut own = json!({"namespace": namespace, "serviceaccount": account.written()});
        for (name, bound) in [("pod", pod), ("secret", secret), ("node", node)] {
            if let Some(bound) = bound {
                own[name] = bound.written();
            }
        }
        if let Some(seconds) = self.warn_after {
            own["warnafter"] = now.saturating_add(seconds).into();
        }
        json!({
            "aud": self.audiences,
            "exp": now.saturating_add(self.lifetime),
            "iat": now,
            "iss": self.issuer,
            "jti": self.id,
            "kubernetes.io": own,
            "nbf": now,
            "sub": username(namespace, &account.name),
        })
    }
}

// === impl ObjectClaim ===

impl ObjectClaim {
    pub(crate) fn new(name: &str, uid: &str) -> ObjectClaim {
        ObjectClaim { name: name.to_owned(), uid: uid.to_owned() }
    }

    fn written(&self) -> Value {
        let mut written = Map::new();
        for (key, value) in [("name", &self.name), ("uid", &self.uid)] {
            if !value.is_empty() {
                written.insert(key.to_owned(), value.as_str().into());
            }
        }
        Value::Object(written)
    }
}

// === impl LegacyClaims ===

impl LegacyClaims {
    pub(crate) fn claims(&self) -> Value {
        let LegacyClaims { namespace, account, uid, secret } = self;
        json!({
            "iss": LEGACY_ISSUER,
            "kubernetes.io/serviceaccount/namespace": namespace,
            "kubernetes.io/serviceaccount/secret.name": secret,
            "kubernetes.io/serviceaccount/service-account.name": account,
            "kubernetes.io/serviceaccount/service-account.uid": uid,
            "sub": username(namespace, account),
        })
    }
}

/// One audience, or a list. The error is that of Kubernetes' library.
fn audiences<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let problem = || {
        D::Error::custom(
            "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience",
        )
    };
    match Value::deserialize(deserializer)? {
        Value::String(one) => Ok(vec![one]),
        Value::Array(all) => {
            all.into_iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(problem)).collect()
        }
        _ => Err(problem()),
    }
}

/// Seconds since 1970; a fraction is cut off. The error is that of Kubernetes' library.
fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds as i64));
    let problem = "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate";
    number.map(Some).ok_or_else(|| D::Error::custom(problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_as_they_were_issued() {
        let bound = BoundClaims {
            namespace: "shop".to_owned(),
            account: ObjectClaim::new("web", "u1"),
            pod: Some(ObjectClaim::new("web-1", "u2")),
            node: Some(ObjectClaim::new("n1", "")),
            ..BoundClaims::default()
        };
        let audiences = ["a".to_owned(), "b".to_owned()];
        let token = NewToken {
            issuer: "https://x",
            audiences: &audiences,
            bound: bound.clone(),
            lifetime: 600,
            warn_after: Some(100),
            id: "j",
        };
        let issued = token.claims(Timestamp::from_second(1_000).unwrap());
        let own = json!({
            "namespace": "shop", "serviceaccount": {"name": "web", "uid": "u1"},
            "pod": {"name": "web-1", "uid": "u2"}, "node": {"name": "n1"}, "warnafter": 1_100,
        });
        let expected = json!({
            "aud": ["a", "b"], "exp": 1_600, "iat": 1_000, "nbf": 1_000, "iss": "https://x",
            "jti": "j", "sub": "system:serviceaccount:shop:web", "kubernetes.io": own,
        });
        assert_eq!(issued, expected);
        let read: Claims = serde_json::from_value(issued).unwrap();
        assert_eq!((read.bound, read.expiry, read.id.as_str()), (bound, Some(1_600), "j"));
        assert_eq!(read.audiences, audiences);
    }

    #[test]
    fn claims_of_tokens_in_secrets_are_read_as_they_were_issued() {
        let legacy = LegacyClaims {
            namespace: "shop".to_owned(),
            account: "web".to_owned(),
            uid: "u1".to_owned(),
            secret: "s".to_owned(),
        };
        let read: Claims = serde_json::from_value(legacy.claims()).unwrap();
        assert_eq!((read.legacy, read.issuer.as_str()), (legacy, LEGACY_ISSUER));
        assert_eq!(read.subject, "system:serviceaccount:shop:web");
        assert_eq!((read.expiry, read.audiences.len()), (None, 0));
    }

    #[test]
    fn huge_dates_are_cut_to_what_can_be_compared() {
        for (exp, expected) in [
            (json!(1e300), i64::MAX),
            (json!(-1e300), i64::MIN),
            (json!(u64::MAX), i64::MAX),
            (json!(1.9), 1),
        ] {
            let read: Claims = serde_json::from_value(json!({"exp": exp})).unwrap();
            assert_eq!(read.expiry, Some(expected));
        }
    }
}
