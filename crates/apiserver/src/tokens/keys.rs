//! The keys of tokens: which one signs, which ones verify, when a new one is due.
//!
//! Tokens are signed by ES256 (ECDSA on P-256): every client library of OpenID Connect accepts it,
//! and Kubernetes signs with it when it is given such a key. The ID of a key is derived as in
//! Kubernetes, from its public part alone.
//!
//! ```text
//! created ──LEAD──► signs ──────EVERY──────► only verifies ──until its last token ends──► dropped
//! ```
//!
//! A new key is published before it signs, so that relying parties, which keep the list of keys for
//! an hour, know it by then. A key that no longer signs loses its private part.

use std::{fmt, sync::Arc};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use jiff::{SignedDuration, Timestamp};
use ring::{
    rand::SecureRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
        UnparsedPublicKey,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(super) const ALGORITHM: &str = "ES256";

/// How long a key signs.
const EVERY: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How long a key is published before it signs.
const LEAD: SignedDuration = SignedDuration::from_hours(24);
/// Added to the end of a key's last token, so that few tokens need to note a later one.
const NOTED: SignedDuration = SignedDuration::from_hours(24);
/// A token is accepted for a minute after its expiry; clocks may be corrected.
const LEEWAY: SignedDuration = SignedDuration::from_hours(1);

/// The `SubjectPublicKeyInfo` of a key on P-256, up to the point.
const SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const POINT: usize = 65;

/// All keys, the oldest first. There is at least one that can sign.
#[derive(Clone, Debug)]
pub(crate) struct KeySet {
    keys: Vec<Arc<Key>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    kid: String,
    point: [u8; POINT],
    created: Timestamp,
    /// The latest end of a token that it may have signed.
    last_end: End,
    private: Option<Arc<Private>>,
}

/// When a token ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    At(Timestamp),
    Never,
}

/// Why no key could be made or used. Has no details: they could only be about the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cryptographic library refused")]
pub(crate) struct CryptoError;

struct Private {
    pkcs8: Vec<u8>,
    pair: EcdsaKeyPair,
}

/// A key in its file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Stored {
    created: Timestamp,
    last_end: End,
    /// `SubjectPublicKeyInfo`, in base64.
    public: String,
    /// PKCS #8, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    private: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSet {
    keys: Vec<Stored>,
}

// === impl KeySet ===

impl KeySet {
    pub(crate) fn new(now: Timestamp, random: &dyn SecureRandom) -> Result<KeySet, CryptoError> {
        Ok(KeySet { keys: vec![Arc::new(Key::generate(now, random)?)] })
    }

    /// The newest that has been published long enough.
    pub(crate) fn signing(&self, now: Timestamp) -> Option<&Arc<Key>> {
        let mut able = self.keys.iter().rev().filter(|key| key.private.is_some());
        able.clone().find(|key| later(key.created, LEAD) <= now).or_else(|| able.next_back())
    }

