//! Certificates and temporary folders, for tests.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use super::make::{self, Authority};

pub(crate) struct Made {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
}

#[derive(Default)]
pub(crate) struct Leaf<'a> {
    pub(crate) name: &'a str,
    pub(crate) groups: &'a [&'a str],
    pub(crate) expired: bool,
    pub(crate) server: bool,
}

pub(crate) fn authority() -> Authority {
    make::authority(None, Timestamp::now()).unwrap()
}

pub(crate) fn leaf(authority: &Authority, wanted: &Leaf<'_>) -> Made {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if !wanted.name.is_empty() {
        params.distinguished_name.push(DnType::CommonName, wanted.name);
    }
    // rcgen's distinguished names hold one value per type; further ones are added by OID.
    for (at, group) in wanted.groups.iter().enumerate() {
        let kind = match at {
            0 => DnType::OrganizationName,
            _ => DnType::CustomDnType(vec![2, 5, 4, 10]),
        };
        params.distinguished_name.push(kind, *group);
    }
    if wanted.expired {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 2, 1);
    }
    let usage = match wanted.server {
        true => ExtendedKeyUsagePurpose::ServerAuth,
        false => ExtendedKeyUsagePurpose::ClientAuth,
    };
    params.extended_key_usages = vec![usage];
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, authority.issuer()).unwrap().der().clone();
    Made { certificate, key: PrivatePkcs8KeyDer::from(key.serialize_der()).into() }
}

/// A temporary folder, removed when the first element is dropped.
pub(crate) fn scratch() -> (Scratch, PathBuf) {
    let path = std::env::temp_dir().join(format!("evenkeel-test-{:016x}", rand::random::<u64>()));
    std::fs::create_dir_all(&path).unwrap();
    (Scratch(path.clone()), path)
}

pub(crate) struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(Path::new(&self.0));
    }
}
