//! Listeners, routes and splits.

use evenkeel_locality::view::{Settings, View};
use evenkeel_model::mesh::{Direction, EndpointHealth, HashKey, RouteAction, Traffic};
use serde_json::{Value, json};

use crate::setup::*;

fn route(kind: &str, name: &str, rules: &Value) -> Value {
    let to = json!([{"targetRef": {"kind": "MeshService", "name": "backend"}, "rules": rules}]);
    policy(kind, name, &json!({"kind": "Mesh"}), &to)
}

fn version(version: &str, weight: u32) -> Value {
    json!({"kind": "MeshServiceSubset", "name": "backend", "weight": weight,
        "tags": {"version": version}})
}

fn backends() -> Vec<Value> {
    vec![
        client("web-1", "zone-1", &["backend"]),
        instance("backend-1", "10.0.0.1", "backend", &["version=v1", "kuma.io/zone=zone-1"]),
        instance("backend-2", "10.0.0.2", "backend", &["version=v2", "kuma.io/zone=zone-1"]),
        instance("other-1", "10.0.0.3", "other", &["kuma.io/zone=zone-1"]),
    ]
}

fn told_with(policies: &[Value]) -> Vec<String> {
    let mut values = backends();
    values.extend(policies.iter().cloned());
    let plan = plan(&mut view_of(&values), "web-1");
    told(&plan)
}

#[test]
fn without_a_route_everything_goes_to_the_service() {
    assert_eq!(told_with(&[]), ["10000 Any backend*1"]);
}

#[test]
fn routes_are_ordered_by_what_they_match() {
    let to_other = json!({"backendRefs": [{"kind": "MeshService", "name": "other"}]});
    let rule = |kind: &str, path: &str| json!({"matches": [{"path": {"type": kind, "value": path}}], "default": to_other});
    let rules = json!([
        rule("PathPrefix", "/a"),
        rule("PathPrefix", "/a/b/"),
        rule("RegularExpression", "/x.*"),
        rule("Exact", "/a/b/c"),
    ]);
    assert_eq!(
        told_with(&[route("MeshHTTPRoute", "r", &rules)]),
        [
            "10000 Exact(\"/a/b/c\") other*1",
            "10000 Regex(\"/x.*\") other*1",
            "10000 Prefix(\"/a/b\") other*1",
            "10000 Prefix(\"/a\") other*1",
            "10000 Any backend*1",
        ]
    );
}

#[test]
fn rules_with_equal_matches_are_one() {
    let rule = |path: &str, backend: &str| {
        json!({"matches": [{"path": {"type": "Exact", "value": path}}],
            "default": {"backendRefs": [{"kind": "MeshService", "name": backend}]}})
    };
    let a = route("MeshHTTPRoute", "a", &json!([rule("/x", "other")]));
    let b = route("MeshHTTPRoute", "b", &json!([rule("/x", "backend"), rule("/y", "other")]));
    assert_eq!(
        told_with(&[b, a]),
        ["10000 Exact(\"/x\") other*1", "10000 Exact(\"/y\") other*1", "10000 Any backend*1",]
    );
}

#[test]
fn equal_backends_are_one_cluster_and_those_without_weight_none() {
    let rules = |backends: Value| json!([{"default": {"backendRefs": backends}}]);
    let both = rules(json!([version("v1", 1), version("v2", 0), version("v1", 2)]));
    let line = &told_with(&[route("MeshHTTPRoute", "r", &both)])[0];
    assert!(line.ends_with("*3"), "{line}");
    assert_eq!(line.matches('*').count(), 1, "{line}");
    let named_twice = rules(json!([
        {"kind": "MeshService", "name": "other"}, {"kind": "MeshMultiZoneService", "name": "other"},
    ]));
    assert_eq!(told_with(&[route("MeshHTTPRoute", "r", &named_twice)]), ["10000 Any other*2"]);
    let none = rules(json!([version("v1", 0)]));
    assert_eq!(told_with(&[route("MeshHTTPRoute", "r", &none)]), ["10000 Any 503"]);
    assert_eq!(told_with(&[route("MeshTCPRoute", "r", &none)]), ["10000 tcp closed"]);
}

