//! Hosts on a bridge.

use std::{
    fmt::Write as _,
    net::{Ipv4Addr, Ipv6Addr},
    ops::Deref,
    sync::atomic::{AtomicU16, Ordering},
};

use super::{
    Namespace, Pod,
    ip::ip,
    namespace::remove_leftovers,
    pod::{self, Identity},
};

/// The addresses of all Pods, as for `--cluster-cidr`.
pub const POD_CIDRS: [&str; 2] = ["10.244.0.0/16", "fd00:10:244::/48"];

/// Hosts, and the bridge between them.
#[derive(Debug)]
pub struct Network {
    hosts: Vec<Host>,
    outside: Namespace,
}

/// A node: a namespace with an address of each family. Has the methods of [`Namespace`].
#[derive(Debug)]
pub struct Host {
    pub name: String,
    pub zone: String,
    pub v4: Ipv4Addr,
    pub v6: Ipv6Addr,
    number: u8,
    namespace: Namespace,
    /// The number of the next Pod.
    next: AtomicU16,
}

// === impl Network ===

impl Network {
    /// A host for each name and zone, at most 250.
    pub fn new(hosts: &[(&str, &str)]) -> Network {
        assert!(hosts.len() <= 250, "the address plan has room for 250 hosts");
        remove_leftovers();
        let names: Vec<&str> = hosts.iter().map(|(name, _)| *name).collect();
        let mut namespaces = Namespace::new_many(&[&["outside"], names.as_slice()].concat());
        let outside = namespaces.remove(0);
        let named = hosts.iter().zip(namespaces).zip(0..);
        let hosts: Vec<Host> = named
            .map(|(((name, zone), namespace), number)| Host::new(name, zone, number, namespace))
            .collect();
        let network = Network { hosts, outside };
        network.connect();
        network
    }

    /// The host of that name; there must be one.
    pub fn host(&self, name: &str) -> &Host {
        let found = self.hosts.iter().find(|host| host.name == name);
        found.unwrap_or_else(|| panic!("there is no host {name}"))
    }

    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// A client that is neither node nor Pod, with the addresses 172.30.0.254 and `fd00:ac::fe` and a
    /// route to the Pods of every node. What nodes have no other route for is sent here, and
    /// dropped.
    pub fn outside(&self) -> &Namespace {
        &self.outside
    }

    fn connect(&self) {
        let mut links = String::new();
        let mut bridge = "link set lo up\nlink add br0 type bridge mcast_snooping 0\n".to_owned();
        for Host { number, namespace, .. } in &self.hosts {
            let (node, outside) = (namespace.netns(), self.outside.netns());
            let _ = writeln!(
                links,
                "link add eth0 netns {node} type veth peer name h{number} netns {outside}"
            );
            let _ = writeln!(bridge, "link set h{number} master br0 up");
        }
        bridge += "link set br0 up\naddr add 172.30.0.254/24 dev br0\naddr add fd00:ac::fe/64 dev br0 nodad\n";
        self.hosts.iter().for_each(|host| bridge += &host.routes());
        ip(None, &links);
        self.outside.ip(&bridge);
        for host in &self.hosts {
            host.sysctl("ipv4/ip_forward", "1");
            host.sysctl("ipv6/conf/all/forwarding", "1");
            host.ip(&self.batch_of(host));
        }
    }

    /// Addresses of a host, and its routes to the Pods of the others.
    fn batch_of(&self, host: &Host) -> String {
        let Host { v4, v6, .. } = host;
        let mut batch = format!(
            "link set lo up\nlink set eth0 up\naddr add {v4}/24 dev eth0\naddr add {v6}/64 dev eth0 nodad\n\
             route add default via 172.30.0.254\nroute add default via fd00:ac::fe\n"
        );
        let others = self.hosts.iter().filter(|other| other.number != host.number);
        others.for_each(|other| batch += &other.routes());
        batch
    }
}

// === impl Host ===

impl Host {
    fn new(name: &str, zone: &str, number: u8, namespace: Namespace) -> Host {
        Host {
            name: name.to_owned(),
            zone: zone.to_owned(),
            v4: Ipv4Addr::new(172, 30, 0, number + 1),
            v6: Ipv6Addr::new(0xfd00, 0xac, 0, 0, 0, 0, 0, u16::from(number) + 1),
            number,
            namespace,
            next: AtomicU16::new(2),
        }
    }

    /// The addresses of its Pods, IPv4 and IPv6, as in `spec.podCIDRs`.
    pub fn pod_cidrs(&self) -> [String; 2] {
        [format!("10.244.{}.0/24", self.number), format!("fd00:10:244:{:x}::/64", self.number)]
    }

    /// A Pod with a namespace of its own.
    pub fn pod(&self, name: &str) -> Pod {
        let (v4, v6) = self.next_addresses();
        Pod::in_own_namespace(self, self.identity(name), v4, v6)
    }

    /// A Pod whose addresses are in the node's namespace. It costs less than [`Host::pod`], and its
    /// traffic looks as if the node sent it, from the Pod's address.
    pub fn local_pod(&self, name: &str) -> Pod {
        let (v4, v6) = self.next_addresses();
        Pod::on_loopback(self, self.identity(name), v4, v6)
    }

    /// A Pod with the addresses of the node.
    pub fn host_network_pod(&self, name: &str) -> Pod {
        Pod::of_node(self, self.identity(name))
    }

    fn identity(&self, pod: &str) -> Identity {
        Identity { pod: pod.to_owned(), node: self.name.clone(), zone: self.zone.clone() }
    }