    pub(crate) fn find(&self, kid: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.kid == kid).map(|key| &**key)
    }

    /// Notes that a key signs a token with this end; `None` if a later end is noted already. The
    /// result must be stored before the token is handed out.
    pub(crate) fn noted(&self, kid: &str, end: End) -> Option<KeySet> {
        let at = self.keys.iter().position(|key| key.kid == kid)?;
        let key = &self.keys[at];
        if key.last_end >= end {
            return None;
        }
        let last_end = match end {
            End::At(end) => End::At(later(end, NOTED)),
            End::Never => End::Never,
        };
        let mut keys = self.keys.clone();
        keys[at] = Arc::new(Key { last_end, ..(**key).clone() });
        Some(KeySet { keys })
    }

    /// The keys as they should be at a time; `None` if they are.
    pub(crate) fn rotated(
        &self,
        now: Timestamp,
        random: &dyn SecureRandom,
    ) -> Result<Option<KeySet>, CryptoError> {
        let signing = self.signing(now).map(|key| key.created);
        let mut keys: Vec<Arc<Key>> = Vec::new();
        for key in &self.keys {
            let is_over = signing.is_some_and(|signing| key.created < signing);
            match is_over {
                true if key.last_end < End::At(earlier(now, LEEWAY)) => {}
                true if key.private.is_some() => keys.push(Arc::new(key.public_part())),
                _ => keys.push(key.clone()),
            }
        }
        let newest = keys.iter().rev().find(|key| key.private.is_some());
        // It signs when the present one has signed for long enough.
        if newest.is_none_or(|key| later(key.created, EVERY) <= now) {
            keys.push(Arc::new(Key::generate(now, random)?));
        }
        let same = |(a, b): (&Arc<Key>, &Arc<Key>)| Arc::ptr_eq(a, b);
        let is_same = keys.len() == self.keys.len() && keys.iter().zip(&self.keys).all(same);
        Ok((!is_same).then_some(KeySet { keys }))
    }

    /// The text of the file of keys.
    pub(crate) fn to_text(&self) -> String {
        let stored = |key: &Arc<Key>| Stored {
            created: key.created,
            last_end: key.last_end,
            public: STANDARD.encode(key.spki()),
            private: key.private.as_ref().map(|private| STANDARD.encode(&private.pkcs8)),
        };
        let set = StoredSet { keys: self.keys.iter().map(stored).collect() };
        serde_json::to_string_pretty(&set).expect("texts and times can be written")
    }

    /// The keys in a text, or what is wrong with it. The problem shows nothing of the keys.
    pub(crate) fn from_text(text: &str) -> Result<KeySet, String> {
        let stored: StoredSet = serde_json::from_str(text).map_err(|error| {
            format!("not a file of keys (line {}, column {})", error.line(), error.column())
        })?;
        let mut keys = Vec::new();
        for (number, stored) in (1..).zip(stored.keys) {
            let key = Key::read(&stored).map_err(|problem| format!("key {number}: {problem}"))?;
            keys.push(Arc::new(key));
        }
        keys.sort_by_key(|key| key.created);
        match keys.iter().any(|key| key.private.is_some()) {
            true => Ok(KeySet { keys }),
            false => Err("no key can sign".to_owned()),
        }
    }

    /// The JSON Web Key Set, the newest key first.
    pub(crate) fn published(&self) -> Value {
        let keys: Vec<Value> = self.keys.iter().rev().map(|key| key.published()).collect();
        json!({"keys": keys})
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

// === impl Key ===

impl Key {
    fn generate(now: Timestamp, random: &dyn SecureRandom) -> Result<Key, CryptoError> {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, random)
            .map_err(|_| CryptoError)?;
        let private = Private::read(pkcs8.as_ref()).ok_or(CryptoError)?;
        let mut key = Key::of_point(private.point().ok_or(CryptoError)?, now, End::At(now));
        key.private = Some(Arc::new(private));
        Ok(key)
    }

    fn read(stored: &Stored) -> Result<Key, &'static str> {
        let spki = STANDARD.decode(&stored.public).map_err(|_| "its public part is not base64")?;
        let point = spki.strip_prefix(&SPKI).and_then(|point| point.try_into().ok());
        let point = point.ok_or("its public part is not a key on P-256")?;
        let mut key = Key::of_point(point, stored.created, stored.last_end);
        let Some(private) = &stored.private else { return Ok(key) };
        let pkcs8 = STANDARD.decode(private).map_err(|_| "its private part is not base64")?;
        let private = Private::read(&pkcs8).ok_or("its private part is not a key on P-256")?;
        if private.point() != Some(point) {
            return Err("its two parts do not belong together");
        }
        key.private = Some(Arc::new(private));
        Ok(key)
    }

    fn of_point(point: [u8; POINT], created: Timestamp, last_end: End) -> Key {
        let mut key = Key { kid: String::new(), point, created, last_end, private: None };
        key.kid = URL_SAFE_NO_PAD.encode(Sha256::digest(key.spki()));
        key
    }

    fn public_part(&self) -> Key {
        Key { private: None, ..self.clone() }
    }

    pub(crate) fn kid(&self) -> &str {
        &self.kid
    }

    /// The signature of a message, if this key can sign.
    pub(super) fn sign(
        &self,
        message: &[u8],
        random: &dyn SecureRandom,
    ) -> Result<Vec<u8>, CryptoError> {
        let private = self.private.as_ref().ok_or(CryptoError)?;
        let signature = private.pair.sign(random, message).map_err(|_| CryptoError)?;
        Ok(signature.as_ref().to_vec())
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &self.point);
        public.verify(message, signature).is_ok()
    }

    fn spki(&self) -> Vec<u8> {
        [&SPKI[..], &self.point].concat()
    }

    fn published(&self) -> Value {
        let (x, y) = self.point[1..].split_at(32);
        json!({
            "use": "sig", "kty": "EC", "kid": self.kid, "crv": "P-256", "alg": ALGORITHM,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        })
    }
}

// === impl Private ===

impl Private {
    fn read(pkcs8: &[u8]) -> Option<Private> {
        let random = ring::rand::SystemRandom::new();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random).ok()?;
        Some(Private { pkcs8: pkcs8.to_vec(), pair })
    }

    fn point(&self) -> Option<[u8; POINT]> {
        self.pair.public_key().as_ref().try_into().ok()
    }
}

