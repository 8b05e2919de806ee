use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    kinds::{
        Admission, Part, metadata,
        read::{at, entry},
        service::SERVICE,
    },
    settings::Features,
};

fn range(first: &str, prefix: u8) -> IpRange {
    IpRange { first: first.parse().unwrap(), prefix }
}

fn single() -> Arc<Pools> {
    Arc::new(Pools::new(&[range("10.96.0.0", 12)], (30000, 32767)))
}

fn dual() -> Arc<Pools> {
    Arc::new(Pools::new(&[range("10.96.0.0", 12), range("fd00:10:96::", 112)], (30000, 32767)))
}

fn service(spec: &Value) -> Value {
    let mut service = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec});
    let ports = entry(&mut service, &["spec", "ports"]);
    if ports.is_null() {
        *ports = json!([{"port": 80}]);
    }
    service
}

/// A write as the server does it; error texts on the error side.
fn write(pools: &Arc<Pools>, old: Option<&Value>, mut new: Value) -> Result<Value, Vec<String>> {
    let at =
        Admission { now: "2026-01-01T00:00:00Z".parse().unwrap(), features: Features::default() };
    let strategy = &SERVICE.strategy;
    strategy.default(&mut new, &at);
    match old {
        None => metadata::prepare_create(&mut new, &at, "u", "abcde"),
        Some(old) => metadata::prepare_update(&mut new, old),
    }
    let reservation = pools
        .reserve(&mut new, old, false, &mut |below| below / 2)
        .map_err(|error| vec![error.to_string()])?;
    let errors = match old {
        None => {
            strategy.prepare_create(&mut new, &at);
            strategy.validate_create(&new, &at)
        }
        Some(old) => {
            strategy.prepare_update(Part::Main, &mut new, old, &at);
            strategy.validate_update(Part::Main, &new, old, &at)
        }
    };
    if !errors.is_empty() {
        let errors = metadata::distinct(errors);
        return Err(errors.iter().map(ToString::to_string).collect());
    }
    pools.committed(&old.map(Holdings::of).unwrap_or_default(), &Holdings::of(&new));
    drop(reservation);
    Ok(new)
}

fn patch(old: &Value, changes: &[(&str, Value)]) -> Value {
    let mut new = old.clone();
    for (name, value) in changes {
        *entry(&mut new, &["spec", name]) = value.clone();
    }
    new
}

/// The number of allocated values.
fn taken(pools: &Pools) -> (usize, usize) {
    let state = pools.state.lock();
    let addresses = state.addresses.iter().map(|pool| pool.numbers.n_taken()).sum();
    (addresses, state.ports.numbers.n_taken())
}

fn release(pools: &Pools, service: &Value) {
    pools.committed(&Holdings::of(service), &Holdings::default());
}

#[test]
fn what_is_deleted_is_free_again() {
    let pools = dual();
    let empty = taken(&pools);
    let stored = write(
        &pools,
        None,
        service(&json!({"type": "LoadBalancer", "ipFamilyPolicy": "PreferDualStack", "externalTrafficPolicy": "Local"})),
    )
    .unwrap();
    assert_eq!(taken(&pools), (empty.0 + 2, empty.1 + 2));
    assert!(at(&stored, &["spec", "healthCheckNodePort"]).is_i64());
    release(&pools, &stored);
    assert_eq!(taken(&pools), empty);
    pools.restore(&Holdings::of(&stored));
    pools.restore(&Holdings::of(&stored));
    assert_eq!(taken(&pools), (empty.0 + 2, empty.1 + 2));
}

