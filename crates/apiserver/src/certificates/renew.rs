//! Renewal while the server runs: what is near its end is made anew as at a start, and shown from
//! the next connection on.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use jiff::Timestamp;

use super::{
    CertificateError, Certificates, Name, certificates, files::write_secret, kubeconfig,
    tls::Serving,
};

/// How often it is looked whether one is near its end, which is a month.
const EVERY: Duration = Duration::from_secs(3600);

/// All places where a server's certificates are.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) folder: PathBuf,
    pub(crate) names: Vec<Name>,
    pub(crate) address: SocketAddr,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) serving: Arc<Serving>,
    pub(crate) present: Certificates,
}

/// Runs until the server stops.
pub(crate) async fn keep_renewed(shown: &mut Shown) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        if let Err(error) = shown.renew(Timestamp::now()) {
            let again = format!("{}s", EVERY.as_secs());
            tracing::error!(%error, again, "renewing certificates failed, retrying");
        }
    }
}

impl Shown {
    /// Renews what is near its end at `now`. The files come first: after a failure half-way, the
    /// next attempt finds what differs from what is shown.
    pub(crate) fn renew(&mut self, now: Timestamp) -> Result<(), CertificateError> {
        let fresh = certificates(&self.folder, &self.names, now)?;
        let Certificates { authority, serving, admin } = &fresh;
        if *serving != self.present.serving {
            self.serving.replace(serving)?;
        }
        if *admin != self.present.admin || *authority != self.present.authority {
            write_secret(&self.kubeconfig, &kubeconfig(&fresh, self.address))?;
        }
        self.present = fresh;
        Ok(())
    }
}
