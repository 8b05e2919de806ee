//! The user of a client certificate.
//!
//! As in Kubernetes, a certificate not signed by our CA does not fail the handshake: the client
//! gets a 401 that it understands, and a token beside it still counts. The handshake only checks
//! that the client has the key; [`CertificateVerifier`] then verifies the certificate, once per
//! connection, also for a resumed one. Expiry is checked again with each request.

use std::sync::Arc;

use rustls::{
    DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    pki_types::{CertificateDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use sha2::{Digest, Sha256};
use x509_parser::{certificate::X509Certificate, der_parser::oid, prelude::FromDer};

use super::User;

/// The result of verifying a connection's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Certificate {
    /// No certificate.
    None,
    /// Not signed by our CA, not valid now, or without a user.
    Refused,
    /// `ends` is in seconds since 1970.
    Of { user: Arc<User>, ends: i64 },
}

/// Verifies client certificates.
#[derive(Clone, Debug)]
pub(crate) struct CertificateVerifier {
    verifier: Arc<dyn ClientCertVerifier>,
}

/// The key of a certificate's fingerprint in a user's extra, as in Kubernetes.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

// === impl CertificateVerifier ===

impl CertificateVerifier {
    /// A verifier that trusts `authority`; `None` if that is not a usable CA.
    pub(crate) fn new(authority: &CertificateDer<'static>) -> Option<CertificateVerifier> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone()).ok()?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        Some(CertificateVerifier { verifier: builder.allow_unauthenticated().build().ok()? })
    }

    /// For the handshake: accepts any certificate whose key the client has.
    pub(crate) fn handshake(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::new(AnyOwned(Arc::clone(&self.verifier)))
    }

    /// Verifies the presented certificates, the client's own first.
    pub(crate) fn verify(&self, shown: Option<&[CertificateDer<'_>]>) -> Certificate {
        let Some([own, others @ ..]) = shown else { return Certificate::None };
        let verified = self.verifier.verify_client_cert(own, others, UnixTime::now());
        if let Err(error) = verified {
            tracing::debug!(%error, "client certificate rejected");
            return Certificate::Refused;
        }
        named(own).unwrap_or(Certificate::Refused)
    }
}

/// The user: the common name, with the organizations as groups.
fn named(own: &CertificateDer<'_>) -> Option<Certificate> {
    let (_, parsed) = X509Certificate::from_der(own).ok()?;
    let subject = parsed.subject();
    let name = subject.iter_common_name().last()?.as_str().ok()?;
    let uid_oid = oid!(1.3.6.1.4.1.57683.2);
    let uid = subject.iter_attributes().find(|attribute| *attribute.attr_type() == uid_oid);
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok());
    let fingerprint: String =
        Sha256::digest(own).iter().map(|byte| format!("{byte:02x}")).collect();
    let user = User {
        name: name.to_owned(),
        uid: uid.and_then(|uid| uid.as_str().ok()).unwrap_or_default().to_owned(),
        groups: groups.map(str::to_owned).collect(),
        extra: [(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={fingerprint}")])].into(),
    };
    let ends = parsed.validity().not_after.timestamp();
    (!name.is_empty()).then(|| Certificate::Of { user: Arc::new(user.authenticated()), ends })
}

/// Leaves the verification of the certificate to [`CertificateVerifier::verify`]; checks
/// signatures.
#[derive(Debug)]
struct AnyOwned(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AnyOwned {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, own, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, own, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::testing::{Leaf, Made, authority, leaf};

    fn judged(verifier: &CertificateVerifier, made: &Made) -> Certificate {
        verifier.verify(Some(std::slice::from_ref(&made.certificate)))
    }

    #[test]
    fn a_certificate_of_ours_names_its_user_and_groups() {
        let ours = authority();
        let verifier = CertificateVerifier::new(&ours.certificate).unwrap();
        let made =
            leaf(&ours, &Leaf { name: "alice", groups: &["devs", "ops"], ..Leaf::default() });
        let Certificate::Of { user, .. } = judged(&verifier, &made) else { panic!("refused") };
        assert_eq!(user.name, "alice");
        assert_eq!(user.groups, ["devs", "ops", "system:authenticated"]);
        let id = &user.extra[CREDENTIAL_ID][0];
        assert!(id.starts_with("X509SHA256=") && id.len() == 75, "{id}");
    }

    #[test]
    fn a_certificate_that_proves_nothing_is_refused() {
        let (ours, other) = (authority(), authority());
        let verifier = CertificateVerifier::new(&ours.certificate).unwrap();
        let cases = [
            ("of another authority", leaf(&other, &Leaf { name: "eve", ..Leaf::default() })),
            ("expired", leaf(&ours, &Leaf { name: "eve", expired: true, ..Leaf::default() })),
            ("for servers", leaf(&ours, &Leaf { name: "eve", server: true, ..Leaf::default() })),
            ("without a name", leaf(&ours, &Leaf::default())),
        ];
        for (what, made) in &cases {
            assert_eq!(judged(&verifier, made), Certificate::Refused, "{what}");
        }
        let garbage = CertificateDer::from(b"garbage".to_vec());
        assert_eq!(verifier.verify(Some(&[garbage])), Certificate::Refused);
        assert_eq!(verifier.verify(None), Certificate::None);
    }
}
