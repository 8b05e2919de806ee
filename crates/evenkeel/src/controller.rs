//! `evenkeel controller`: the EndpointSlice controller, until a signal ends it; and the handing over
//! of slices between it and Kubernetes' own.

pub(crate) mod access;
mod args;

use std::net::{SocketAddr, TcpListener};

use evenkeel_admin::{lease, signals::Signals};
use evenkeel_controller::{
    Ready, Settings,
    handover::{self, HandedOver, Relabelled},
};
use evenkeel_k8s::live::{self, LiveError};
use evenkeel_model::harmless;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use tokio::runtime::Builder;
use tracing::Level;

pub(crate) use self::args::{ClusterArgs, ControllerArgs, EXAMPLES, LEASE_NAME, LEASE_NAMESPACE};
use self::args::{ControllerCommand, HandoverArgs, RunArgs};
use crate::{error::Error, logging, printer};

pub(crate) fn run(args: &ControllerArgs) -> Result<(), Error> {
    match &args.command {
        None => control(&args.run),
        Some(ControllerCommand::Release(args)) => hand_over(args, Direction::Release),
        Some(ControllerCommand::Adopt(args)) => hand_over(args, Direction::Adopt),
    }
}

/// What would only show as a retried request is looked for before the start.
async fn check(client: &Client, election: Option<&lease::Settings>) -> Result<(), Error> {
    if let Some(lease::Settings { namespace, .. }) = election {
        let namespaces: Api<Namespace> = Api::all(client.clone());
        // Whoever may not ask may have a Lease there all the same.
        if let Err(kube::Error::Api(status)) = namespaces.get(namespace).await
            && status.is_not_found()
        {
            return Err(Error::LeaseNamespace { namespace: namespace.clone() });
        }
    }
    let lease = election.map(|election| (&*election.namespace, &*election.name));
    let denied = access::denied(&access::ask(client, lease).await);
    match denied.is_empty() {
        true => Ok(()),
        false => Err(Error::NotAllowed { denied }),
    }
}

/// Fails where nobody can listen, so that it is said before anything else is done.
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
    let mut said = Ok(());
    runtime.block_on(async {
        let signals = Signals::new().map_err(Error::Start)?;
        let client = connect(&args.cluster).await?;
        check(&client, settings.election.as_ref()).await?;
        let ready = greeting(&settings, &mut said);
        let stop = signals
            .first(|| printer::note("stopping; a second signal ends the controller at once"));
        evenkeel_controller::run(client, settings.clone(), ready, stop).await.map_err(Error::from)
    })?;
    said
}

/// In a Pod the host's name is the Pod's.
fn identity() -> String {
    lease::identity(&rustix::system::uname().nodename().to_string_lossy())
}

async fn connect(args: &ClusterArgs) -> Result<Client, Error> {
    let client = live::controller_client(args.kubeconfig.clone(), args.context.clone()).await;
    client.map_err(|error| match error {
        // There are no manifests to take instead.
        LiveError::NoCluster => Error::NoCluster,
        error => error.into(),
    })
}

fn greeting<'a>(
    settings: &'a Settings,
    said: &'a mut Result<(), Error>,
) -> impl FnOnce(Ready) + use<'a> {
    |Ready { admin, .. }| {
        let mut text = "The controller is ready.\n".to_owned();
        if let Some(address) = admin {
            text += &format!("health and metrics: http://{address}/readyz, /metrics\n");
        }
        if let Some(lease::Settings { namespace, name, identity, .. }) = &settings.election {
            text += &format!("lease: {namespace}/{name}, as {identity}\n");
        }
        *said = printer::data(&text);
    }
}

#[derive(Clone, Copy, Debug)]
enum Direction {
    Release,
    Adopt,
}

fn hand_over(args: &HandoverArgs, direction: Direction) -> Result<(), Error> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let mut told = String::new();
    let tally = runtime.block_on(async {
        let client = connect(&args.cluster).await?;
        let scope = args::scope(args, client.default_namespace())?;
        let tell = |slice: &Relabelled| told += &line(slice, direction);
        let handed_over = match direction {
            Direction::Release => handover::release(client, &scope, tell).await,
            Direction::Adopt => handover::adopt(client, &scope, tell).await,
        };
        Ok::<_, Error>(handed_over?)
    })?;
    if told.is_empty() {
        printer::note(match direction {
            Direction::Release => "no slice of ours is left there",
            Direction::Adopt => "no slice of Kubernetes' own controller is left there",
        });
    }
    printer::data(&told)?;
    match tally.failed {
        0 => Ok(()),
        slices => Err(Error::Handover { slices }),
    }
}

fn line(Relabelled { namespace, slice, result, .. }: &Relabelled, direction: Direction) -> String {
    let now = match (result, direction) {
        (HandedOver::Done, Direction::Release) => "is Kubernetes' now".to_owned(),
        (HandedOver::Done, Direction::Adopt) => "is ours now".to_owned(),
        (HandedOver::NoMore, _) => "was changed or deleted by somebody else meanwhile".to_owned(),
        (HandedOver::Failed(problem), _) => format!("FAILED: {}", harmless(problem)),
    };
    format!("endpointslice/{namespace}/{slice} {now}\n")
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
