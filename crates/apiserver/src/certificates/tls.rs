//! TLS with these certificates.

use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::{CertificateError, Certificates};
use crate::{identity::Judge, serve::Tls};

/// The set-up for serving, with the judge of client certificates.
pub(crate) fn tls(certificates: &Certificates) -> Result<Tls, CertificateError> {
    let unusable = |_| rustls::Error::General("a certificate or key is unusable".to_owned());
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(unusable);
    let authority = der(&certificates.authority)?;
    let judge = Judge::new(&authority)
        .ok_or_else(|| rustls::Error::General("ca.crt is no usable authority".to_owned()))?;
    let serving = der(&certificates.serving.certificate)?;
    let key =
        PrivateKeyDer::from_pem_slice(certificates.serving.key.as_bytes()).map_err(unusable)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(judge.handshake())
        .with_single_cert(vec![serving], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Sessions resume from tickets that the client keeps; they hold the client's certificate, which
    // is judged again on each connection.
    config.ticketer = ring::Ticketer::new()?;
    Ok(Tls { config: Arc::new(config), judge })
}