#[test]
fn a_refused_write_takes_nothing() {
    let pools = single();
    let empty = taken(&pools);
    for (spec, text) in [
        (
            json!({"type": "NodePort", "ports": [{"port": 0}]}),
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        ),
        (
            json!({"type": "NodePort", "ports": [{"name": "a", "port": 1, "nodePort": 30001}, {"name": "b", "port": 2, "nodePort": 30001}]}),
            "spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated",
        ),
        (
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 80}),
            "Internal error occurred: failed to allocate requested HealthCheck NodePort 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
        (
            json!({"clusterIP": "10.96.0.0"}),
            "spec.clusterIPs: Invalid value: [\"10.96.0.0\"]: failed to allocate IP 10.96.0.0: the provided network does not match the current range",
        ),
        (
            json!({"clusterIP": "10.96.0.1"}),
            "spec.clusterIPs: Invalid value: [\"10.96.0.1\"]: failed to allocate IP 10.96.0.1: provided IP is already allocated",
        ),
        (
            json!({"clusterIP": "fd00::1"}),
            "spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this cluster",
        ),
        (
            json!({"clusterIP": "None", "type": "NodePort", "selector": {"a": "b"}}),
            "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
        ),
    ] {
        let wrong = write(&pools, None, service(&spec)).unwrap_err();
        assert_eq!(wrong[0], text, "{spec}");
        assert_eq!(taken(&pools), empty, "{spec}");
    }
}

#[test]
fn only_the_service_kubernetes_gets_the_first_address() {
    let pools = single();
    assert_eq!(pools.kubernetes_ip().unwrap().to_string(), "10.96.0.1");
    let mut api = service(&json!({"clusterIP": "10.96.0.1"}));
    *entry(&mut api, &["metadata"]) = json!({"name": "kubernetes", "namespace": "default"});
    let stored = write(&pools, None, api).unwrap();
    release(&pools, &stored);
    assert!(write(&pools, None, service(&json!({"clusterIP": "10.96.0.1"}))).is_err());
}

#[test]
fn the_type_may_change_and_what_it_lost_is_free() {
    let pools = single();
    let empty = taken(&pools);
    let first = write(&pools, None, service(&json!({"type": "LoadBalancer", "loadBalancerClass": "x.io/y", "externalTrafficPolicy": "Local"}))).unwrap();
    assert_eq!(taken(&pools), (empty.0 + 1, 2));
    let plain =
        write(&pools, Some(&first), patch(&first, &[("type", json!("ClusterIP"))])).unwrap();
    for name in [
        "loadBalancerClass",
        "allocateLoadBalancerNodePorts",
        "healthCheckNodePort",
        "externalTrafficPolicy",
    ] {
        assert!(plain["spec"][name].is_null(), "{name}");
    }
    assert!(plain["spec"]["ports"][0]["nodePort"].is_null());
    assert_eq!(plain["spec"]["clusterIP"], first["spec"]["clusterIP"]);
    assert_eq!(taken(&pools), (empty.0 + 1, 0));
    let named = [("type", json!("ExternalName")), ("externalName", json!("x.example.com"))];
    let external = write(&pools, Some(&plain), patch(&plain, &named)).unwrap();
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]
    {
        assert!(external["spec"][name].is_null(), "{name}");
    }
    assert_eq!(taken(&pools), empty);
    let back =
        write(&pools, Some(&external), patch(&external, &[("type", json!("NodePort"))])).unwrap();
    assert_eq!(back["spec"]["ipFamilyPolicy"], "SingleStack");
    assert_eq!(taken(&pools), (empty.0 + 1, 1));
}

