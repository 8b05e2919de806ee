//! Creates certificates: ECDSA on P-256, the CA valid for ten years, the others for one.

use std::path::Path;

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use rustls::pki_types::CertificateDer;

use super::{
    CertificateError, Name,
    read::{Pair, Parsed},
};
use crate::identity::MASTERS;

pub(super) const ADMIN: &str = "kubernetes-admin";

const AUTHORITY_DAYS: i64 = 3650;
const LEAF_DAYS: i64 = 365;

/// The CA that signs the other certificates.
pub(crate) struct Authority {
    pub(crate) pem: String,
    pub(crate) certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    /// Seconds since 1970.
    ends: i64,
}

/// The purpose of a certificate.
#[derive(Debug)]
pub(super) enum Purpose<'a> {
    Serving(&'a [Name]),
    Admin,
}

/// A new CA, with an existing key if given.
pub(super) fn authority(kept: Option<KeyPair>, now: Timestamp) -> Result<Authority, rcgen::Error> {
    let key = kept.map_or_else(KeyPair::generate, Ok)?;
    let mut params = params("evenkeel", AUTHORITY_DAYS, i64::MAX, now);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let certificate = params.self_signed(&key)?;
    Ok(Authority {
        pem: certificate.pem(),
        certificate: certificate.der().clone(),
        ends: params.not_after.unix_timestamp(),
        issuer: Issuer::new(params, key),
    })
}

/// The existing CA.
pub(super) fn kept_authority(
    path: &Path,
    pem: String,
    parsed: &Parsed,
    key: KeyPair,
) -> Result<Authority, CertificateError> {
    let issuer = Issuer::from_ca_cert_der(&parsed.der, key).map_err(|error| {
        CertificateError::Damaged { path: path.to_owned(), problem: error.to_string() }
    })?;
    Ok(Authority { pem, certificate: parsed.der.clone(), issuer, ends: parsed.ends })
}

/// A certificate with its own key.
pub(super) fn leaf(
    authority: &Authority,
    purpose: &Purpose<'_>,
    now: Timestamp,
) -> Result<Pair, rcgen::Error> {
    let params = leaf_params(authority, purpose, now);
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &authority.issuer)?;
    Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn leaf_params(authority: &Authority, purpose: &Purpose<'_>, now: Timestamp) -> CertificateParams {
    let name = if matches!(purpose, Purpose::Admin) { ADMIN } else { "kube-apiserver" };
    let mut params = params(name, LEAF_DAYS, authority.ends, now);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    match purpose {
        Purpose::Admin => {
            params.distinguished_name.push(DnType::OrganizationName, MASTERS);
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        }
        Purpose::Serving(names) => {
            params.subject_alt_names = names.iter().filter_map(san).collect();
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        }
    }
    params
}

fn san(name: &Name) -> Option<SanType> {
    match name {
        Name::Dns(name) => Some(SanType::DnsName(name.as_str().try_into().ok()?)),
        Name::Address(address) => Some(SanType::IpAddress(*address)),
    }
}

/// Valid from yesterday, since clocks differ, and not beyond `latest`.
fn params(name: &str, days: i64, latest: i64, now: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let day = |offset: i64| now + SignedDuration::from_hours(24 * offset);
    let latest = Timestamp::from_second(latest).unwrap_or(Timestamp::MAX);
    let midnight = |at: Timestamp| {
        let date = at.to_zoned(TimeZone::UTC).date();
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    params.not_before = midnight(day(-1));
    params.not_after = midnight(day(days).min(latest));
    params
}

// === impl Authority ===

impl Authority {
    pub(super) fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    #[cfg(test)]
    pub(super) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }
}
