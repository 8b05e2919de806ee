//! The addresses at which a Service is reached, and who is masqueraded.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use evenkeel_testkit::netns::{Failure, Protocol, Tally};
use serde_json::{Value, json};

use crate::{
    cluster::{HTTP, PODS, until},
    http,
    space::{Space, Target, with},
};

fn all_from(tally: &Tally, ip: impl Into<IpAddr>) {
    let ip = ip.into();
    assert!(tally.answers.iter().all(|answer| answer.client.ip() == ip), "{ip}: {tally:?}");
}

fn at(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), 80)
}

#[test]
fn a_pod_reaches_a_cluster_ip_with_its_own_address() {
    let space = Space::new("own-address");
    space.pods(&PODS);
    let web = space.service("web", json!({}));
    let client = space.cluster.pod("client-a1");
    all_from(&space.reaches(client, web.http(), &PODS), client.v4);
}

#[test]
fn who_is_no_pod_is_masqueraded_at_a_cluster_ip() {
    let space = Space::new("off-cluster");
    space.pods(&PODS);
    let web = space.service("web", json!({}));
    let node = space.cluster.node_ip("node-a1");
    all_from(&space.reaches(space.outside(), web.http(), &PODS), node);
}

#[test]
fn a_node_port_masquerades_clients_from_outside_and_pods() {
    let space = Space::new("node-port");
    space.pods(&PODS);
    let web = space.service("web", json!({"type": "NodePort"}));
    for node in ["node-a1", "node-c1"] {
        let to = SocketAddr::new(space.cluster.node_ip(node), web.node_port(80));
        let tally = space.reaches(space.outside(), to, &PODS);
        all_from(&tally, space.cluster.node_ip(node));
    }
    let own = SocketAddr::new(space.cluster.node_ip("node-a1"), web.node_port(80));
    let tally = space.reaches(space.client("a1"), own, &PODS);
    all_from(&tally, space.cluster.node_ip("node-a1"));
    let udp = SocketAddr::new(space.cluster.node_ip("node-b1"), web.node_port(53));
    space.reaches_by(&space.outside().client(), Protocol::Udp, udp, &PODS);
}

#[test]
fn an_external_ip_is_served_to_everyone() {
    let space = Space::new("external-ip");
    space.pods(&PODS);
    space.service("web", json!({"externalIPs": ["203.0.113.20"]}));
    let to = at("203.0.113.20");
    all_from(&space.reaches(space.outside(), to, &PODS), space.cluster.node_ip("node-a1"));
    space.reaches(space.client("c1"), to, &PODS);
}

fn load_balancer(space: &Space, name: &str, ingress: Value, more: Value) -> Target {
    space.service(name, with(json!({"type": "LoadBalancer"}), more));
    space.patch_status(name, json!({"loadBalancer": {"ingress": [ingress]}}))
}

#[test]
fn a_load_balancer_ip_is_served_to_its_source_ranges_only() {
    let space = Space::new("source-ranges");
    space.pods(&PODS);
    let ranges = json!({"loadBalancerSourceRanges": ["172.30.0.254/32", "10.244.2.0/24"]});
    let web = load_balancer(&space, "web", json!({"ip": "203.0.113.30"}), ranges);
    load_balancer(&space, "open", json!({"ip": "203.0.113.31"}), json!({}));
    let to = at("203.0.113.30");
    space.reaches(space.outside(), to, &PODS);
    space.reaches(space.client("b1"), to, &PODS);
    let denied = space.outside().from("172.30.0.253".parse().unwrap());
    space.fails(&denied, Protocol::Http, to, &Failure::TimedOut);
    space.fails(&space.client("a1").client(), Protocol::Http, to, &Failure::TimedOut);
    space.reaches_by(&denied, Protocol::Http, at("203.0.113.31"), &PODS);
    // Ranges are for load-balancer IPs only.
    let node_port = SocketAddr::new(space.cluster.node_ip("node-a1"), web.node_port(80));
    space.reaches_by(&denied, Protocol::Http, node_port, &PODS);
    space.patch("web", json!({"spec": {"loadBalancerSourceRanges": ["172.30.0.253/32"]}}));
    space.fails(&space.outside().client(), Protocol::Http, to, &Failure::TimedOut);
    space.reaches_by(&denied, Protocol::Http, to, &PODS);
}

#[test]
fn a_load_balancer_ip_of_mode_proxy_is_left_to_the_load_balancer() {
    let space = Space::new("ip-mode");
    space.pods(&["a1"]);
    let (vip, proxy) = ("203.0.113.201", "203.0.113.202");
    space.outside().ip(&format!("addr add {proxy}/32 dev lo\naddr add {vip}/32 dev lo\n"));
    let listen = |ip| space.outside().run(move || TcpListener::bind(at(ip)).unwrap());
    let (balancer, unused) = (listen(proxy), listen(vip));
    let ingress = json!({"ip": proxy, "ipMode": "Proxy"});
    load_balancer(&space, "proxy", ingress, json!({}));
    load_balancer(&space, "vip", json!({"ip": vip, "ipMode": "VIP"}), json!({}));
    let client = space.client("c1");
    space.reaches(client, at(vip), &["a1"]);
    let stream = client.run(|| TcpStream::connect(at(proxy)).unwrap());
    let (_, from) = balancer.accept().unwrap();
    assert_eq!(from.ip(), stream.local_addr().unwrap().ip());
    drop(unused);
}

