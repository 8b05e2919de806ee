use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::pools::Holdings;

fn pools() -> Arc<Pools> {
    let range = IpRange { first: "10.0.0.0".parse().unwrap(), prefix: 24 };
    Arc::new(Pools::new(&[range], (30000, 30100)))
}

fn service(name: &str, ips: &[&str], ports: &[i64]) -> Service {
    let ips = ips.iter().map(|ip| (*ip).to_owned()).collect();
    let claims = Claims { uid: format!("uid of {name}"), ips, ports: ports.to_vec() };
    Service { key: format!("default/{name}").into(), revision: 1, claims }
}

fn pass(pools: &Pools, services: &[Service], leaks: &mut Leaks) -> Vec<(usize, &'static str)> {
    let examined = examine(services, &pools.held(), leaks);
    for correction in &examined.corrections {
        assert!(pools.correct(correction), "{correction:?}");
    }
    *leaks = examined.leaks;
    examined.findings.iter().map(|finding| (finding.service, finding.reason())).collect()
}

#[test]
fn duplicates_are_reported_and_stay_held_until_the_last_is_gone() {
    let pools = pools();
    let services = [
        service("a", &["10.0.0.9"], &[30001]),
        service("b", &["10.0.0.9"], &[30001]),
        service("c", &["10.0.0.10"], &[]),
    ];
    for service in &services {
        pools.restore(&service.claims.holdings());
    }
    let (mut leaks, before) = (Leaks::new(), pools.held().holders);
    for _ in 0..5 {
        let found = pass(&pools, &services, &mut leaks);
        assert_eq!(found, [(1, "ClusterIPAlreadyAllocated"), (1, "PortAlreadyAllocated")]);
        assert_eq!(pools.held().holders, before);
    }
    let notes: Vec<String> =
        examine(&services, &pools.held(), &leaks).findings.into_iter().map(|f| f.note).collect();
    assert_eq!(
        notes,
        [
            "Cluster IP [IPv4]:10.0.0.9 was assigned to multiple services; please recreate service",
            "Port 30001 was assigned to multiple services; please recreate service",
        ]
    );
    let ip = Number::Ip("10.0.0.9".parse().unwrap());
    pools.committed(&services[0].claims.holdings(), &Holdings::default());
    assert_eq!(pools.held().holders[&ip], 1);
    assert_eq!(pass(&pools, &services[1..], &mut leaks), []);
    pools.committed(&services[1].claims.holdings(), &Holdings::default());
    assert!(!pools.held().holders.contains_key(&ip));
}

#[test]
fn a_leak_is_freed_in_the_third_pass_in_a_row() {
    let pools = pools();
    let leaked = service("gone", &["10.0.0.9"], &[30001]);
    pools.restore(&leaked.claims.holdings());
    let mut leaks = Leaks::new();
    for n_left in [3, 3] {
        assert_eq!(pass(&pools, &[], &mut leaks), []);
        assert_eq!(pools.held().holders.len(), n_left, "with the reserved one");
    }
    // A Service that has it after all ends the sequence.
    assert_eq!(pass(&pools, std::slice::from_ref(&leaked), &mut leaks), []);
    assert!(leaks.is_empty());
    for n_left in [3, 3, 1, 1] {
        assert_eq!(pass(&pools, &[], &mut leaks), []);
        assert_eq!(pools.held().holders.len(), n_left);
    }
}

#[test]
fn what_a_write_under_way_has_taken_is_no_leak() {
    let pools = pools();
    let mut new = serde_json::json!({
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}]},
    });
    let reservation = pools.reserve(&mut new, None, false, &mut |_| 0).unwrap();
    let (mut leaks, held) = (Leaks::new(), Holdings::of(&new));
    for _ in 0..5 {
        assert_eq!(pass(&pools, &[], &mut leaks), []);
        assert!(leaks.is_empty());
    }
    pools.committed(&Holdings::default(), &held);
    drop(reservation);
    assert_eq!(pools.held().holders.len(), 3);
    pools.committed(&held, &Holdings::default());
    assert_eq!(pools.held().holders.len(), 1);
}

#[test]
fn what_can_not_be_held_is_reported_in_the_words_of_kubernetes() {
    let pools = pools();
    let services =
        [service("a", &["x", "fd00::1", "10.0.1.1"], &[80]), service("b", &["10.0.0.7"], &[])];
    let findings = examine(&services, &pools.held(), &Leaks::new()).findings;
    let found: Vec<_> = findings
        .iter()
        .map(|f| (f.reason(), f.action(), f.problem.label(), f.note.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (
                "ClusterIPNotValid",
                "ClusterIPValidation",
                "invalid",
                "Cluster IP x is not a valid IP; please recreate service"
            ),
            (
                "ClusterIPNotValid",
                "ClusterIPValidation",
                "invalid",
                "Cluster IP fd00::1(IPv6) is of ip family that is no longer configured on cluster; please recreate service"
            ),
            (
                "ClusterIPOutOfRange",
                "ClusterIPAllocation",
                "outOfRange",
                "Cluster IP [IPv4]:10.0.1.1 is not within the service CIDR 10.0.0.0/24; please recreate service"
            ),
            (
                "PortOutOfRange",
                "PortAllocation",
                "outOfRange",
                "Port 80 is not within the port range 30000-30100; please recreate service"
            ),
            (
                "ClusterIPNotAllocated",
                "ClusterIPAllocation",
                "repair",
                "Cluster IP [IPv4]:10.0.0.7 is not allocated; repairing"
            ),
        ]
    );
    assert_eq!(pass(&pools, &services, &mut Leaks::new()).len(), 5);
    assert_eq!(pass(&pools, &services, &mut Leaks::new()).len(), 4, "repaired");
}

proptest! {
    /// Whatever the pools held, after three passes over the same Services they hold what those
    /// have.
    #[test]
    fn three_passes_set_everything_right(
        held in prop::collection::vec((1..9u8, 0..9i64), 0..9),
        stored in prop::collection::vec((1..9u8, 0..9i64), 0..9),
    ) {
        let made = |(n, (ip, port)): (usize, &(u8, i64))| {
            service(&n.to_string(), &[&format!("10.0.0.{ip}")], &[30000 + port])
        };
        let (wrong, right) = (pools(), pools());
        for service in held.iter().enumerate().map(made) {
            wrong.restore(&service.claims.holdings());
        }
        let services: Vec<Service> = stored.iter().enumerate().map(made).collect();
        for service in &services {
            right.restore(&service.claims.holdings());
        }
        let mut leaks = Leaks::new();
        for _ in 0..PASSES {
            pass(&wrong, &services, &mut leaks);
        }
        prop_assert_eq!(wrong.held().holders, right.held().holders);
        prop_assert!(leaks.is_empty());
    }
}
