//! `evenkeel curl`: requests from a node of `evenkeel up --proxy`, and where they went.
//!
//! ```text
//!  target (pure) ─► API: Service, Node or Pod ─► request: in the node's namespace ─► report (pure)
//! ```

mod report;
mod request;
mod target;

use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
    time::Duration,
};

use clap::Args;
use evenkeel_k8s::live::{self, Connection, LiveError};
use evenkeel_model::label;
use evenkeel_proxy::NetworkNamespace;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::{Api, Client, ResourceExt as _};
use tokio::runtime::Builder;

pub(crate) use self::{
    report::Failure,
    request::{Answer, Requests},
    target::Protocol,
};
use self::{
    report::Report,
    target::{Host, Target},
};
use crate::{
    cli::ReportOutput,
    complete,
    controller::ClusterArgs,
    duration::duration,
    error::Error,
    exit::Exit,
    network::{self, Record},
    output, printer,
};

#[derive(Debug, Args)]
pub(crate) struct CurlArgs {
    /// A Service and the path to request, as in `http://web.shop/path`, `web.shop:8080` or
    /// `udp://dns.shop`, or an address
    #[arg(value_name = "URL")]
    pub url: String,
    /// The Node that sends the requests, or a Pod on it: node-a1, pod/web-1 or shop/web-1
    #[arg(long, value_name = "NODE", add = complete::nodes())]
    pub from: String,
    /// The namespace of names without one [default: that of the context, or `default`]
    #[arg(short, long, value_name = "NAMESPACE", add = complete::namespaces())]
    pub namespace: Option<String>,
    /// Number of requests, each on a new connection
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// Send UDP datagrams instead of HTTP requests
    #[arg(long)]
    pub udp: bool,
    /// Time to wait for each connection and each answer
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration)]
    pub timeout: Duration,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub output: ReportOutput,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  evenkeel curl --from node-a1 http://web.shop
  evenkeel curl --from node-a1 http://web.shop --count 100
  evenkeel curl --from node-b1 udp://dns-cache.shop
  evenkeel curl --from web-6d4cf56db6-x2x9k -n shop http://cart

Needs root, and an `evenkeel up --proxy` that runs on this host.

Exit codes: 0 all requests were answered, 1 some were not, 2 wrong usage, 3 the cluster can't be
reached.";

/// Who sends the requests.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    node: String,
    /// Empty if the Node has none.
    zone: String,
    pod: Option<String>,
    /// The Pod's address.
    source: Option<IpAddr>,
    /// The name of the network namespace.
    netns: String,
}

pub(crate) fn run(args: &CurlArgs) -> Result<Exit, Error> {
    let target = target::parse(&args.url, args.udp)?;
    if !network::is_root() {
        return Err(Error::NeedsRoot { what: "curl" });
    }
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
    let report = runtime.block_on(send(args, &target))?;
    match args.output {
        ReportOutput::Json => printer::data(&output::json(&report)?)?,
        ReportOutput::Table => printer::data(&report.text())?,
    }
    match report.only_failure() {
        Some(failure) => Err(failure.error()),
        None if report.has_failures() => Ok(Exit::Findings),
        None => Ok(Exit::Clean),
    }
}

async fn send(args: &CurlArgs, target: &Target) -> Result<Report, Error> {
    let Connection { client, address: api } =
        live::controller_client(&args.cluster.source()?).await?;
    let record = Record::of_cluster(Path::new(network::FOLDER), &api);
    let record = record.ok_or_else(|| Error::NoNetwork { api })?;
    let namespace = args.namespace.as_deref().unwrap_or(client.default_namespace()).to_owned();
    let sender = sender(&client, &record, &args.from, &namespace).await?;
    let to = resolve(&client, target, &args.url, &namespace).await?;
    let inside = NetworkNamespace::named(&sender.netns)
        .map_err(|error| Error::Network { problem: format!("{}: {error}", sender.netns) })?;
    let requests = Requests {
        namespace: inside,
        source: sender.source,
        to,
        protocol: target.protocol,
        host: target.authority(),
        path: target.path.clone(),
        timeout: args.timeout,
    };
    let mut report = Report::new(sender, args.url.clone(), to);
    for _ in 0..args.count {
        report.count(requests.send().await);
    }
    Ok(report)
}

async fn sender(
    client: &Client,
    record: &Record,
    from: &str,
    namespace: &str,
) -> Result<Sender, Error> {
    let (namespace, name) = match from.split_once('/') {
        Some(("pod" | "pods" | "po", name)) => (namespace, name),
        Some((namespace, name)) => (namespace, name),
        None => (namespace, from),
    };
    let unknown = || Error::NoClient {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        known: record.nodes.keys().cloned().collect(),
    };
    let (node, pod, source) = if from == name && record.nodes.contains_key(name) {
        (name.to_owned(), None, None)
    } else {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let pod =
            pods.get_opt(name).await.map_err(|error| failed("Pods", error))?.ok_or_else(unknown)?;
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        let address = pod.status.as_ref().and_then(|status| status.pod_ip.as_ref()?.parse().ok());
        (node.ok_or_else(unknown)?, Some(pod.name_any()), Some(address.ok_or_else(unknown)?))
    };
    let netns = record.nodes.get(&node).ok_or_else(unknown)?.clone();
    let nodes: Api<Node> = Api::all(client.clone());
    let object = nodes.get_opt(&node).await.map_err(|error| failed("Nodes", error))?;
    let zone = object.and_then(|node| node.labels().get(label::ZONE).cloned()).unwrap_or_default();
    Ok(Sender { node, zone, pod, source, netns })
}

async fn resolve(
    client: &Client,
    target: &Target,
    given: &str,
    default_namespace: &str,
) -> Result<SocketAddr, Error> {
    let wrong = |problem: String, help: Option<String>| Error::Target {
        given: given.to_owned(),
        problem,
        help,
    };
    let (name, namespace) = match &target.host {
        Host::Address(address) => return Ok((*address, target.port_or_default()).into()),
        Host::Service { name, namespace } => {
            (name, namespace.as_deref().unwrap_or(default_namespace))
        }
    };
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let service = services.get_opt(name).await.map_err(|error| failed("Services", error))?;
    let Some(service) = service else {
        let help = "name it SERVICE.NAMESPACE, or set the namespace with -n".to_owned();
        return Err(wrong(
            format!("there is no Service {name:?} in namespace {namespace:?}"),
            Some(help),
        ));
    };
    let spec = service.spec.unwrap_or_default();
    let Some(address) = spec.cluster_ip.as_deref().and_then(|ip| ip.parse::<IpAddr>().ok()) else {
        let help = "send the request to a Pod's address (kubectl get pods -o wide)".to_owned();
        return Err(wrong(format!("Service {namespace}/{name} has no cluster IP"), Some(help)));
    };
    let ports = spec.ports.unwrap_or_default();
    let ports = ports.iter().map(|port| (port.protocol.as_deref().unwrap_or("TCP"), port.port));
    let port = target.port_of(&ports.collect::<Vec<_>>());
    let port =
        port.map_err(|problem| wrong(problem, Some("add a port, as in web.shop:8080".into())))?;
    Ok((address, port).into())
}

fn failed(what: &'static str, error: kube::Error) -> Error {
    Error::Live(LiveError::Failed { what, source: Box::new(error) })
}

impl Protocol {
    fn of_service(self) -> &'static str {
        match self {
            Protocol::Http => "TCP",
            Protocol::Udp => "UDP",
        }
    }
}