#[test]
fn weights_fit_together() {
    let most = u32::MAX;
    let rules = json!([{"default": {"backendRefs": [version("v1", most), version("v2", most)]}}]);
    let mut values = backends();
    values.push(route("MeshHTTPRoute", "r", &rules));
    let plan = plan(&mut view_of(&values), "web-1");
    let route = &plan.outbound.config.routes[0].routes[0];
    let RouteAction::Forward { split, .. } = &route.action else { panic!("it forwards") };
    let sum: u64 = split.clusters.iter().map(|(_, weight)| u64::from(*weight)).sum();
    assert!(sum <= u64::from(u32::MAX));
    assert_eq!(split.clusters[0].1, split.clusters[1].1);
}

#[test]
fn routes_for_http_beat_those_for_tcp() {
    let http = json!([{"default": {"backendRefs": [{"kind": "MeshService", "name": "other"}]}}]);
    let tcp = json!([{"default": {"backendRefs": [version("v1", 1)]}}]);
    let (http, tcp) = (route("MeshHTTPRoute", "h", &http), route("MeshTCPRoute", "t", &tcp));
    assert_eq!(told_with(&[http.clone(), tcp.clone()]), ["10000 Any other*1"]);
    let line = &told_with(&[tcp])[0];
    assert!(line.starts_with("10000 tcp backend-"), "{line}");
    // Nothing is known of the protocol of a service without instances.
    let mut view = view_of(&[client("web-1", "zone-1", &["backend"]), http]);
    assert_eq!(told(&plan(&mut view, "web-1")), ["10000 Any other*1"]);
}

#[test]
fn the_protocol_is_what_all_instances_understand() {
    let table = [
        (&["http", "http"][..], "10000 Any backend*1"),
        (&["grpc", "http2"], "10000 Any backend*1"),
        (&["http", "http2"], "10000 tcp backend*1"),
        (&["tcp"], "10000 tcp backend*1"),
        (&[], "10000 tcp backend*1"),
    ];
    for (protocols, expected) in table {
        let mut values = vec![client("web-1", "zone-1", &["backend"])];
        for (i, protocol) in protocols.iter().enumerate() {
            let protocol = format!("kuma.io/protocol={protocol}");
            let address = format!("10.0.0.{i}");
            values.push(instance(&format!("b-{i}"), &address, "backend", &[&protocol]));
        }
        let plan = plan(&mut view_of(&values), "web-1");
        assert_eq!(told(&plan), [expected], "{protocols:?}");
    }
}

#[test]
fn hash_policies_land_on_routes_and_on_connections() {
    let mesh = json!({"kind": "Mesh"});
    let hashes = |target: Value, hashes: Value| json!({"targetRef": target, "default": {"hashPolicies": hashes}});
    let header = |name: &str| json!([{"type": "Header", "header": {"name": name}}]);
    let source = json!([{"type": "Connection", "connection": {"sourceIP": true}}]);
    let rules = json!([{
        "matches": [{"path": {"type": "Exact", "value": "/x"}}],
        "default": {"backendRefs": [{"kind": "MeshService", "name": "other"}]},
    }]);
    let to = json!([
        hashes(json!({"kind": "MeshService", "name": "backend"}), header("x-service")),
        hashes(json!({"kind": "MeshHTTPRoute", "name": "r"}), header("x-route")),
        hashes(json!({"kind": "MeshService", "name": "database"}), source),
    ]);
    let mut values = backends();
    values[0] = client("web-1", "zone-1", &["backend", "database"]);
    values.push(instance("db-1", "10.0.0.9", "database", &["kuma.io/protocol=tcp"]));
    values.push(route("MeshHTTPRoute", "r", &rules));
    values.push(policy("MeshLoadBalancingStrategy", "s", &mesh, &to));
    let plan = plan(&mut view_of(&values), "web-1");
    let config = &plan.outbound.config;
    let keys = config.routes[0].routes.iter().map(|route| match &route.action {
        RouteAction::Forward { hash_policies, .. } => hash_policies[0].key.clone(),
        RouteAction::Unavailable { .. } => panic!("it forwards"),
    });
    let header = |name: &str| HashKey::Header(name.into());
    assert_eq!(keys.collect::<Vec<_>>(), [header("x-route"), header("x-service")]);
    let Traffic::Tcp(split) = &config.listeners[1].traffic else { panic!("it is TCP") };
    assert!(split.hash_source_ip);
}

