//! Reads certificates and keys, and checks whether they are still valid.

use std::{fmt, path::Path};

use jiff::Timestamp;
use rcgen::KeyPair;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use x509_parser::{certificate::X509Certificate, extensions::GeneralName, prelude::FromDer};

use super::{
    CertificateError, Name,
    make::{ADMIN, Authority, Purpose},
};
use crate::identity::MASTERS;

/// A certificate and its key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// The required parts of a certificate.
pub(super) struct Parsed {
    pub(super) der: CertificateDer<'static>,
    /// Seconds since 1970.
    pub(super) ends: i64,
    public_key: Vec<u8>,
}

/// Certificates valid for fewer days are renewed.
const SOON_DAYS: i64 = 30;

pub(super) fn certificate(path: &Path, pem: &str) -> Result<Parsed, CertificateError> {
    let damaged = |problem: String| CertificateError::Damaged { path: path.to_owned(), problem };
    let der = CertificateDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| damaged("not a certificate in PEM form".to_owned()))?;
    let (_, parsed) =
        X509Certificate::from_der(&der).map_err(|_| damaged("not a certificate".to_owned()))?;
    let ends = parsed.validity().not_after.timestamp();
    let public_key = parsed.public_key().subject_public_key.data.to_vec();
    Ok(Parsed { ends, public_key, der })
}

pub(super) fn key(path: &Path, pem: &str) -> Result<KeyPair, CertificateError> {
    KeyPair::from_pem(pem).map_err(|_| CertificateError::Damaged {
        path: path.to_owned(),
        problem: "not a private key in PEM form (PKCS #8)".to_owned(),
    })
}

// === impl Parsed ===

impl Parsed {
    pub(super) fn fits(&self, key: &KeyPair) -> bool {
        self.public_key == key.public_key_raw()
    }

    pub(super) fn ends_soon(&self, now: Timestamp) -> bool {
        self.ends - now.as_second() < SOON_DAYS * 24 * 3600
    }

    /// Why it must be renewed, if it must.
    pub(super) fn fault(
        &self,
        key: &KeyPair,
        authority: &Authority,
        purpose: &Purpose<'_>,
        now: Timestamp,
    ) -> Option<&'static str> {
        if !self.fits(key) {
            return Some("its key is another one");
        }
        if self.ends_soon(now) {
            return Some("it is near its end");
        }
        let (Ok((_, own)), Ok((_, signer))) = (
            X509Certificate::from_der(&self.der),
            X509Certificate::from_der(&authority.certificate),
        ) else {
            return Some("it can't be read");
        };
        if own.verify_signature(Some(signer.public_key())).is_err() {
            return Some("another authority has signed it");
        }
        match purpose {
            Purpose::Serving(names) if !names.iter().all(|name| vouches(&own, name)) => {
                Some("it does not name all addresses of the server")
            }
            Purpose::Admin if !is_admin(&own) => Some("it is not the administrator's"),
            _ => None,
        }
    }
}

fn vouches(own: &X509Certificate<'_>, name: &Name) -> bool {
    let Ok(Some(names)) = own.subject_alternative_name() else { return false };
    names.value.general_names.iter().any(|given| match (given, name) {
        (GeneralName::DNSName(given), Name::Dns(name)) => given.eq_ignore_ascii_case(name),
        (GeneralName::IPAddress(given), Name::Address(address)) => match address {
            std::net::IpAddr::V4(address) => *given == address.octets(),
            std::net::IpAddr::V6(address) => *given == address.octets(),
        },
        _ => false,
    })
}

fn is_admin(own: &X509Certificate<'_>) -> bool {
    let subject = own.subject();
    subject.iter_common_name().any(|name| name.as_str() == Ok(ADMIN))
        && subject.iter_organization().any(|group| group.as_str() == Ok(MASTERS))
}

// === impl Pair ===

impl fmt::Debug for Pair {
    /// Never shows the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}
