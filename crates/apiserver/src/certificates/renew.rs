//! Renewal at run time: a certificate that is about to expire is recreated as at startup, and used
//! for new connections.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::sync::watch;

use super::{
    CertificateError, Certificates, Name, certificates, files::write_secret, kubeconfig,
    tls::Serving,
};

/// Interval of expiry checks; renewal starts a month before expiry.
const EVERY: Duration = Duration::from_secs(3600);

/// Every place that holds the server's certificates.
#[derive(Debug)]
pub(crate) struct ServedCertificates {
    pub(crate) folder: PathBuf,
    pub(crate) names: Vec<Name>,
    pub(crate) address: SocketAddr,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) serving: Arc<Serving>,
    pub(crate) present: Certificates,
    /// The CA certificate, to be published to clients in the cluster.
    pub(crate) authority: watch::Sender<String>,
}

/// Runs until the server stops.
pub(crate) async fn keep_renewed(shown: &mut ServedCertificates) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        if let Err(error) = shown.renew(Timestamp::now()) {
            tracing::error!(%error, "renewing certificates failed, retrying in {EVERY:?}");
        }
    }
}

impl ServedCertificates {
    /// Renews certificates about to expire at `now`. Files are written first: after a partial
    /// failure, the next attempt finds the difference.
    pub(crate) fn renew(&mut self, now: Timestamp) -> Result<(), CertificateError> {
        let fresh = certificates(&self.folder, &self.names, now)?;
        let Certificates { authority, serving, admin } = &fresh;
        if *serving != self.present.serving {
            self.serving.replace(serving)?;
        }
        if *admin != self.present.admin || *authority != self.present.authority {
            write_secret(&self.kubeconfig, &kubeconfig(&fresh, self.address))?;
        }
        if *authority != self.present.authority {
            self.authority.send_replace(authority.clone());
        }
        self.present = fresh;
        Ok(())
    }
}
