use std::num::NonZeroU16;

use evenkeel_k8s::{FieldError, convert, watched};
use evenkeel_model::{
    AddressType, Exposure, Frontends, IpMode, Protocol, Service, TargetPort, TrafficPolicy,
};
use serde_json::{Value, json};

use crate::object;

fn service(spec: Value) -> Result<Service, FieldError> {
    let meta = json!({"namespace": "shop", "name": "web", "uid": "u1"});
    convert::service(&object(json!({"metadata": meta, "spec": spec})))
}

#[test]
fn families_are_given_or_guessed_from_the_cluster_ip() {
    use AddressType::{IPv4, IPv6};
    let cases = [
        (json!({"clusterIP": "10.0.0.1"}), vec![IPv4]),
        (json!({"clusterIP": "fd00::1"}), vec![IPv6]),
        (json!({"clusterIP": "None"}), vec![IPv4, IPv6]),
        (json!({"clusterIP": ""}), vec![IPv4, IPv6]),
        (json!({}), vec![IPv4, IPv6]),
        (json!({"clusterIP": "10.0.0.1", "ipFamilies": []}), vec![IPv4]),
        (json!({"clusterIP": "10.0.0.1", "ipFamilies": ["IPv6", "IPv4"]}), vec![IPv6, IPv4]),
        (json!({"clusterIP": "None", "ipFamilies": ["IPv4"]}), vec![IPv4]),
        (json!({"type": "ExternalName", "externalName": "x.org"}), vec![]),
    ];
    for (spec, expected) in cases {
        let shown = spec.to_string();
        assert_eq!(service(spec).unwrap().families, expected, "{shown}");
    }
}

#[test]
fn headless_is_told_apart_from_headless_by_wish() {
    let cases = [
        (json!({}), (true, false)),
        (json!({"clusterIP": ""}), (true, false)),
        (json!({"clusterIP": "None"}), (true, true)),
        (json!({"clusterIP": "10.0.0.1"}), (false, false)),
    ];
    for (spec, expected) in cases {
        let service = service(spec).unwrap();
        assert_eq!((service.headless, service.cluster_ip_none), expected);
    }
}

#[test]
fn an_empty_selector_is_none() {
    assert_eq!(service(json!({})).unwrap().selector, None);
    assert_eq!(service(json!({"selector": {}})).unwrap().selector, None);
    let selector = service(json!({"selector": {"app": "web"}})).unwrap().selector;
    assert_eq!(selector.unwrap().get("app").map(|value| &**value), Some("web"));
}

#[test]
fn ports_have_the_defaults_of_the_api() {
    let name = |name: &str| TargetPort::Name(name.into());
    let cases = [
        (json!({"port": 80}), TargetPort::Number(80), Protocol::Tcp),
        (json!({"port": 80, "targetPort": 0}), TargetPort::Number(80), Protocol::Tcp),
        (json!({"port": 80, "targetPort": ""}), TargetPort::Number(80), Protocol::Tcp),
        (json!({"port": 80, "targetPort": 8080}), TargetPort::Number(8080), Protocol::Tcp),
        (json!({"port": 80, "targetPort": "http"}), name("http"), Protocol::Tcp),
        (json!({"port": 80, "protocol": ""}), TargetPort::Number(80), Protocol::Tcp),
        (json!({"port": 53, "protocol": "UDP"}), TargetPort::Number(53), Protocol::Udp),
        (json!({"port": 9, "protocol": "SCTP"}), TargetPort::Number(9), Protocol::Sctp),
    ];
    for (port, target, protocol) in cases {
        let ports = service(json!({"ports": [port]})).unwrap().ports;
        assert_eq!((&ports[0].target, ports[0].protocol), (&target, protocol));
        assert_eq!((&*ports[0].name, &ports[0].app_protocol), ("", &None));
    }
    let port = json!({"name": "web", "port": 80, "appProtocol": "kubernetes.io/h2c"});
    let ports = service(json!({"ports": [port]})).unwrap().ports;
    assert_eq!(&*ports[0].name, "web");
    assert_eq!(ports[0].app_protocol.as_deref(), Some("kubernetes.io/h2c"));
}

