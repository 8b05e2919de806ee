//! Whether the proxies of nodes report that their rules are in force. A cluster without any is not
//! told so: kube-proxy serves it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Code, Group, named};
use crate::status::facts::{Cluster, Proxy};

const LOOK: &str = "look at the proxy's Pod on these nodes and at its log";

pub(super) fn checks(cluster: &Cluster) -> Vec<Check> {
    let proxies = match &cluster.proxies {
        Ok(proxies) => proxies,
        Err(problem) => {
            return vec![Group::Proxies.not_listed(Code::ProxiesNotListed, "leases", problem)];
        }
    };
    // Without Nodes nothing can be said of them; another check reports that.
    let Ok(nodes) = &cluster.nodes else { return Vec::new() };
    let names: BTreeSet<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let of_nodes = proxies.iter().filter(|proxy| names.contains(proxy.node.as_str()));
    let by_node: BTreeMap<&str, &Proxy> = of_nodes.map(|proxy| (&*proxy.node, proxy)).collect();
    if by_node.is_empty() {
        return Vec::new();
    }
    let (fresh, stale): (Vec<&Proxy>, Vec<&Proxy>) =
        by_node.values().partition(|proxy| proxy.is_fresh(cluster.now));
    let without: Vec<&str> =
        names.iter().filter(|name| !by_node.contains_key(*name)).copied().collect();
    let mut checks = vec![reporting(fresh.len(), names.len())];
    checks.extend((!stale.is_empty()).then(|| no_longer(&stale)));
    checks.extend((!without.is_empty()).then(|| mixed(&without)));
    checks.extend(excepting(&fresh));
    checks
}

fn reporting(n: usize, of: usize) -> Check {
    let message = match n == of {
        true => format!("the proxies of all {n} nodes report"),
        false => format!("the proxies of {n} of {of} nodes report"),
    };
    Group::Proxies.ok(Code::ProxiesReport, message)
}

fn no_longer(stale: &[&Proxy]) -> Check {
    let names: Vec<&str> = stale.iter().map(|proxy| proxy.node.as_str()).collect();
    let message = format!("proxies no longer report: {}", named(&names));
    Group::Proxies.warning(Code::ProxiesStale, message, LOOK)
}

fn mixed(without: &[&str]) -> Check {
    let message = format!("nodes without Evenkeel's proxy: {}", named(without));
    let help = "they route by Kubernetes' rules: zone shares and RequireSameZone have no effect \
                there; check the node selector and tolerations of the proxy's DaemonSet";
    Group::Proxies.warning(Code::NodesWithoutProxy, message, help)
}

fn excepting(fresh: &[&Proxy]) -> Option<Check> {
    let excepting = fresh.iter().filter(|proxy| proxy.exceptions > 0);
    let names: Vec<String> =
        excepting.map(|proxy| format!("{} ({})", proxy.node, proxy.exceptions)).collect();
    (!names.is_empty()).then(|| {
        let message = format!("proxies that can't serve some Services: {}", named(&names));
        let help = "run `evenkeel explain -A` to see which, and why";
        Group::Proxies.warning(Code::ProxyExceptions, message, help)
    })
}