#[test]
fn an_inbound_forwards_to_its_workload() {
    let mut values = backends();
    values[0]["networking"]["inbound"][0]["tags"]["kuma.io/protocol"] = json!("tcp");
    let plan = plan(&mut view_of(&values), "web-1");
    let config = plan.config();
    let inbound = &config.listeners[0];
    assert_eq!(inbound.direction, Direction::Inbound);
    assert_eq!(inbound.address, "10.9.9.9:80".parse().unwrap());
    let Traffic::Tcp(split) = &inbound.traffic else { panic!("it is TCP") };
    let cluster = config.clusters.iter().find(|cluster| cluster.name == split.clusters[0].0);
    let expected = "127.0.0.1:8080".parse().unwrap();
    let fixed = evenkeel_model::mesh::ClusterEndpoints::Fixed(expected);
    assert_eq!(cluster.unwrap().endpoints, fixed);
}

#[test]
fn a_second_listener_on_an_address_is_left_out_with_a_reason() {
    let mut web = client("web-1", "zone-1", &["backend", "other"]);
    web["networking"]["outbound"][1]["port"] = json!(10_000);
    let mut values = backends();
    values[0] = web.clone();
    let first = plan(&mut view_of(&values), "web-1");
    assert_eq!(told(&first), ["10000 Any backend*1"]);
    assert_eq!(codes(&first), ["AddressTaken"]);

    web["networking"]["outbound"][1] =
        json!({"port": 80, "address": "10.9.9.9", "tags": {"kuma.io/service": "other"}});
    values[0] = web;
    let second = plan(&mut view_of(&values), "web-1");
    assert_eq!(codes(&second), ["AddressTaken"]);
    let config = second.config();
    let at = |port| config.listeners.iter().filter(move |l| l.address.port() == port).count();
    assert_eq!((at(80), at(10_000)), (1, 1));
}

#[test]
fn reachable_services_limit_what_is_sent() {
    let mut values = backends();
    values[0] = client("web-1", "zone-1", &["backend", "other"]);
    values[0]["networking"]["transparentProxying"] = json!({"reachableServices": ["other"]});
    let plan = plan(&mut view_of(&values), "web-1");
    assert_eq!(told(&plan), ["10001 Any other*1"]);
}

#[test]
fn a_gateway_is_a_client_in_its_zone() {
    let gateway = json!({
        "type": "Dataplane", "mesh": MESH, "name": "edge",
        "networking": {
            "address": "10.9.9.9",
            "gateway": {"tags": {"kuma.io/service": "edge", "kuma.io/zone": "zone-2"}},
            "outbound": [{"port": 10000, "tags": {"kuma.io/service": "backend"}}],
        },
    });
    let values = [
        gateway,
        instance("backend-1", "10.0.0.1", "backend", &["kuma.io/zone=zone-1"]),
        instance("backend-2", "10.0.0.2", "backend", &["kuma.io/zone=zone-2"]),
    ];
    let mut view = view_of(&values);
    let plan = plan(&mut view, "edge");
    assert_eq!(endpoints(&view, &plan), ["backend: 0=10.0.0.2 1=10.0.0.1"]);
    assert!(plan.inbound.config.listeners.is_empty());
}

