//! The parts of `evenkeel up`. A new one is a line in [`PARTS`], and a file that runs it.

pub(super) mod api;
mod controller;

use std::{path::PathBuf, sync::Arc};

use evenkeel_k8s::live;
use futures_util::future::BoxFuture;
use kube::Client;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::args::Settings;
use crate::error::Error;

/// All that runs on the API, in the order in which it is started. It is stopped in the reverse
/// one, and the API last of all.
pub(super) const PARTS: &[Part] = &[Part {
    name: "controller",
    what: "writes EndpointSlices with hints, conditions and Events; /metrics, /readyz",
    run: |context| Box::pin(controller::run(context)),
}];

pub(super) struct Part {
    pub name: &'static str,
    /// For people, in a few words.
    pub what: &'static str,
    /// Runs until it is told to stop. It ends earlier only with an error.
    pub run: fn(Context) -> BoxFuture<'static, Result<(), Error>>,
}

/// What a part is given.
pub(super) struct Context {
    pub settings: Arc<Settings>,
    pub cluster: Cluster,
    /// To be told where the part answers, once it does.
    pub ready: oneshot::Sender<String>,
    pub stop: CancellationToken,
}

/// The API that runs here.
#[derive(Clone)]
pub(super) struct Cluster {
    pub client: Client,
    /// Absolute.
    pub kubeconfig: PathBuf,
}

impl Cluster {
    pub(super) async fn connect(kubeconfig: PathBuf) -> Result<Cluster, Error> {
        let client = live::controller_client(Some(kubeconfig.clone()), None).await?;
        Ok(Cluster { client, kubeconfig })
    }
}