#[test]
fn a_pod_reaches_itself_through_its_service() {
    let space = Space::new("hairpin");
    space.pods(&["b1"]);
    let web = space.service("web", json!({"type": "NodePort"}));
    let (pod, node) = (space.cluster.pod("b1"), space.cluster.node_ip("node-b1"));
    all_from(&space.reaches(pod, web.http(), &["b1"]), node);
    all_from(&space.reaches_by(&pod.client(), Protocol::Udp, web.udp(), &["b1"]), node);
    let node_port = SocketAddr::new(node, web.node_port(80));
    all_from(&space.reaches(pod, node_port, &["b1"]), node);
    // Others keep their addresses.
    let other = space.cluster.pod("b2");
    all_from(&space.reaches(other, web.http(), &["b1"]), other.v4);
}

#[test]
fn an_unknown_port_of_a_cluster_ip_is_refused() {
    let space = Space::new("unknown-port");
    space.pods(&["a1"]);
    let web = space.service("web", json!({}));
    space.reaches(space.client("a1"), web.http(), &["a1"]);
    let (pod, node) = (space.client("a1"), space.cluster.network.host("node-a1"));
    for from in [pod.client(), node.client()] {
        for port in [81, 53] {
            space.fails(&from, Protocol::Http, web.at(port), &Failure::Refused);
        }
    }
    space.fails(&pod.client(), Protocol::Udp, web.at(80), &Failure::Refused);
    // The kernel tells a sender on the node itself at once, in its own words.
    let sent = node.udp(web.at(80));
    assert!(matches!(&sent, Err(Failure::Other(why)) if why.contains("not permitted")), "{sent:?}");
}

/// The port is the mark by which its rules would be found.
#[test]
fn headless_services_have_no_rules() {
    let space = Space::new("headless");
    space.pods(&["a1"]);
    let ports = |port: u16| json!([{"name": "http", "port": 80, "targetPort": port}]);
    space.service("headless", json!({"clusterIP": "None", "ports": ports(18_080)}));
    space.service("other", json!({"ports": ports(18_081)}));
    let rules = || {
        let mut nft = space.cluster.network.host("node-a1").command("nft");
        String::from_utf8(nft.args(["list", "ruleset"]).output().unwrap().stdout).unwrap()
    };
    until("rules of the other Service", || match rules().contains("18081") {
        true => Ok(()),
        false => Err("none".to_owned()),
    });
    until("a slice of the headless Service", || match space.slices("headless").is_empty() {
        true => Err("none".to_owned()),
        false => Ok(()),
    });
    assert!(!rules().contains("18080"));
}

#[test]
fn services_of_another_proxy_are_left_alone() {
    let space = Space::new("proxy-name");
    space.pods(&["a1"]);
    let label = |name: Value| json!({"service.kubernetes.io/service-proxy-name": name});
    let metadata = json!({"name": "web", "labels": label(json!("another"))});
    let web = space.service_of(metadata, json!({}));
    let client = space.client("b1");
    until("slices", || match space.slices("web").is_empty() {
        true => Err("none".to_owned()),
        false => Ok(()),
    });
    space.fails(&client.client(), Protocol::Http, web.http(), &Failure::TimedOut);
    space.patch("web", json!({"metadata": {"labels": label(Value::Null)}}));
    space.reaches(client, web.http(), &["a1"]);
    space.patch("web", json!({"metadata": {"labels": label(json!("another"))}}));
    space.fails(&client.client(), Protocol::Http, web.http(), &Failure::TimedOut);
}

#[test]
fn a_health_check_port_says_whether_the_node_has_endpoints() {
    let space = Space::new("health-check");
    space.pods(&["b1", "b2"]);
    let more = json!({"externalTrafficPolicy": "Local"});
    let web = load_balancer(&space, "web", json!({"ip": "203.0.113.40"}), more);
    let port = web.0.spec.as_ref().unwrap().health_check_node_port.unwrap();
    let check = |node: &str, status: u16, count: &str| {
        let address = SocketAddr::new(space.cluster.node_ip(node), u16::try_from(port).unwrap());
        let weight = format!("weight: {count}");
        until(&format!("{node} answers {status}"), || {
            let stream = space.outside().run(|| TcpStream::connect(address));
            let (is, text) = http::get(stream.map_err(|error| error.to_string())?, "/");
            let has_count = text.to_lowercase().contains(&weight);
            if is == status && has_count { Ok(()) } else { Err(text) }
        });
    };
    check("node-b1", 200, "2");
    check("node-a1", 503, "0");
    space.remove(&["b1"]);
    check("node-b1", 200, "1");
    space.remove(&["b2"]);
    check("node-b1", 503, "0");
    space.pods(&["a1"]);
    check("node-a1", 200, "1");
    assert_ne!(port, i32::from(HTTP));
}
