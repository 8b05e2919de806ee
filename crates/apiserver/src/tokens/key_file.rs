//! The keys in use, and their file `DATA/pki/service-account-keys.json`.
//!
//! The file is replaced as a whole, so a crash leaves the previous one or the next one. It is
//! written before anything depends on it: before a new key is published, and before a token is
//! handed out that ends later than all before.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use ring::rand::SystemRandom;
use serde_json::Value;
use thiserror::Error;

use super::{
    jwt,
    keys::{CryptoError, End, KeySet},
};
use crate::{
    api::Api,
    certificates::{self, CertificateError},
};

/// Interval of checks whether a new key is due.
const EVERY: Duration = Duration::from_secs(3600);
const NAME: &str = "service-account-keys.json";

#[derive(Debug)]
pub(crate) struct Keys {
    set: RwLock<Arc<KeySet>>,
    /// `None`: in memory only.
    path: Option<PathBuf>,
    /// Held while the file and then the set are replaced.
    writing: Mutex<()>,
    random: SystemRandom,
}

/// Why the keys of ServiceAccount tokens can't be loaded, created or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TokenKeyError {
    #[error(transparent)]
    File(#[from] CertificateError),
    #[error(
        "{}: {problem}; restore a valid copy, or delete it to create new keys (existing tokens of \
         ServiceAccounts then stop working)",
        path.display()
    )]
    Damaged { path: PathBuf, problem: String },
    #[error("can't create a key or sign a token")]
    Crypto,
}

/// Runs until the server stops.
pub(crate) async fn keep_rotated(api: Arc<Api>) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        let accounts = api.accounts.clone();
        let rotate = move || accounts.keys().rotate(Timestamp::now());
        let rotated = tokio::task::spawn_blocking(rotate).await;
        if let Err(error) =
            rotated.map_err(io::Error::other).and_then(|done| done.map_err(io::Error::other))
        {
            tracing::error!(%error, "replacing token keys failed, retrying in {EVERY:?}");
        }
    }
}

impl Keys {
    /// The keys in a server's folder, created if there are none.
    pub(crate) fn open(folder: &Path, now: Timestamp) -> Result<Keys, TokenKeyError> {
        let path = certificates::pki_folder(folder)?.join(NAME);
        let keys = match certificates::read_secret(&path)? {
            Some(text) => KeySet::from_text(&text)
                .map_err(|problem| TokenKeyError::Damaged { path: path.clone(), problem })?,
            None => {
                let keys = KeySet::new(now, &SystemRandom::new())?;
                certificates::write_secret(&path, &keys.to_text())?;
                keys
            }
        };
        let keys = Keys::new(keys, Some(path));
        keys.rotate(now)?;
        Ok(keys)
    }

    /// New keys that are lost with the process.
    pub(crate) fn in_memory(now: Timestamp) -> Result<Keys, TokenKeyError> {
        Ok(Keys::new(KeySet::new(now, &SystemRandom::new())?, None))
    }

    fn new(keys: KeySet, path: Option<PathBuf>) -> Keys {
        Keys {
            set: RwLock::new(Arc::new(keys)),
            path,
            writing: Mutex::default(),
            random: SystemRandom::new(),
        }
    }

    pub(crate) fn current(&self) -> Arc<KeySet> {
        self.set.read().clone()
    }

    /// A signed token. It may write the file first.
    pub(super) fn sign(
        &self,
        claims: &Value,
        end: End,
        now: Timestamp,
    ) -> Result<String, TokenKeyError> {
        let keys = self.current();
        let key = keys.signing(now).ok_or(TokenKeyError::Crypto)?;
        let token = jwt::signed(claims, key, &self.random)?;
        self.replace(|keys| Ok(keys.noted(key.kid(), end)))?;
        Ok(token)
    }

    /// Creates and drops keys that are due.
    pub(crate) fn rotate(&self, now: Timestamp) -> Result<(), TokenKeyError> {
        self.replace(|keys| keys.rotated(now, &self.random))
    }