#[test]
fn bad_fields_are_told_with_their_place() {
    let cases = [
        (
            json!({"ports": [{"port": 80}, {"port": 65536}]}),
            "spec.ports[1].port: 65536 is not a port; expected a number from 1 to 65535",
        ),
        (
            json!({"ports": [{"name": "x"}]}),
            "spec.ports[0].port: 0 is not a port; expected a number from 1 to 65535",
        ),
        (
            json!({"ports": [{"port": 80, "targetPort": -1}]}),
            "spec.ports[0].targetPort: -1 is not a port; expected a number from 1 to 65535",
        ),
        (
            json!({"ports": [{"port": 80, "protocol": "HTTP"}]}),
            "spec.ports[0].protocol: \"HTTP\" is not a protocol; expected TCP, UDP or SCTP",
        ),
        (
            json!({"clusterIP": "banana"}),
            "spec.clusterIP: \"banana\" is not a cluster IP; expected an IP address or None",
        ),
        (
            json!({"ipFamilies": ["IPv4", "IPv5"]}),
            "spec.ipFamilies[1]: \"IPv5\" is not an IP family; expected IPv4 or IPv6",
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(service(spec).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_door_from_outside_exists_only_when_something_opens_it() {
    use TrafficPolicy::{Cluster, Local};
    let cases = [
        (json!({}), None),
        (json!({"type": "NodePort", "ports": [{"port": 80}]}), None),
        (json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 0}]}), None),
        (json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}), Some(Cluster)),
        (
            json!({"type": "NodePort", "externalTrafficPolicy": "Local",
                "ports": [{"port": 80}, {"port": 81, "nodePort": 30080}]}),
            Some(Local),
        ),
        (json!({"externalIPs": []}), None),
        (json!({"externalIPs": ["1.2.3.4"]}), Some(Cluster)),
        (json!({"externalIPs": ["1.2.3.4"], "externalTrafficPolicy": "Local"}), Some(Local)),
        (
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local",
                "externalIPs": ["1.2.3.4"]}),
            Some(Local),
        ),
        (
            json!({"type": "ExternalName", "externalTrafficPolicy": "Local",
                "externalIPs": ["1.2.3.4"]}),
            Some(Cluster),
        ),
        (json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}), None),
    ];
    for (spec, external) in cases {
        let shown = spec.to_string();
        assert_eq!(service(spec).unwrap().exposure.external, external, "{shown}");
    }
}

#[test]
fn a_load_balancer_opens_a_door_by_address_but_not_by_name() {
    let cases = [
        (json!([]), None),
        (json!([{"hostname": "lb.example.org"}]), None),
        (json!([{"ip": ""}]), None),
        (json!([{"hostname": "lb.example.org"}, {"ip": "1.2.3.4"}]), Some(TrafficPolicy::Local)),
    ];
    for (ingress, external) in cases {
        let service = convert::service(&object(json!({
            "metadata": {"name": "web"},
            "spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local"},
            "status": {"loadBalancer": {"ingress": ingress}},
        })));
        assert_eq!(service.unwrap().exposure.external, external);
    }
}

#[test]
fn the_internal_policy_is_cluster_unless_it_says_local() {
    let cases = [
        (json!({}), TrafficPolicy::Cluster),
        (json!({"internalTrafficPolicy": "Cluster"}), TrafficPolicy::Cluster),
        (json!({"internalTrafficPolicy": "Local"}), TrafficPolicy::Local),
    ];
    for (spec, internal) in cases {
        let expected = Exposure { internal, external: None };
        assert_eq!(service(spec).unwrap().exposure, expected);
    }
}

#[test]
fn metadata_and_switches_are_carried_over() {
    let service = convert::service(&object(json!({
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "u1",
            "labels": {"team": "a"},
            "annotations": {"service.kubernetes.io/topology-mode": "Auto"},
            "deletionTimestamp": "2025-01-01T00:00:00Z",
        },
        "spec": {"publishNotReadyAddresses": true, "trafficDistribution": "PreferClose"},
    })));
    let service = service.unwrap();
    assert_eq!(service.key.to_string(), "shop/web");
    assert_eq!(&*service.uid, "u1");
    assert_eq!(service.labels.get("team").map(|v| &**v), Some("a"));
    assert_eq!(service.annotations.len(), 1);
    assert_eq!(service.traffic_distribution.as_deref(), Some("PreferClose"));
    assert!(service.publish_not_ready && service.deleting);
}

/// Both shapes of an object, and what is wrong with it.
fn frontends(spec: Value, status: Value) -> (Service, Option<String>) {
    let meta = json!({"namespace": "shop", "name": "web", "uid": "u1"});
    let given = json!({"metadata": meta, "spec": spec, "status": status});
    let seen = object::<watched::Service>(given.clone()).seen();
    match convert::service(&object(given)) {
        Ok(whole) => assert_eq!(whole, seen.service),
        Err(error) => {
            assert_eq!(Some(error.to_string().as_str()), seen.frontend_problem.as_deref());
        }
    }
    assert_eq!(seen.problem, None, "slices don't depend on frontends");
    (seen.service, seen.frontend_problem.map(Into::into))
}

