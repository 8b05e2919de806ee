//! `evenkeel controller`: the EndpointSlice controller, until a signal; and the handover of
//! EndpointSlices between it and kube-controller-manager.

pub(crate) mod access;
mod args;

use std::net::{SocketAddr, TcpListener};

use evenkeel_admin::{lease, signals::Signals};
use evenkeel_controller::{
    Ready, Settings,
    handover::{self, HandoverResult, Relabelled},
};
use evenkeel_k8s::live::{self, Connection};
use evenkeel_model::harmless;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use tokio::runtime::Builder;
use tracing::Level;

pub(crate) use self::args::{ClusterArgs, ControllerArgs, EXAMPLES, LEASE_NAME, LEASE_NAMESPACE};
use self::args::{ControllerCommand, HandoverArgs, RunArgs};
use crate::{
    access::denied,
    error::Error,
    logging::{self, SHUTTING_DOWN},
    printer,
};

pub(crate) fn run(args: &ControllerArgs) -> Result<(), Error> {
    match &args.command {
        None => control(&args.run),
        Some(ControllerCommand::Release(args)) => hand_over(args, Direction::Release),
        Some(ControllerCommand::Adopt(args)) => hand_over(args, Direction::Adopt),
    }
}

/// Finds before the start what would otherwise show as requests that are retried forever.
async fn check(client: &Client, settings: &Settings) -> Result<(), Error> {
    let election = settings.election.as_ref();
    if let Some(lease::Settings { namespace, .. }) = election {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        // Credentials that can't get the Namespace may still have a Lease there.
        if let Err(kube::Error::Api(status)) = namespaces.get(namespace).await
            && status.is_not_found()
        {
            return Err(Error::LeaseNamespace { namespace: namespace.clone() });
        }
    }
    let lease = election.map(|election| (&*election.namespace, &*election.name));
    let denied = denied(&access::ask(client, lease).await);
    match denied.is_empty() {
        true => Ok(()),
        false => Err(Error::NotAllowed { of: "controller", roles: "deploy/base", denied }),
    }
}

/// The namespace of reports, if they are used and can be read: a cluster without Evenkeel's proxy has
/// no permission for them.
pub(crate) async fn reports(client: &Client, settings: &Settings) -> Option<String> {
    let namespace = settings.reports.clone().filter(|_| settings.engine.conditions)?;
    let denied = denied(&access::ask_reports(client, &namespace).await);
    if denied.is_empty() {
        return Some(namespace);
    }
    tracing::info!(
        namespace,
        "no permission to read reports of proxies; TrafficDistributionHonored is not written"
    );
    None
}

/// Fails where nobody can listen, before anything else is done.
pub(crate) fn is_free(flag: &'static str, address: SocketAddr) -> Result<(), Error> {
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(source) => Err(Error::Listen { flag, address, source }),
    }
}

fn control(args: &RunArgs) -> Result<(), Error> {
    let settings = args::settings(args, identity())?;
    logging::start(&args.log, Level::INFO);
    is_free("--listen", args.listen)?;
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Error::Start)?;
    let mut printed = Ok(());
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let source = args.cluster.source()?;
        let Connection { client, address } = live::controller_client(&source).await?;
        tracing::info!(kubeconfig = %source, %address, "connected to API server");
        check(&client, &settings).await?;
        let reports = reports(&client, &settings).await;
        let settings = Settings { address: Some(address), reports, ..settings };
        let ready = greeting(&settings, &mut printed);
        let stop = signals.first(|| printer::note(SHUTTING_DOWN));
        evenkeel_controller::run(client, settings.clone(), ready, stop).await.map_err(Error::from)
    })?;
    printed
}

/// In a Pod the host's name is the Pod's.
fn identity() -> String {
    lease::identity(&rustix::system::uname().nodename().to_string_lossy())
}

fn greeting<'a>(
    settings: &'a Settings,
    printed: &'a mut Result<(), Error>,
) -> impl FnOnce(Ready) + use<'a> {
    |Ready { admin, .. }| {
        let mut text = "Controller is ready.\n".to_owned();
        if let Some(address) = admin {
            text += &format!("health and metrics: http://{address}/readyz, /metrics\n");
        }
        if let Some(lease::Settings { namespace, name, identity, .. }) = &settings.election {
            text += &format!("lease: {namespace}/{name}, as {identity}\n");
        }
        *printed = printer::data(&text);
    }
}

#[derive(Clone, Copy, Debug)]
enum Direction {
    Release,
    Adopt,
}

fn hand_over(args: &HandoverArgs, direction: Direction) -> Result<(), Error> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let mut lines = String::new();
    let summary = runtime.block_on(async {
        let source = args.cluster.source()?;
        printer::note(format_args!("kubeconfig: {source}"));
        let Connection { client, .. } = live::controller_client(&source).await?;
        let scope = args::scope(args, client.default_namespace())?;
        let on_slice = |slice: &Relabelled| lines += &line(slice, direction);
        let handed_over = match direction {
            Direction::Release => handover::release(client, &scope, on_slice).await,
            Direction::Adopt => handover::adopt(client, &scope, on_slice).await,
        };
        Ok::<_, Error>(handed_over?)
    })?;
    if lines.is_empty() {
        printer::note(match direction {
            Direction::Release => "no EndpointSlices managed by Evenkeel found",
            Direction::Adopt => "no EndpointSlices managed by kube-controller-manager found",
        });
    }
    printer::data(&lines)?;
    match summary.failed {
        0 => Ok(()),
        slices => Err(Error::Handover { slices }),
    }
}

fn line(Relabelled { namespace, slice, result, .. }: &Relabelled, direction: Direction) -> String {
    let outcome = match (result, direction) {
        (HandoverResult::Done, Direction::Release) => {
            "released to kube-controller-manager".to_owned()
        }
        (HandoverResult::Done, Direction::Adopt) => "adopted by Evenkeel".to_owned(),
        (HandoverResult::Skipped, _) => "skipped: changed or deleted by another process".to_owned(),
        (HandoverResult::Failed(problem), _) => format!("failed: {}", harmless(problem)),
    };
    format!("endpointslice/{namespace}/{slice} {outcome}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_use_is_found_before_the_start() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let error = is_free("--listen", address).unwrap_err();
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        assert!(error.help().is_some_and(|help| help.contains("--listen")));
        assert!(is_free("--listen", "127.0.0.1:0".parse().unwrap()).is_ok());
    }
}