#[test]
fn the_zone_of_the_control_plane_is_that_of_whoever_names_none() {
    let mut view = View::new(Settings { zone: Some("zone-7".into()), ..Settings::default() });
    view.apply(resource(&instance("backend-1", "10.0.0.1", "backend", &[])));
    view.apply(resource(&calling(instance("web-1", "10.9.9.9", "web", &[]), &["backend"])));
    let plan = plan(&mut view, "web-1");
    let assigned = view.assignment(&plan.assignments()[0].1);
    let endpoint = &assigned.assignment.groups[0].endpoints[0];
    assert_eq!(endpoint.tag("kuma.io/zone"), Some("zone-7"));
    assert_eq!(endpoint.health, EndpointHealth::Healthy);
    assert_eq!(assigned.assignment.groups[0].priority, 0);
}

#[test]
fn objects_describe_services() {
    let by_port = |kind: &str, name: &str, port: u16| json!({"port": port, "backendRef": {"kind": kind, "name": name, "port": port}});
    let mut web = client("web-1", "zone-1", &[]);
    web["networking"]["outbound"] = json!([
        by_port("MeshService", "shop", 8000), by_port("MeshService", "shop", 8001),
        by_port("MeshMultiZoneService", "shops", 8002), by_port("MeshExternalService", "mail", 25),
        {"port": 9, "backendRef": {"kind": "MeshMultiZoneService", "name": "backend"}},
    ]);
    let shop = json!({
        "type": "MeshService", "mesh": MESH, "name": "shop", "labels": {"sells": "fish"},
        "spec": {
            "selector": {"dataplaneTags": {"app": "shop"}},
            "ports": [
                {"port": 8000, "targetPort": 80, "appProtocol": "http"},
                {"port": 8001, "targetPort": "admin", "appProtocol": "tcp"},
                {"port": 8002, "targetPort": 80},
            ],
        },
    });
    let shops = json!({
        "type": "MeshMultiZoneService", "mesh": MESH, "name": "shops",
        "spec": {
            "selector": {"meshService": {"matchLabels": {"sells": "fish"}}},
            "ports": [{"port": 8002, "appProtocol": "http"}],
        },
    });
    let mail = json!({
        "type": "MeshExternalService", "mesh": MESH, "name": "mail",
        "spec": {"match": {"type": "HostnameGenerator", "port": 25, "protocol": "tcp"},
            "endpoints": [{"address": "192.0.2.1", "port": 2525}]},
    });
    let mut instance_1 = instance("i-1", "10.0.0.1", "tagged", &["app=shop"]);
    let mut admin = instance_1["networking"]["inbound"][0].clone();
    admin["port"] = json!(81);
    admin["name"] = json!("admin");
    admin["address"] = json!("10.0.0.2");
    instance_1["networking"]["inbound"].as_array_mut().unwrap().push(admin);
    let backend = instance("b", "10.0.0.5", "backend", &[]);
    let values = [web, shop, shops, mail, instance_1, backend];
    let mut view = view_of(&values);
    let plan = plan(&mut view, "web-1");
    let by_listener = |port: u16| {
        let lines = told(&plan);
        let line = lines.iter().find_map(|line| line.strip_prefix(&format!("{port} "))).unwrap();
        let (kind, cluster) = line.split_once(' ').unwrap();
        let cluster = cluster.split('*').next().unwrap();
        let all = endpoints(&view, &plan);
        let mut groups = all.iter().filter_map(|line| line.split_once(": "));
        format!("{kind} {}", groups.find(|(name, _)| *name == cluster).unwrap().1)
    };
    assert_eq!(by_listener(8000), "Any 0=10.0.0.1");
    assert_eq!(by_listener(8001), "tcp 0=10.0.0.2");
    assert_eq!(by_listener(8002), "Any 0=10.0.0.1");
    assert_eq!(by_listener(25), "tcp 0=192.0.2.1");
    assert_eq!(by_listener(9), "Any 0=10.0.0.5");
}
