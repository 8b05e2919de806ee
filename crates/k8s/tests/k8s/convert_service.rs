use evenkeel_k8s::{FieldError, convert};
use evenkeel_model::{AddressType, Exposure, Protocol, Service, TargetPort, TrafficPolicy};
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
