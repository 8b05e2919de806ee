//! The namespaces, brought to the plan step by step.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs, io,
    net::Ipv4Addr,
    path::Path,
};

use evenkeel_proxy::{NetworkNamespace, Settings};
use kube::Client;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    plan::{Plan, PodPlan},
    proxy,
    server::{Servers, serve},
};
use crate::{
    error::Error,
    network::{
        self, Claim,
        ip::{ip, ip_anyway},
    },
    up::parts::Cluster,
};

/// The bridge's own address, which no other network uses. Nodes send everything to it.
const ROUTER: Ipv4Addr = Ipv4Addr::new(169, 254, 1, 1);

/// Packets are forwarded, take any way, and cause no redirects. Every one that can't be sent on is
/// reported to its sender, which then need not wait.
const SYSCTLS: &[(&str, &str)] = &[
    ("ipv4/ip_forward", "1"),
    ("ipv4/icmp_ratelimit", "0"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
];

/// All that is in the kernel. Dropping it removes everything.
#[derive(Debug)]
pub(super) struct Hosts {
    client: ClientOf,
    /// Of proxies.
    template: Settings,
    /// The URLs of their metrics.
    metrics: watch::Sender<Vec<String>>,
    /// Pods before their Nodes, and the names last: this is the order in which they are dropped.
    pods: BTreeMap<String, Served>,
    nodes: BTreeMap<String, Host>,
    proxies: JoinSet<Result<(), Error>>,
    /// Numbers of interfaces, which are used once.
    n_links: u32,
    claim: Claim,
}

#[derive(Debug)]
struct Host {
    address: Ipv4Addr,
    namespace: NetworkNamespace,
    /// The bridge's end of its link.
    link: String,
    is_cut: bool,
    stop: CancellationToken,
}

#[derive(Debug)]
struct Served {
    plan: PodPlan,
    _servers: Servers,
}

struct ClientOf(Client);

// === impl Hosts ===

impl Hosts {
    /// The bridge, without Nodes. `client` is for the proxies; `cluster` is the cluster's uid.
    pub(super) fn create(
        client: Client,
        template: Settings,
        cluster: &Cluster,
        uid: &str,
    ) -> Result<Hosts, Error> {
        let folder = Path::new(network::FOLDER);
        let claim = Claim::take(folder, network::BASE, &cluster.address, uid);
        let claim = claim.map_err(|source| Error::Write { path: folder.to_owned(), source })?;
        let bridge = claim.bridge().to_owned();
        create_namespace(&bridge)?;
        ip(
            Some(&bridge),
            &format!(
                "link set lo up\nlink add br0 type bridge mcast_snooping 0\nlink set br0 up\n\
                 addr add {ROUTER}/32 scope link dev br0\n"
            ),
        )?;
        Ok(Hosts {
            client: ClientOf(client),
            template,
            metrics: cluster.proxies.clone(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            proxies: JoinSet::new(),
            n_links: 0,
            claim,
        })
    }

    /// The namespace of a Node.
    pub(super) fn name(&self, node: &str) -> String {
        self.claim.name(node)
    }

    /// Makes the kernel match the plan. What fails is logged, and tried again by the next call;
    /// gives whether nothing did. Blocks for a few milliseconds for each changed Node.
    pub(super) fn apply(&mut self, plan: &Plan) -> bool {
        self.remove_pods(plan);
        self.remove_nodes(plan);
        let nodes = self.add_nodes(plan);
        let links = self.set_links(plan);
        let pods = self.add_pods(plan);
        nodes && links && pods
    }

    /// Waits until a proxy fails.
    pub(super) async fn failed(&mut self) -> Error {
        loop {
            match self.proxies.join_next().await {
                // It was stopped with its Node.
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(error))) => return error,
                Some(Err(_)) => return Error::PartEnded { part: "proxy" },
                None => std::future::pending().await,
            }
        }
    }

    /// Stops the proxies, and then removes everything.
    pub(super) async fn stop(mut self) {
        self.nodes.values().for_each(|host| host.stop.cancel());
        while self.proxies.join_next().await.is_some() {}
        tokio::task::block_in_place(|| drop(self));
    }

    fn remove_pods(&mut self, plan: &Plan) {
        let stays = |uid: &String, served: &mut Served| {
            let node = plan.nodes.get(&served.plan.identity.node);
            node.is_some() && plan.pods.get(uid) == Some(&served.plan)
        };
        let gone: Vec<Served> = self
            .pods
            .extract_if(.., |uid, served| !stays(uid, served))
            .map(|(_, gone)| gone)
            .collect();
        let mut routes = String::new();
        let mut addresses: BTreeMap<&str, String> = BTreeMap::new();
        for PodPlan { identity, address, .. } in
            gone.iter().map(|served| &served.plan).filter(|plan| plan.is_own_address)
        {
            let _ = writeln!(routes, "route del {address}/32");
            let lines = addresses.entry(&identity.node).or_default();
            let _ = writeln!(lines, "addr del {address}/32 dev lo");
        }
        if !routes.is_empty() {
            ip_anyway(Some(self.claim.bridge()), &routes);
        }
        for (node, lines) in addresses {
            ip_anyway(Some(&self.claim.name(node)), &lines);
        }
    }

    fn remove_nodes(&mut self, plan: &Plan) {
        let stays = |name: &String, host: &Host| plan.nodes.get(name) == Some(&host.address);
        let gone: Vec<String> = self
            .nodes
            .iter()
            .filter(|(name, host)| !stays(name, host))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.remove_node(&name);
        }
    }

    fn remove_node(&mut self, name: &str) {
        self.pods.retain(|_, served| served.plan.identity.node != name);
        if let Some(Host { stop, address, .. }) = self.nodes.remove(name) {
            stop.cancel();
            // With it go the routes to its Pods.
            ip_anyway(
                Some(self.claim.bridge()),
                &format!("route flush via {address}\nroute del {address}/32\n"),
            );
        }
        self.claim.remove(name);
    }

    fn add_nodes(&mut self, plan: &Plan) -> bool {
        let mut succeeded = true;
        for (name, &address) in &plan.nodes {
            if self.nodes.contains_key(name) {
                continue;
            }
            if let Err(error) = self.add_node(name, address) {
                tracing::warn!(node = name, %error, "creating the network namespace of a Node failed");
                self.remove_node(name);
                succeeded = false;
            }
        }
        succeeded
    }

    fn add_node(&mut self, name: &str, address: Ipv4Addr) -> Result<(), Error> {
        let recorded = self.claim.add(name);
        let netns =
            recorded.map_err(|source| Error::Write { path: network::FOLDER.into(), source })?;
        create_namespace(&netns)?;
        self.n_links += 1;
        let (link, bridge) = (format!("n{}", self.n_links), self.claim.bridge());
        // The same address at the same Node, so that neighbours know it after it was created again.
        let [a, b, c, d] = address.octets();
        let mac = format!("02:65:{a:02x}:{b:02x}:{c:02x}:{d:02x}");
        ip(
            None,
            &format!(
                "link add eth0 address {mac} netns {netns} type veth peer name {link} netns {bridge}\n"
            ),
        )?;
        ip(
            Some(bridge),
            &format!(
                "link set {link} master br0 up\nroute replace {address}/32 dev br0 scope link\n"
            ),
        )?;
        ip(
            Some(&netns),
            &format!(
                "link set lo up\nlink set eth0 up\naddr add {address}/32 dev eth0\n\
                 route add {ROUTER}/32 dev eth0 scope link\nroute add default via {ROUTER} src {address}\n"
            ),
        )?;
        let namespace = NetworkNamespace::named(&netns).map_err(|error| failed(&error))?;
        let stop = CancellationToken::new();
        let ClientOf(client) = &self.client;
        self.proxies.spawn(proxy(
            client.clone(),
            self.template.clone(),
            name.to_owned(),
            namespace.clone(),
            self.metrics.clone(),
            stop.clone(),
        ));
        let host = Host { address, namespace, link, is_cut: false, stop };
        self.nodes.insert(name.to_owned(), host);
        Ok(())
    }

    /// Cuts the links of Nodes with an outage, and connects the others again. At a Node nothing changes:
    /// its addresses, routes and rules stay.
    fn set_links(&mut self, plan: &Plan) -> bool {
        let changed = self
            .nodes
            .iter_mut()
            .filter(|(name, host)| host.is_cut != plan.cut.contains(name.as_str()));
        let changed: Vec<&mut Host> = changed.map(|(_, host)| host).collect();
        if changed.is_empty() {
            return true;
        }
        let line = |host: &&mut Host| {
            format!("link set {} {}\n", host.link, if host.is_cut { "up" } else { "down" })
        };
        let lines: String = changed.iter().map(line).collect();
        if let Err(error) = ip(Some(self.claim.bridge()), &lines) {
            tracing::warn!(%error, "cutting or connecting Nodes failed");
            return false;
        }
        changed.into_iter().for_each(|host| host.is_cut = !host.is_cut);
        true
    }

    fn add_pods(&mut self, plan: &Plan) -> bool {
        let new = plan.pods.iter().filter(|(uid, _)| !self.pods.contains_key(*uid));
        let mut by_node: BTreeMap<&str, Vec<(&String, &PodPlan)>> = BTreeMap::new();
        for (uid, pod) in new {
            by_node.entry(&pod.identity.node).or_default().push((uid, pod));
        }
        let mut succeeded = true;
        for (node, pods) in by_node {
            if let Err(error) = self.add_pods_of(node, &pods) {
                tracing::warn!(node, %error, "starting the servers of Pods failed");
                succeeded = false;
            }
        }
        succeeded
    }

    fn add_pods_of(&mut self, node: &str, pods: &[(&String, &PodPlan)]) -> Result<(), Error> {
        let Some(Host { address, namespace, .. }) = self.nodes.get(node) else { return Ok(()) };
        let own = pods.iter().map(|(_, pod)| *pod).filter(|pod| pod.is_own_address);
        let own: BTreeSet<Ipv4Addr> = own.map(|pod| pod.address).collect();
        if !own.is_empty() {
            let addresses: String = own
                .iter()
                .map(|pod| format!("addr replace {pod}/32 scope host dev lo\n"))
                .collect();
            ip(Some(&self.claim.name(node)), &addresses)?;
            let routes = own
                .iter()
                .map(|pod| format!("route replace {pod}/32 via {address} dev br0 onlink\n"));
            ip(Some(self.claim.bridge()), &routes.collect::<String>())?;
        }
        for (uid, pod) in pods {
            let (servers, outcome) = serve(namespace, pod);
            if let Err(error) = outcome {
                // Two Pods may want one port of their Node: another try would end the same.
                tracing::warn!(pod = pod.identity.pod, node, %error, "a Pod cannot listen on one of its ports");
            }
            self.pods.insert((*uid).clone(), Served { plan: (*pod).clone(), _servers: servers });
        }
        Ok(())
    }
}

impl std::fmt::Debug for ClientOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// A namespace in which packets are forwarded. One that is there from an earlier try is replaced.
fn create_namespace(name: &str) -> Result<(), Error> {
    if NetworkNamespace::named(name).is_ok() {
        ip_anyway(None, &format!("netns del {name}\n"));
    }
    ip(None, &format!("netns add {name}\n"))?;
    let inside = NetworkNamespace::named(name).map_err(|error| failed(&error))?;
    let set = || {
        SYSCTLS.iter().try_for_each(|(key, value)| {
            fs::write(Path::new("/proc/sys/net").join(key), value)
                .map_err(|error| io::Error::new(error.kind(), format!("net/{key}: {error}")))
        })
    };
    inside.run(set).and_then(|outcome| outcome).map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> Error {
    Error::Network { problem: error.to_string() }
}
