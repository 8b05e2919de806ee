//! TLS configuration from these certificates.

use std::sync::Arc;

use parking_lot::RwLock;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use super::{CertificateError, Certificates, read::Pair};
use crate::{identity::CertificateVerifier, serve::Tls};

/// The serving certificate for new connections. It may be replaced at any time.
#[derive(Debug)]
pub(crate) struct Serving(RwLock<Arc<CertifiedKey>>);

/// The server configuration, with the verifier of client certificates.
pub(crate) fn tls(certificates: &Certificates) -> Result<Tls, CertificateError> {
    let authority = CertificateDer::from_pem_slice(certificates.authority.as_bytes());
    let authority = authority.map_err(|_| unusable())?;
    let verifier = CertificateVerifier::new(&authority)
        .ok_or_else(|| rustls::Error::General("ca.crt is no usable authority".to_owned()))?;
    let serving = Arc::new(Serving(RwLock::new(certified(&certificates.serving)?)));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier.handshake())
        .with_cert_resolver(serving.clone());
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Sessions resume from tickets stored by the client; they contain the client's certificate,
    // which is verified again on each connection.
    config.ticketer = ring::Ticketer::new()?;
    Ok(Tls { config: Arc::new(config), verifier, serving })
}

fn certified(pair: &Pair) -> Result<Arc<CertifiedKey>, CertificateError> {
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes());
    let (certificate, key) = (certificate.map_err(|_| unusable())?, key.map_err(|_| unusable())?);
    let certified = CertifiedKey::from_der(vec![certificate], key, &ring::default_provider())?;
    Ok(Arc::new(certified))
}

fn unusable() -> rustls::Error {
    rustls::Error::General("a certificate or key is unusable".to_owned())
}

// === impl Serving ===

impl Serving {
    /// Takes effect with the next connection; open ones are kept.
    pub(super) fn replace(&self, pair: &Pair) -> Result<(), CertificateError> {
        *self.0.write() = certified(pair)?;
        Ok(())
    }
}

impl ResolvesServerCert for Serving {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().clone())
    }
}