impl fmt::Debug for Private {
    /// Never shows the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Private")
    }
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_sub(by).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;

    use super::*;

    fn day(day: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * (20_000 + day))
    }

    fn random() -> SystemRandom {
        SystemRandom::new()
    }

    fn kid(keys: &KeySet, at: Timestamp) -> String {
        keys.signing(at).unwrap().kid().to_owned()
    }

    fn rotated(keys: &KeySet, at: Timestamp) -> KeySet {
        keys.rotated(at, &random()).unwrap().expect("a change is due")
    }

    #[test]
    fn a_new_key_is_published_before_it_signs_and_the_old_one_verifies_until_its_last_token_ends() {
        let keys = KeySet::new(day(0), &random()).unwrap();
        let first = kid(&keys, day(0));
        assert!(keys.rotated(day(89), &random()).unwrap().is_none());
        let keys = keys.noted(&first, End::At(day(200))).unwrap();
        assert!(keys.noted(&first, End::At(day(201))).is_none(), "a day more is noted");

        let keys = rotated(&keys, day(90));
        assert_eq!((keys.len(), kid(&keys, day(90))), (2, first.clone()));
        let second = kid(&keys, day(91));
        assert_ne!(second, first);
        assert_eq!(keys.published()["keys"][0]["kid"], *second);

        let keys = rotated(&keys, day(91));
        assert!(keys.find(&first).unwrap().private.is_none());
        assert!(keys.rotated(day(92), &random()).unwrap().is_none());
        let keys = rotated(&keys, day(180));
        assert!(keys.find(&first).is_some());
        let keys = rotated(&keys, day(202));
        assert!(keys.find(&first).is_none(), "its last token has ended");
        assert!(keys.find(&second).is_none(), "it signed nothing");
    }

    #[test]
    fn a_key_of_tokens_without_end_is_kept() {
        let keys = KeySet::new(day(0), &random()).unwrap();
        let first = kid(&keys, day(0));
        let mut keys = keys.noted(&first, End::Never).unwrap();
        for at in (90..9_000).step_by(91) {
            keys = keys.rotated(day(at), &random()).unwrap().unwrap_or(keys);
        }
        assert!(keys.find(&first).is_some());
        assert!(keys.len() <= 3, "others are not");
    }

    #[test]
    fn there_is_a_signing_key_whatever_the_clock_says() {
        let keys = KeySet::new(day(100), &random()).unwrap();
        let keys = rotated(&keys, day(190));
        for at in [day(-20_000), day(0), day(100), day(190), day(191), Timestamp::MAX] {
            assert!(keys.signing(at).is_some());
            let next = keys.rotated(at, &random()).unwrap();
            assert!(next.unwrap_or(keys.clone()).signing(at).is_some(), "{at}");
        }
    }

    #[test]
    fn keys_are_read_as_they_were_written() {
        let keys = rotated(&KeySet::new(day(0), &random()).unwrap(), day(90));
        let keys = rotated(&keys, day(91)).noted(&kid(&keys, day(91)), End::Never).unwrap();
        let again = KeySet::from_text(&keys.to_text()).unwrap();
        assert_eq!(again.to_text(), keys.to_text());
        assert_eq!(again.published(), keys.published());
        let signature = again.signing(day(91)).unwrap().sign(b"x", &random()).unwrap();
        let key = keys.signing(day(91)).unwrap();
        assert!(key.verifies(b"x", &signature) && !key.verifies(b"y", &signature));
    }

    #[test]
    fn damaged_keys_are_refused_without_showing_them() {
        let keys = KeySet::new(day(0), &random()).unwrap();
        let text = keys.to_text();
        let other = KeySet::new(day(0), &random()).unwrap();
        let public = |keys: &KeySet| STANDARD.encode(keys.keys[0].spki());
        let private = STANDARD.encode(&keys.keys[0].private.as_ref().unwrap().pkcs8);
        let changed = |from: &str, to: &str| text.replace(from, to);
        for (text, problem) in [
            (String::new(), "not a file of keys (line 1, column 0)"),
            (text[..text.len() / 2].to_owned(), "not a file of keys"),
            (changed(&public(&keys), &public(&other)), "key 1: its two parts"),
            (changed(&public(&keys), "AAAA"), "key 1: its public part is not a key on P-256"),
            (changed(&public(&keys), "?"), "key 1: its public part is not base64"),
            (changed(&private, "AAAA"), "key 1: its private part is not a key"),
            (changed("\"private\"", "\"privat\""), "not a file of keys"),
            ("{\"keys\": []}".to_owned(), "no key can sign"),
        ] {
            let found = KeySet::from_text(&text).unwrap_err();
            assert!(found.contains(problem), "{problem}: {found}");
            assert!(!found.contains(&private[..20]));
        }
        assert!(!format!("{keys:?}").contains(&private[..20]));
    }

    // The key and its ID are those of a recorded answer of `/openid/v1/jwks`.
    #[test]
    fn the_id_of_a_key_is_derived_as_in_kubernetes() {
        let part = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let (x, y) = (
            "eLNnJcgolWlqwOZqnBeQG5xoynqMCVXRYMVvkyVSTaM",
            "H5AVdF8eNKRPqXgAO7MYQ3pxF8sKM2nhTKUXmwJO_ZU",
        );
        let point = [vec![4], part(x), part(y)].concat().try_into().unwrap();
        let key = Key::of_point(point, day(0), End::Never);
        let expected = json!({
            "use": "sig", "kty": "EC", "kid": "HPWJNygjgfb646Hdobj5cQPdg9Baz6mTAHQvp3on7TE",
            "crv": "P-256", "alg": "ES256", "x": x, "y": y,
        });
        assert_eq!(key.published(), expected);
    }
}