    fn next_addresses(&self) -> (Ipv4Addr, Ipv6Addr) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let last = u8::try_from(number).expect("a node has addresses for 250 Pods");
        pod::addresses(self.number, last)
    }

    fn routes(&self) -> String {
        let [cidr_v4, cidr_v6] = self.pod_cidrs();
        let Host { v4, v6, .. } = self;
        format!("route add {cidr_v4} via {v4}\nroute add {cidr_v6} via {v6}\n")
    }
}

impl Deref for Host {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        &self.namespace
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, path::Path, time::Duration};

    use super::{
        super::{Failure, Port, Protocol},
        *,
    };

    fn network() -> Network {
        Network::new(&[("node-a1", "zone-a"), ("node-b1", "zone-b")])
    }

    const PORTS: [Port; 2] = [Port::Http(8080), Port::Udp(53)];

    #[test]
    fn pods_of_every_kind_are_reached_from_everywhere_in_both_families() {
        let network = network();
        let (a1, b1) = (network.host("node-a1"), network.host("node-b1"));
        let client = a1.pod("client");
        let pods =
            [b1.pod("own"), b1.local_pod("local"), b1.host_network_pod("host"), a1.pod("near")];
        let servers: Vec<_> = pods.iter().map(|pod| pod.serve(&PORTS)).collect();
        for pod in &pods {
            for place in [&**a1, &**b1, &*client, network.outside()] {
                for answer in [
                    place.http(pod.at(8080)),
                    place.http(pod.at_v6(8080)),
                    place.udp(pod.at(53)),
                    place.udp(pod.at_v6(53)),
                ] {
                    let answer =
                        answer.unwrap_or_else(|error| panic!("{place:?} {pod:?}: {error}"));
                    assert_eq!((&*answer.pod, &*answer.node), (&*pod.name, &*pod.node));
                }
            }
        }
        assert_eq!(client.http(pods[0].at(8080)).unwrap().client.ip(), client.v4);
        assert_eq!(client.http(pods[0].at_v6(8080)).unwrap().client.ip(), client.v6);
        drop(servers);
        assert_eq!(a1.http(pods[0].at(8080)), Err(Failure::Refused));
        assert_eq!(a1.udp(pods[0].at(53)), Err(Failure::Refused));
    }

    #[test]
    fn a_local_pod_is_a_client_with_its_own_address() {
        let network = network();
        let (from, to) =
            (network.host("node-a1").local_pod("from"), network.host("node-b1").pod("to"));
        let _server = to.serve(&PORTS);
        let from_v4 = from.from(from.v4.into());
        assert_eq!(from_v4.http(to.at(8080)).unwrap().client.ip(), from.v4);
        assert_eq!(from_v4.udp(to.at(53)).unwrap().client.ip(), from.v4);
    }

    #[test]
    fn many_requests_are_counted_by_pod_and_zone() {
        let network = network();
        let pod = network.host("node-b1").pod("one");
        let server = pod.serve(&PORTS);
        let a1 = network.host("node-a1");
        let tally = a1.http_many(pod.at(8080), 50);
        assert_eq!((tally.by_pod()["one"], tally.by_zone()["zone-b"]), (50, 50));
        let load = a1.load(Protocol::Http, pod.at(8080), 500);
        let mut flow = a1.flow(Protocol::Http, pod.at(8080)).unwrap();
        let ports = [flow.ask().unwrap().client, flow.ask().unwrap().client];
        assert_eq!(ports[0], ports[1], "it is one connection");
        let tally = load.stop_after(100);
        assert!(tally.failures.is_empty() && tally.answers.len() >= 100, "{tally:?}");
        drop(server);
        assert_eq!(a1.http_many(pod.at(8080), 3).failures, vec![Failure::Refused; 3]);
    }

    /// Rules by hand, in the place where a proxy has its own.
    #[test]
    fn a_pod_reaches_itself_through_the_hooks_of_its_node() {
        let network = network();
        let a1 = network.host("node-a1");
        let pod = a1.pod("self");
        let _server = pod.serve(&PORTS);
        let (v4, v6) = (pod.v4, pod.v6);
        a1.nft(&format!(
            "table inet t {{
                chain pre {{
                    type nat hook prerouting priority dstnat;
                    ip daddr 10.96.0.1 tcp dport 80 dnat ip to {v4}:8080
                    ip6 daddr fd00:96::1 tcp dport 80 dnat ip6 to [{v6}]:8080
                    ip daddr 10.96.0.2 drop
                }}
                chain post {{
                    type nat hook postrouting priority srcnat;
                    ip saddr {v4} ip daddr {v4} masquerade
                    ip6 saddr {v6} ip6 daddr {v6} masquerade
                }}
            }}"
        ));
        for (to, node) in
            [("10.96.0.1:80", IpAddr::from(a1.v4)), ("[fd00:96::1]:80", IpAddr::from(a1.v6))]
        {
            assert_eq!(pod.http(to.parse().unwrap()).unwrap().client.ip(), node, "{to}");
        }
        let client = pod.client().timeout(Duration::from_millis(100));
        assert_eq!(client.http("10.96.0.2:80".parse().unwrap()), Err(Failure::TimedOut));
    }

    #[test]
    fn nothing_is_left_when_it_is_dropped() {
        let network = network();
        let pod = network.host("node-a1").pod("one");
        let paths = [network.host("node-a1").path(), pod.path(), network.outside().path()];
        assert!(paths.iter().all(|path| path.exists()));
        drop((pod, network));
        assert!(!paths.iter().any(|path| Path::exists(path)));
    }
}
