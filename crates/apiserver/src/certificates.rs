//! The keys and certificates of a server: its CA, its serving certificate, and the administrator's
//! client certificate. They are created at the first start, stored in `DATA/pki`, and renewed when
//! they don't cover all addresses of the server, or when they are about to expire, also at run
//! time.
//!
//! A key is written before its certificate. After a crash there may therefore be a key alone, or
//! one that does not match its certificate: both are recreated, except that a new CA certificate
//! keeps the CA's key, since all others depend on it.

mod files;
mod folder;
mod kubeconfig;
mod make;
mod names;
mod read;
mod renew;
#[cfg(test)]
pub(crate) mod testing;
mod tls;

use std::{
    io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use thiserror::Error;

pub use self::folder::FolderError;
pub(crate) use self::{
    files::{read as read_secret, write_secret},
    folder::Folder,
    kubeconfig::kubeconfig,
    names::{Name, names},
    renew::{ServedCertificates, keep_renewed},
    tls::{Serving, tls},
};
use self::{
    make::{Authority, Purpose},
    read::Pair,
};

/// Everything that a server presents and hands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificates {
    pub(crate) authority: String,
    pub(crate) serving: Pair,
    pub(crate) admin: Pair,
}

/// Why the certificates can't be loaded or created.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CertificateError {
    #[error("{}: can't be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: can't be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: {problem}; restore a valid copy, or delete {}", path.display(), if_deleted(path))]
    Damaged { path: PathBuf, problem: String },
    #[error(
        "{}: the key of ca.crt is missing; restore it, or delete the folder {} to create a new \
         CA (existing kubeconfigs then stop working)",
        path.display(), folder_of(path)
    )]
    NoKey { path: PathBuf },
    #[error("{}: the key does not match ca.crt; restore the right one", path.display())]
    OtherKey { path: PathBuf },
    #[error("can't create certificates: {0}")]
    Make(#[from] rcgen::Error),
    #[error("can't configure TLS: {0}")]
    Tls(#[from] rustls::Error),
}

fn folder_of(path: &Path) -> String {
    path.parent().unwrap_or(path).display().to_string()
}

fn if_deleted(path: &Path) -> String {
    match path.file_stem().is_some_and(|stem| stem == "ca") {
        true => format!(
            "the folder {} to create a new CA (existing kubeconfigs then stop working)",
            folder_of(path)
        ),
        false => "it to create a new one".to_owned(),
    }
}

/// Loads the certificates from `folder`, creating and renewing them as needed.
pub(crate) fn certificates(
    folder: &Path,
    names: &[Name],
    now: Timestamp,
) -> Result<Certificates, CertificateError> {
    let pki = pki_folder(folder)?;
    let authority = authority(&pki, now)?;
    let serving = leaf(&pki, "apiserver", &authority, &Purpose::Serving(names), now)?;
    let admin = leaf(&pki, "admin", &authority, &Purpose::Admin, now)?;
    Ok(Certificates { authority: authority.pem, serving, admin })
}

/// The folder of a server's keys, created if it does not exist.
pub(crate) fn pki_folder(folder: &Path) -> Result<PathBuf, CertificateError> {
    files::folder(&folder.join("pki"))
}

fn authority(pki: &Path, now: Timestamp) -> Result<Authority, CertificateError> {
    let (crt, key) = (pki.join("ca.crt"), pki.join("ca.key"));
    let kept = match (files::read(&crt)?, files::read(&key)?) {
        (Some(_), None) => return Err(CertificateError::NoKey { path: key }),
        (None, None) => None,
        (None, Some(text)) => Some(read::key(&key, &text)?),
        (Some(certificate), Some(text)) => {
            let parsed = read::certificate(&crt, &certificate)?;
            let kept = read::key(&key, &text)?;
            if !parsed.fits(&kept) {
                return Err(CertificateError::OtherKey { path: key });
            }
            if !parsed.ends_soon(now) {
                return make::kept_authority(&crt, certificate, &parsed, kept);
            }
            tracing::warn!(
                file = %crt.display(),
                "CA certificate renewed, its key is kept"
            );
            Some(kept)
        }
    };
    let authority = make::authority(kept, now)?;
    write_secret(&key, &authority.key_pem())?;
    files::write_public(&crt, &authority.pem)?;
    Ok(authority)
}

fn leaf(
    pki: &Path,
    stem: &str,
    authority: &Authority,
    purpose: &Purpose<'_>,
    now: Timestamp,
) -> Result<Pair, CertificateError> {
    let (crt, key) = (pki.join(stem).with_extension("crt"), pki.join(stem).with_extension("key"));
    if let (Some(certificate), Some(text)) = (files::read(&crt)?, files::read(&key)?) {
        let parsed = read::certificate(&crt, &certificate)?;
        match parsed.fault(&read::key(&key, &text)?, authority, purpose, now) {
            None => return Ok(Pair { certificate, key: text }),
            Some(why) => tracing::info!(file = %crt.display(), why, "certificate renewed"),
        }
    }
    let pair = make::leaf(authority, purpose, now)?;
    write_secret(&key, &pair.key)?;
    files::write_public(&crt, &pair.certificate)?;
    Ok(pair)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use tokio::sync::watch;

    use super::*;
    use crate::certificates::testing::scratch;

    fn now() -> Timestamp {
        Timestamp::now()
    }

    fn days_later(days: i64) -> Timestamp {
        now() + jiff::SignedDuration::from_hours(24 * days)
    }

    fn local() -> Vec<Name> {
        names(([127, 0, 0, 1], 6443).into(), &[[10, 96, 0, 1].into()])
    }

    fn start(folder: &Folder, at: Timestamp) -> Certificates {
        certificates(folder.path(), &local(), at).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_first_start_makes_files_that_only_the_owner_can_read() {
        let (_scratch, path) = scratch();
        let folder = Folder::open(&path.join("data")).unwrap();
        start(&folder, now());
        let pki = path.join("data/pki");
        assert_eq!((mode(&path.join("data")), mode(&pki)), (0o700, 0o700));
        for stem in ["ca", "apiserver", "admin"] {
            assert_eq!(mode(&pki.join(stem).with_extension("key")), 0o600, "{stem}");
            assert_eq!(mode(&pki.join(stem).with_extension("crt")), 0o644, "{stem}");
        }
        let names: Vec<_> =
            fs::read_dir(&pki).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 6, "nothing is left over: {names:?}");
    }

    #[test]
    fn the_next_start_takes_what_is_there() {
        let (_scratch, path) = scratch();
        let folder = Folder::open(&path).unwrap();
        let first = start(&folder, now());
        let second = start(&folder, days_later(300));
        assert_eq!(first.authority, second.authority);
        assert_eq!(first.serving, second.serving);
        assert_eq!(first.admin, second.admin);
    }

    #[test]
    fn a_certificate_near_its_end_is_renewed_by_the_same_authority() {
        let (_scratch, path) = scratch();
        let folder = Folder::open(&path).unwrap();
        let first = start(&folder, now());
        let second = start(&folder, days_later(340));
        assert_eq!(first.authority, second.authority);
        assert_ne!(first.serving, second.serving);
        assert_ne!(first.admin, second.admin);
        assert_eq!(second.admin, start(&folder, days_later(341)).admin);
    }

    #[test]
    fn the_authority_is_renewed_with_its_key() {
        let (_scratch, path) = scratch();
        let folder = Folder::open(&path).unwrap();
        let first = start(&folder, now());
        let key = fs::read_to_string(path.join("pki/ca.key")).unwrap();
        let second = start(&folder, days_later(3640));
        assert_ne!(first.authority, second.authority);
        assert_eq!(key, fs::read_to_string(path.join("pki/ca.key")).unwrap());
    }

    #[test]
    fn a_new_listen_address_renews_the_serving_certificate_alone() {
        let (_scratch, path) = scratch();
        let folder = Folder::open(&path).unwrap();
        let first = start(&folder, now());
        let more = names(([192, 0, 2, 7], 6443).into(), &[[10, 96, 0, 1].into()]);
        let second = certificates(folder.path(), &more, now()).unwrap();
        assert_ne!(first.serving, second.serving);
        assert_eq!(first.admin, second.admin);
    }

    #[test]
    fn what_a_crash_can_leave_is_made_anew() {
        let (_scratch, path) = scratch();
        let folder = Folder::open(&path).unwrap();
        let first = start(&folder, now());
        let pki = path.join("pki");
        fs::remove_file(pki.join("admin.crt")).unwrap();
        fs::copy(pki.join("ca.key"), pki.join("apiserver.key")).unwrap();
        let second = start(&folder, now());
        assert_eq!(first.authority, second.authority);
        assert_ne!(first.admin, second.admin);
        assert_ne!(first.serving, second.serving);
        fs::remove_file(pki.join("ca.crt")).unwrap();
        assert_eq!(start(&folder, now()).admin, second.admin);
    }

    #[test]
    fn damaged_files_are_refused_with_what_to_do() {
        let cases: &[(&str, Option<&str>, &[&str])] = &[
            ("ca.crt", Some("garbage"), &["ca.crt", "delete the folder", "new CA"]),
            ("ca.key", Some(""), &["ca.key", "delete the folder"]),
            ("ca.key", None, &["ca.key", "missing", "restore it"]),
            ("apiserver.crt", Some("garbage"), &["apiserver.crt", "delete it to create a new one"]),
            ("admin.key", Some("garbage"), &["admin.key", "delete it to create a new one"]),
        ];
        for (name, text, parts) in cases {
            let (_scratch, path) = scratch();
            let folder = Folder::open(&path).unwrap();
            start(&folder, now());
            let file = path.join("pki").join(name);
            match text {
                Some(text) => fs::write(&file, text).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            let error = certificates(folder.path(), &local(), now()).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{name}: {error}");
        }
    }

    #[test]
    fn another_authoritys_key_is_not_written_over() {
        let (_scratch, path) = scratch();
        let folder = Folder::open(&path).unwrap();
        start(&folder, now());
        fs::copy(path.join("pki/admin.key"), path.join("pki/ca.key")).unwrap();
        let error = certificates(folder.path(), &local(), now()).unwrap_err();
        assert!(matches!(error, CertificateError::OtherKey { .. }), "{error}");
    }

    #[test]
    fn a_key_that_others_could_read_is_closed() {
        let (_scratch, path) = scratch();
        let folder = Folder::open(&path).unwrap();
        start(&folder, now());
        let key = path.join("pki/ca.key");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        start(&folder, now());
        assert_eq!(mode(&key), 0o600);
    }

    fn shown(folder: &Folder, at: Timestamp) -> ServedCertificates {
        let present = start(folder, at);
        let folder = folder.path().to_owned();
        let kubeconfig = folder.join("kubeconfig");
        let address = ([127, 0, 0, 1], 6443).into();
        write_secret(&kubeconfig, &super::kubeconfig(&present, address)).unwrap();
        let serving = tls(&present).unwrap().serving;
        let authority = watch::Sender::new(present.authority.clone());
        ServedCertificates {
            folder,
            names: local(),
            address,
            kubeconfig,
            serving,
            present,
            authority,
        }
    }

    #[test]
    fn a_running_server_renews_what_is_near_its_end_and_its_kubeconfig() {
        let (_scratch, path) = scratch();
        let mut shown = shown(&Folder::open(&path).unwrap(), now());
        let text = |shown: &ServedCertificates| fs::read_to_string(&shown.kubeconfig).unwrap();
        let (first, before) = (shown.present.clone(), text(&shown));
        let mut clients = shown.authority.subscribe();
        shown.renew(days_later(300)).unwrap();
        assert_eq!((shown.present.clone(), text(&shown)), (first.clone(), before.clone()));
        shown.renew(days_later(340)).unwrap();
        assert_eq!(shown.present.authority, first.authority);
        assert_ne!(shown.present.serving, first.serving);
        assert_ne!(text(&shown), before);
        assert_eq!(text(&shown), kubeconfig(&shown.present, shown.address));
        assert_eq!(mode(&shown.kubeconfig), 0o600);
        let second = shown.present.clone();
        shown.renew(days_later(341)).unwrap();
        assert_eq!(shown.present, second);
        assert!(!clients.has_changed().unwrap());
        shown.renew(days_later(3640)).unwrap();
        assert_ne!(shown.present.authority, first.authority);
        assert_eq!(*clients.borrow_and_update(), shown.present.authority);
    }

    #[test]
    fn what_could_not_be_written_is_renewed_later() {
        let (_scratch, path) = scratch();
        let mut shown = shown(&Folder::open(&path).unwrap(), now());
        let (first, right) = (shown.present.clone(), shown.kubeconfig.clone());
        shown.kubeconfig = path.join("nowhere/kubeconfig");
        shown.renew(days_later(340)).unwrap_err();
        assert_eq!(shown.present, first, "to be tried again");
        shown.kubeconfig = right;
        shown.renew(days_later(340)).unwrap();
        let text = fs::read_to_string(&shown.kubeconfig).unwrap();
        assert_eq!(text, kubeconfig(&shown.present, shown.address));
        assert_ne!(shown.present.admin, first.admin);
    }
}