    fn replace(
        &self,
        next: impl Fn(&KeySet) -> Result<Option<KeySet>, CryptoError>,
    ) -> Result<(), TokenKeyError> {
        if next(&self.current())?.is_none() {
            return Ok(());
        }
        let _writing = self.writing.lock();
        let Some(keys) = next(&self.current())? else { return Ok(()) };
        if let Some(path) = &self.path {
            certificates::write_secret(path, &keys.to_text())?;
        }
        *self.set.write() = Arc::new(keys);
        Ok(())
    }
}

impl From<CryptoError> for TokenKeyError {
    fn from(_: CryptoError) -> TokenKeyError {
        TokenKeyError::Crypto
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::certificates::testing::scratch;

    fn days_later(days: i64) -> Timestamp {
        Timestamp::now() + SignedDuration::from_hours(24 * days)
    }

    fn verifies(keys: &Keys, token: &str) -> bool {
        jwt::verified(token, &keys.current(), |_| true).is_ok()
    }

    fn token(keys: &Keys, end: End, now: Timestamp) -> String {
        keys.sign(&json!({"iss": "x"}), end, now).unwrap()
    }

    #[test]
    fn the_next_start_verifies_what_was_signed_before() {
        let (_scratch, path) = scratch();
        let keys = Keys::open(&path, Timestamp::now()).unwrap();
        let file = path.join("pki").join(NAME);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let token = token(&keys, End::At(days_later(300)), Timestamp::now());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        for days in [0, 80, 90, 91, 180, 181, 299] {
            let keys = Keys::open(&path, days_later(days)).unwrap();
            assert!(verifies(&keys, &token), "{days}");
        }
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let keys = Keys::open(&path, days_later(305)).unwrap();
        assert!(!verifies(&keys, &token), "its key has been dropped");
    }

    #[test]
    fn whatever_a_crash_leaves_of_a_write_all_tokens_stay_valid() {
        let (_scratch, path) = scratch();
        let keys = Keys::open(&path, Timestamp::now()).unwrap();
        let first = token(&keys, End::Never, Timestamp::now());
        let file = path.join("pki").join(NAME);
        let before = fs::read(&file).unwrap();
        keys.rotate(days_later(90)).unwrap();
        let after = fs::read(&file).unwrap();
        assert_ne!(before, after);
        // The new file is complete or not when the old one is still there.
        for part in [&after[..0], &after[..after.len() / 2], &after[..]] {
            fs::write(&file, &before).unwrap();
            fs::write(path.join("pki").join(format!(".{NAME}.new")), part).unwrap();
            let again = Keys::open(&path, days_later(90)).unwrap();
            assert!(verifies(&again, &first));
            let next = token(&again, End::Never, days_later(92));
            assert!(verifies(&Keys::open(&path, days_later(92)).unwrap(), &next));
        }
    }

    #[test]
    fn damaged_keys_are_refused_with_what_to_do() {
        let (_scratch, path) = scratch();
        Keys::open(&path, Timestamp::now()).unwrap();
        let file = path.join("pki").join(NAME);
        fs::write(&file, "{").unwrap();
        let error = Keys::open(&path, Timestamp::now()).unwrap_err().to_string();
        for part in ["service-account-keys.json: not a file of keys", "restore", "delete it"] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"{", "it is left alone");
        fs::remove_file(&file).unwrap();
        assert!(Keys::open(&path, Timestamp::now()).is_ok());
    }

    #[test]
    fn a_token_is_not_handed_out_if_its_end_can_not_be_noted() {
        let (_scratch, path) = scratch();
        let keys = Keys::open(&path, Timestamp::now()).unwrap();
        fs::remove_dir_all(path.join("pki")).unwrap();
        let sign = |end| keys.sign(&json!({}), end, Timestamp::now());
        assert!(matches!(sign(End::Never), Err(TokenKeyError::File(_))));
        assert!(matches!(sign(End::Never), Err(TokenKeyError::File(_))), "nor the next one");
        assert!(sign(End::At(Timestamp::UNIX_EPOCH)).is_ok());
    }
}