#[test]
fn all_frontends_are_read() {
    let (service, problem) = frontends(
        json!({
            "type": "LoadBalancer", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "fd00::1"],
            "externalIPs": ["192.0.2.1", "192.0.2.02"], "healthCheckNodePort": 30001,
            "loadBalancerSourceRanges": ["10.1.2.3/8", " fd00::/16 "],
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}},
            "ports": [{"port": 80, "nodePort": 30080}, {"port": 81, "name": "b"}],
        }),
        json!({"loadBalancer": {"ingress": [
            {"ip": "198.51.100.1"}, {"ip": "198.51.100.2", "ipMode": "Proxy"}, {"hostname": "lb"},
        ]}}),
    );
    assert_eq!(problem, None);
    let ip = |text: &str| text.parse::<std::net::IpAddr>().unwrap();
    let Service { frontends, ports, .. } = &service;
    assert_eq!(frontends.cluster_ips.as_slice(), [ip("10.0.0.1"), ip("fd00::1")]);
    assert_eq!(frontends.external_ips(), [ip("192.0.2.1"), ip("192.0.2.2")]);
    let modes: Vec<_> = frontends.load_balancer().iter().map(|lb| (lb.ip, lb.mode)).collect();
    let expected = [(ip("198.51.100.1"), IpMode::Vip), (ip("198.51.100.2"), IpMode::Proxy)];
    assert_eq!(modes, expected);
    let ranges = frontends.source_ranges().unwrap().iter().map(ToString::to_string);
    assert_eq!(ranges.collect::<Vec<_>>(), ["10.0.0.0/8", "fd00::/16"]);
    assert_eq!(frontends.affinity().map(|a| a.timeout_seconds), Some(60));
    assert_eq!(frontends.health_check_node_port().map(NonZeroU16::get), Some(30001));
    let node_ports: Vec<_> = ports.iter().map(|port| port.node_port.map(NonZeroU16::get)).collect();
    assert_eq!(node_ports, [Some(30080), None]);
}

#[test]
fn a_plain_service_has_a_cluster_ip_and_a_headless_one_nothing() {
    let (service, _) = frontends(json!({"clusterIP": "10.0.0.1"}), json!(null));
    assert_eq!(service.frontends.cluster_ips.as_slice().len(), 1);
    assert_eq!(service.frontends.rare(), None);
    for ip in ["None", ""] {
        let (service, _) = frontends(json!({"clusterIP": ip, "clusterIPs": [ip]}), json!({}));
        assert_eq!(service.frontends, Frontends::default());
    }
}

#[test]
fn affinity_lasts_three_hours_unless_it_says_otherwise() {
    let timeout = |spec: Value| frontends(spec, json!({})).0.frontends.affinity();
    assert_eq!(timeout(json!({"sessionAffinity": "ClientIP"})).unwrap().timeout_seconds, 10_800);
    assert_eq!(timeout(json!({"sessionAffinity": "None"})), None);
}

#[test]
fn a_wrong_frontend_is_told_and_spoils_no_other() {
    let good = json!({"clusterIP": "10.0.0.1", "ports": [{"port": 80}]});
    let cases = [
        (json!({"clusterIPs": ["10.0.0.1", "banana"]}), "spec.clusterIPs[1]: \"banana\""),
        (json!({"externalIPs": ["10.0.0.1/8"]}), "spec.externalIPs[0]: \"10.0.0.1/8\""),
        (json!({"loadBalancerSourceRanges": ["10.0.0.0/33"]}), "spec.loadBalancerSourceRanges[0]"),
        (json!({"loadBalancerSourceRanges": ["10.0.0.0/+8"]}), "spec.loadBalancerSourceRanges[0]"),
        (json!({"sessionAffinity": "Cookie"}), "spec.sessionAffinity: \"Cookie\""),
        (
            json!({"sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86_401}}}),
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: 86401",
        ),
        (json!({"healthCheckNodePort": 65_536}), "spec.healthCheckNodePort: 65536"),
        (json!({"ports": [{"port": 80, "nodePort": -1}]}), "spec.ports[0].nodePort: -1"),
    ];
    for (wrong, expected) in cases {
        let mut spec = good.clone();
        spec.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        let (service, problem) = frontends(spec, json!({}));
        let problem = problem.unwrap_or_default();
        assert!(problem.starts_with(expected), "{problem}");
        assert_eq!(service.frontends.cluster_ips.first(), Some(&[10, 0, 0, 1].into()));
        assert_eq!(service.ports.len(), 1, "{expected}");
    }
}

#[test]
fn source_ranges_that_cannot_be_read_let_nobody_in() {
    let (service, _) = frontends(json!({"loadBalancerSourceRanges": ["x"]}), json!({}));
    assert_eq!(service.frontends.source_ranges(), Some(&[][..]));
    let (service, _) = frontends(json!({"loadBalancerSourceRanges": []}), json!({}));
    assert_eq!(service.frontends.source_ranges(), None);
}

#[test]
fn labels_say_which_proxy_serves() {
    let labelled = |labels: Value| {
        let spec = json!({"clusterIP": "10.0.0.1"});
        let given = json!({"metadata": {"name": "web", "labels": labels}, "spec": spec});
        convert::service(&object(given)).unwrap()
    };
    let named = labelled(json!({"service.kubernetes.io/service-proxy-name": "mine"}));
    assert!(named.is_served_by(Some("mine")) && !named.is_served_by(None));
    let plain = labelled(json!({}));
    assert!(plain.is_served_by(None) && !plain.is_served_by(Some("mine")));
    assert!(!labelled(json!({"service.kubernetes.io/headless": ""})).is_served_by(None));
}