#[test]
fn a_second_address_is_added_and_removed_with_the_policy() {
    let pools = dual();
    let empty = taken(&pools);
    let one = write(&pools, None, service(&json!({"selector": {"a": "b"}}))).unwrap();
    assert_eq!(one["spec"]["ipFamilies"], json!(["IPv4"]));
    let two =
        write(&pools, Some(&one), patch(&one, &[("ipFamilyPolicy", json!("PreferDualStack"))]))
            .unwrap();
    assert_eq!(two["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert_eq!(two["spec"]["clusterIPs"][0], one["spec"]["clusterIP"]);
    assert!(two["spec"]["clusterIPs"][1].as_str().unwrap().starts_with("fd00:10:96::"));
    assert_eq!(taken(&pools), (empty.0 + 2, 0));
    let wrong = write(
        &pools,
        Some(&two),
        patch(&two, &[("clusterIPs", json!([one["spec"]["clusterIP"]]))]),
    );
    assert_eq!(
        wrong.unwrap_err()[0],
        "spec.ipFamilyPolicy: Invalid value: \"PreferDualStack\": must be 'SingleStack' to release the secondary cluster IP"
    );
    let again = write(&pools, Some(&two), patch(&two, &[("ipFamilyPolicy", json!("SingleStack"))]))
        .unwrap();
    assert_eq!(again["spec"]["clusterIPs"], one["spec"]["clusterIPs"]);
    assert_eq!(again["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(taken(&pools), (empty.0 + 1, 0));
}

#[test]
fn the_first_address_stays() {
    let pools = single();
    let stored = write(&pools, None, service(&json!({"clusterIP": "10.96.7.7"}))).unwrap();
    let changed =
        write(&pools, Some(&stored), patch(&stored, &[("clusterIP", json!("10.96.7.8"))]));
    assert_eq!(
        changed.unwrap_err(),
        ["spec.clusterIPs[0]: Invalid value: [\"10.96.7.8\"]: may not change once set"]
    );
    let bare = write(&pools, Some(&stored), service(&json!({}))).unwrap();
    assert_eq!(bare["spec"]["clusterIPs"], json!(["10.96.7.7"]));
}

#[test]
fn node_ports_follow_the_names_of_ports() {
    let pools = single();
    let ports = json!([{"name": "a", "port": 1, "nodePort": 30111}, {"name": "b", "port": 2}]);
    let stored =
        write(&pools, None, service(&json!({"type": "NodePort", "ports": ports}))).unwrap();
    let of_b = stored["spec"]["ports"][1]["nodePort"].clone();
    let ports = json!([{"name": "b", "port": 3}, {"name": "c", "port": 4}]);
    let new = write(&pools, Some(&stored), service(&json!({"type": "NodePort", "ports": ports})))
        .unwrap();
    assert_eq!(new["spec"]["ports"][0]["nodePort"], of_b);
    assert_ne!(new["spec"]["ports"][1]["nodePort"], json!(30111));
    assert_eq!(taken(&pools).1, 2);
}

#[test]
fn two_protocols_on_one_port_share_a_node_port() {
    let pools = single();
    let ports = json!([{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]);
    let stored =
        write(&pools, None, service(&json!({"type": "NodePort", "ports": ports}))).unwrap();
    let ports = &stored["spec"]["ports"];
    assert_eq!(ports[0]["nodePort"], ports[1]["nodePort"]);
    assert_eq!(taken(&pools).1, 1);
}

#[test]
fn a_load_balancer_may_do_without_node_ports() {
    let pools = single();
    let spec = json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false});
    let stored = write(&pools, None, service(&spec)).unwrap();
    assert!(stored["spec"]["ports"][0]["nodePort"].is_null());
    assert_eq!(taken(&pools).1, 0);
}

#[test]
fn headless_services_without_selector_have_both_families() {
    let pools = single();
    for (spec, families, policy) in [
        (json!({"clusterIP": "None"}), json!(["IPv4", "IPv6"]), "RequireDualStack"),
        (json!({"clusterIP": "None", "selector": {"a": "b"}}), json!(["IPv4"]), "SingleStack"),
        (
            json!({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}),
            json!(["IPv4"]),
            "SingleStack",
        ),
    ] {
        let stored = write(&pools, None, service(&spec)).unwrap();
        assert_eq!(stored["spec"]["ipFamilies"], families);
        assert_eq!(stored["spec"]["ipFamilyPolicy"], policy);
        assert_eq!(stored["spec"]["clusterIPs"], json!(["None"]));
    }
}

#[test]
fn a_dry_run_shows_and_takes_nothing() {
    let pools = single();
    let empty = taken(&pools);
    let mut new = service(
        &json!({"type": "NodePort", "ports": [{"port": 1}, {"port": 2, "nodePort": 30001}]}),
    );
    let reservation = pools.reserve(&mut new, None, true, &mut |_| 0).unwrap();
    assert_eq!(taken(&pools), empty);
    drop(reservation);
    assert_eq!(taken(&pools), empty);
    assert_eq!(new["spec"]["clusterIPs"], json!(["10.96.0.0"]));
    assert_eq!(new["spec"]["ports"][0]["nodePort"], 32769);
    let mut outside = service(&json!({"clusterIP": "192.168.1.1"}));
    let refused = pools.reserve(&mut outside, None, true, &mut |_| 0).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "spec.clusterIPs: Invalid value: [\"192.168.1.1\"]: failed to allocate IP 192.168.1.1: the provided IP (192.168.1.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12"
    );
}

#[test]
fn a_full_range_is_an_internal_error() {
    let pools = Arc::new(Pools::new(&[range("10.0.0.0", 30)], (30000, 30000)));
    write(&pools, None, service(&json!({"type": "NodePort"}))).unwrap();
    assert_eq!(
        write(&pools, None, service(&json!({}))).unwrap_err(),
        [
            "Internal error occurred: failed to allocate a serviceIP for Service \"a\": range is full"
        ]
    );
    let pools = Arc::new(Pools::new(&[range("10.0.0.0", 24)], (30000, 30000)));
    write(&pools, None, service(&json!({"type": "NodePort"}))).unwrap();
    assert_eq!(
        write(&pools, None, service(&json!({"type": "NodePort"}))).unwrap_err(),
        ["Internal error occurred: failed to allocate a nodePort: range is full"]
    );
    assert_eq!(taken(&pools).0, 2);
}

/// A random spec: most are valid, some are rejected, and a few numbers are requested by several.
fn some_spec() -> impl Strategy<Value = Value> {
    let types =
        prop::sample::select(vec!["ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Bad"]);
    let policies =
        prop::sample::select(vec!["SingleStack", "PreferDualStack", "RequireDualStack", ""]);
    let ips = prop::sample::select(vec!["", "", "", "None", "10.96.0.9", "fd00:10:96::9", "x"]);
    let ports = prop::collection::vec((1..4i64, 0..4i64, any::<bool>()), 0..3);
    let rest = (any::<bool>(), any::<bool>(), any::<bool>());
    (types, policies, ips, ports, rest).prop_map(|(type_, policy, ip, ports, (local, select, allocate))| {
        let ports: Vec<Value> = ports
            .into_iter()
            .enumerate()
            .map(|(i, (port, node, udp))| {
                let node = if node == 0 { 0 } else { 30000 + node };
                let protocol = if udp { "UDP" } else { "TCP" };
                json!({"name": format!("p{i}"), "port": port, "nodePort": node, "protocol": protocol})
            })
            .collect();
        let mut spec = json!({"type": type_, "clusterIP": ip, "ports": ports, "externalName": "x.y"});
        if !policy.is_empty() {
            spec["ipFamilyPolicy"] = json!(policy);
        }
        if local && type_ == "LoadBalancer" {
            spec["externalTrafficPolicy"] = json!("Local");
        }
        if select {
            spec["selector"] = json!({"a": "b"});
        }
        if !allocate && type_ == "LoadBalancer" {
            spec["allocateLoadBalancerNodePorts"] = json!(false);
        }
        spec
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is written and deleted, the allocated values are those that the stored Services
    /// hold.
    #[test]
    fn the_pools_hold_what_services_have(
        steps in prop::collection::vec((0..4usize, prop::option::of(some_spec()), any::<bool>()), 1..20)
    ) {
        let pools = dual();
        let mut stored: BTreeMap<usize, Value> = BTreeMap::new();
        for (which, spec, keep_spec) in steps {
            let old = stored.get(&which).cloned();
            match (spec, old) {
                (None, None) => {}
                (None, Some(old)) => {
                    release(&pools, &old);
                    stored.remove(&which);
                }
                (Some(spec), old) => {
                    let mut new = service(&spec);
                    if let (true, Some(old)) = (keep_spec, &old) {
                        new = old.clone();
                        *entry(&mut new, &["spec", "type"]) = spec["type"].clone();
                    }
                    *entry(&mut new, &["metadata"]) = json!({"name": format!("s{which}"), "namespace": "n"});
                    if let Ok(new) = write(&pools, old.as_ref(), new) {
                        stored.insert(which, new);
                    }
                }
            }
            let held: Vec<Holdings> = stored.values().map(Holdings::of).collect();
            let ips: BTreeSet<_> = held.iter().flat_map(|held| &held.ips).collect();
            let ports: BTreeSet<_> = held.iter().flat_map(|held| &held.ports).collect();
            prop_assert_eq!(ips.len(), held.iter().map(|held| held.ips.len()).sum::<usize>());
            prop_assert_eq!(taken(&pools), (ips.len() + 1, ports.len()));
        }
    }
}
