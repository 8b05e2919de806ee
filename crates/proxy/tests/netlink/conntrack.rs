use std::{
    net::{SocketAddr, UdpSocket},
    time::Duration,
};

use evenkeel_proxy::netlink::conntrack::{Conntrack, Family, Filter, Flow, TCP, UDP, status};

use crate::namespace::Namespace;

const RULES: &str = "
table inet test {
  chain output {
    type nat hook output priority -100;
    ip daddr 10.96.0.10 udp dport 53 dnat ip to 127.0.0.1:5353
    ip daddr 10.96.0.11 udp dport 53 dnat ip to 127.0.0.1:5353
    ip6 daddr fd00::10 udp dport 53 dnat ip6 to [::1]:5353
    ip daddr 10.96.0.12 udp dport 53 ct zone 0 accept
  }
}
table inet zones {
  chain output {
    type filter hook output priority raw;
    ip daddr 10.96.0.11 ct zone set 7
  }
}
";

/// A namespace in which UDP to a few Service addresses is answered by loopback.
fn namespace() -> Namespace {
    let namespace = Namespace::new();
    namespace.exec("ip addr add 192.0.2.1/24 dev lo");
    namespace.exec("ip route add 10.96.0.0/16 dev lo");
    namespace.exec("ip -6 addr add fd00::1/64 dev lo nodad");
    namespace.exec_with_input("nft -f -", RULES);
    namespace
}

fn udp(family: Family) -> Filter {
    Filter { family, protocol: UDP, destination: None }
}

fn flows(conntrack: &mut Conntrack, filter: &Filter) -> Vec<Flow> {
    let mut flows = Vec::new();
    conntrack.each(filter, |flow| flows.push(*flow)).unwrap();
    flows
}

/// Sends from a fixed port, so that a later flow can have the same addresses.
fn send(from: &str, to: &str) -> SocketAddr {
    let socket = UdpSocket::bind(from).unwrap();
    socket.send_to(b"x", to).unwrap();
    socket.local_addr().unwrap()
}

#[test]
fn flows_are_listed_with_both_tuples_and_removed_one_by_one() {
    let namespace = namespace();
    let (before, removed, after) = namespace.enter(|| {
        let server = UdpSocket::bind("127.0.0.1:5353").unwrap();
        server.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let client = send("192.0.2.1:4000", "10.96.0.10:53");
        let other = send("192.0.2.1:4001", "10.96.0.10:53");
        let (_, seen) = server.recv_from(&mut [0; 8]).unwrap();
        assert_eq!(seen, client);

        let mut conntrack = Conntrack::open().unwrap();
        let before = flows(&mut conntrack, &udp(Family::Ipv4));
        let flow = before.iter().find(|flow| flow.orig.src == client).unwrap();
        assert_eq!(flow.orig.dst, "10.96.0.10:53".parse().unwrap());
        assert_eq!(flow.reply.src, "127.0.0.1:5353".parse().unwrap());
        assert_eq!(flow.reply.dst, client);
        assert_ne!(flow.status & status::DESTINATION_NAT, 0);
        assert_eq!((flow.zone, flow.protocol, flow.family), (0, UDP, Family::Ipv4));

        let removed = conntrack.remove(&udp(Family::Ipv4), |flow| flow.orig.src == other).unwrap();
        (before.len(), removed, flows(&mut conntrack, &udp(Family::Ipv4)))
    });
    assert_eq!((before, removed.seen, removed.removed), (2, 2, 1));
    assert_eq!(after.len(), 1);
    let listed = namespace.exec("conntrack -L -p udp");
    assert!(listed.contains("sport=4000") && !listed.contains("sport=4001"), "{listed}");
}

#[test]
fn a_newer_flow_with_the_same_addresses_is_not_removed() {
    let namespace = namespace();
    namespace.enter(|| {
        let mut conntrack = Conntrack::open().unwrap();
        let mut flow = || {
            send("192.0.2.1:4000", "10.96.0.10:53");
            flows(&mut conntrack, &udp(Family::Ipv4))[0]
        };
        let old = flow();
        // Another id: the kernel makes it of the addresses and of where the entry is in memory,
        // which a new entry may share with a removed one.
        let never = Flow { id: old.id ^ 1, ..old };
        let mut conntrack = Conntrack::open().unwrap();
        assert!(!conntrack.delete(&never).unwrap());
        assert!(conntrack.delete(&old).unwrap());
        assert!(!conntrack.delete(&old).unwrap());
    });
}

#[test]
fn the_kernel_filters_by_family_protocol_and_destination() {
    let namespace = namespace();
    namespace.enter(|| {
        let mut conntrack = Conntrack::open().unwrap();
        send("192.0.2.1:4000", "10.96.0.10:53");
        send("192.0.2.1:4001", "10.96.0.11:53");
        send("[fd00::1]:4002", "[fd00::10]:53");
        assert_eq!(flows(&mut conntrack, &udp(Family::Ipv4)).len(), 2);
        let v6 = flows(&mut conntrack, &udp(Family::Ipv6));
        assert_eq!(v6.len(), 1);
        assert_eq!(v6[0].reply.src, "[::1]:5353".parse().unwrap());
        assert!(flows(&mut conntrack, &Filter { protocol: TCP, ..udp(Family::Ipv4) }).is_empty());

        let destination = Some("10.96.0.10:53".parse().unwrap());
        let one = Filter { destination, ..udp(Family::Ipv4) };
        let mut seen = 0;
        let removed = conntrack.remove(&one, |_| {
            seen += 1;
            true
        });
        assert_eq!((removed.unwrap().removed, seen), (1, 1));
        assert!(conntrack.delete(&v6[0]).unwrap());
    });
    let listed = namespace.exec("conntrack -L -p udp");
    assert!(!listed.contains("dst=10.96.0.10") && listed.contains("dst=10.96.0.11"), "{listed}");
    assert_eq!(namespace.exec("conntrack -L -f ipv6 -p udp"), "");
}

#[test]
fn a_flow_is_removed_from_its_zone() {
    let namespace = namespace();
    namespace.enter(|| {
        let mut conntrack = Conntrack::open().unwrap();
        send("192.0.2.1:4001", "10.96.0.11:53");
        let flow = flows(&mut conntrack, &udp(Family::Ipv4))[0];
        assert_eq!(flow.zone, 7);
        assert!(!conntrack.delete(&Flow { zone: 0, ..flow }).unwrap());
        assert!(conntrack.delete(&flow).unwrap());
    });
    assert_eq!(namespace.exec("conntrack -L -p udp"), "");
}

#[test]
fn thousands_of_flows_stream_through() {
    let namespace = namespace();
    namespace.enter(|| {
        let mut conntrack = Conntrack::open().unwrap();
        let socket = UdpSocket::bind("192.0.2.1:4000").unwrap();
        for port in 10_000..13_000 {
            socket.send_to(b"x", ("127.0.0.1", port)).unwrap();
        }
        let removed =
            conntrack.remove(&udp(Family::Ipv4), |flow| flow.orig.dst.port() < 12_000).unwrap();
        assert_eq!((removed.seen, removed.removed), (3_000, 2_000));
    });
    assert_eq!(namespace.exec("conntrack -L -p udp").lines().count(), 1_000);
}
