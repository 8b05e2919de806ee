//! The certificate with which pages are served, which an address beyond loopback needs.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::Error;

/// How browsers know that they talk to this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// PEM, with the certificates between it and the authority.
    pub certificate: PathBuf,
    /// PEM.
    pub key: PathBuf,
    /// Names of this server besides its address.
    pub hosts: Vec<String>,
}

impl Tls {
    /// Reads both files, once.
    pub(crate) fn config(&self) -> Result<Arc<ServerConfig>, Error> {
        let chain = read(&self.certificate)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
        let chain = chain.map_err(|error| wrong(&self.certificate, &error))?;
        if chain.is_empty() {
            return Err(wrong(&self.certificate, &"no certificate is in it"));
        }
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?);
        // What the parser says may quote the file.
        let key = key.map_err(|_| wrong(&self.key, &"no private key is in it"))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| wrong(&self.certificate, &error))?;
        let config = builder.with_no_client_auth().with_single_cert(chain, key);
        let mut config = config.map_err(|error| wrong(&self.certificate, &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| wrong(path, &error))
}

fn wrong(path: &Path, problem: &dyn ToString) -> Error {
    Error::Certificate { path: path.to_owned(), problem: problem.to_string() }
}
