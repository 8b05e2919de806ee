use serde_json::json;

use super::*;

fn check(value: &Value, form: Form) -> Result<Resource, Vec<String>> {
    parse(value, form, Compat::Record)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn custom(kind: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "kuma.io/v1alpha1", "kind": kind,
        "metadata": {"name": "a", "namespace": "ns", "uid": "x", "labels": {"kuma.io/mesh": "m"}},
        "spec": spec,
    })
}

#[test]
fn a_dataplane_of_the_record_is_read() {
    let value = json!({
        "type": "Dataplane", "mesh": "default", "name": "demo",
        "networking": {
            "address": "127.0.0.1",
            "inbound": [{
                "port": 9999, "servicePort": 10000, "serviceAddress": "127.0.0.1",
                "tags": {
                    "kuma.io/service": "demo", "kuma.io/protocol": "tcp", "k8s.io/az": "us-east-1",
                },
            }],
            "outbound": [{"port": 33033, "tags": {"kuma.io/service": "backend"}}],
        },
    });
    let resource = check(&value, Form::File).unwrap();
    assert_eq!(resource.key, Key::new(Kind::Dataplane, "default", "demo"));
    let Spec::Dataplane(dataplane) = resource.spec else { panic!("not a Dataplane") };
    let inbound = &dataplane.inbounds[0];
    assert_eq!(inbound.listen, "127.0.0.1:9999".parse().unwrap());
    assert_eq!(inbound.workload, "127.0.0.1:10000".parse().unwrap());
    assert_eq!(inbound.advertised, inbound.listen);
    assert_eq!(&*inbound.service(), "demo");
    assert_eq!(dataplane.outbounds[0].listen, "127.0.0.1:33033".parse().unwrap());
    assert_eq!(&*dataplane.outbounds[0].backend.name, "backend");
}

#[test]
fn addresses_of_a_dataplane_have_their_defaults() {
    let value = json!({"networking": {
        "address": "10.0.0.1", "advertisedAddress": "192.0.2.1",
        "inbound": [
            {"port": 80, "tags": {"kuma.io/service": "a"}, "state": "NotReady"},
            {"port": 81, "address": "10.0.0.2", "tags": {"kuma.io/service": "b"},
             "health": {"ready": false}},
        ],
        "transparentProxying": {"reachableServices": ["c"], "redirectPortInbound": 15006},
    }});
    let resource = check(&custom("Dataplane", &value), Form::Custom).unwrap();
    assert_eq!(resource.key, Key::new(Kind::Dataplane, "m", "a.ns"));
    let Spec::Dataplane(dataplane) = resource.spec else { panic!("not a Dataplane") };
    let addresses = |i: usize| {
        let inbound: &Inbound = &dataplane.inbounds[i];
        [inbound.listen, inbound.advertised, inbound.workload].map(|address| address.to_string())
    };
    assert_eq!(addresses(0), ["10.0.0.1:80", "192.0.2.1:80", "127.0.0.1:80"]);
    assert_eq!(addresses(1), ["10.0.0.2:81", "192.0.2.1:81", "127.0.0.1:81"]);
    assert_eq!(dataplane.inbounds[0].state, InboundState::NotReady);
    assert_eq!(dataplane.inbounds[1].state, InboundState::NotReady);
    assert_eq!(dataplane.reachable_services, ["c".into()]);
}

/// What is wrong, and the only error that it gives.
fn bad_resources() -> Vec<(Value, &'static str)> {
    let dataplane =
        |networking: Value| json!({"type": "Dataplane", "name": "a", "networking": networking});
    let inbound = |inbound: Value| dataplane(json!({"address": "1.1.1.1", "inbound": [inbound]}));
    let tags = json!({"kuma.io/service": "s"});
    let policy = |kind: &str, to: Value| json!({"type": kind, "name": "a", "spec": {"to": [to]}});
    let backend = json!({"kind": "MeshService", "name": "b"});
    let route =
        |rule: Value| policy("MeshHTTPRoute", json!({"targetRef": backend, "rules": [rule]}));
    vec![
        (json!([]), "resource: must be an object, not a list"),
        (
            json!({}),
            "kind: must be set to one of Mesh, Dataplane, MeshService, \
            MeshMultiZoneService, MeshExternalService, MeshHTTPRoute, MeshTCPRoute, \
            MeshHealthCheck, MeshCircuitBreaker, MeshLoadBalancingStrategy",
        ),
        (
            json!({"type": "MeshHttpRoute", "name": "a"}),
            "type: value 'MeshHttpRoute' is not known; did you mean 'MeshHTTPRoute'?",
        ),
        (json!({"type": "Mesh"}), "metadata.name: must be set"),
        (
            json!({"type": "Mesh", "name": "a b"}),
            "metadata.name: must consist of letters, digits and the characters . _ - : /",
        ),
        (json!({"type": "Dataplane", "name": "a"}), "networking: must be set"),
        (
            dataplane(json!({"address": "web.local", "gateway": {"tags": tags}})),
            "networking.address: must be an IP address",
        ),
        (
            dataplane(json!({"address": "1.1.1.1"})),
            "networking.inbound: must be set, or gateway, with the tags of the client",
        ),
        (
            inbound(json!({"port": 0, "tags": tags})),
            "networking.inbound[0].port: must be a port number from 1 to 65535",
        ),
        (
            inbound(json!({"port": 1, "servcePort": 1, "tags": tags})),
            "networking.inbound[0].servcePort: unknown field; did you mean 'servicePort'?",
        ),
        (
            inbound(json!({"port": 1, "serviceAddress": "1.1.1.1", "tags": tags})),
            "networking.inbound[0].servicePort: must differ from port, \
            or the proxy would connect to itself",
        ),
        (inbound(json!({"port": 1})), "networking.inbound[0].tags.kuma.io/service: must be set"),
        (
            inbound(
                json!({"port": 1, "tags": {"kuma.io/service": "s", "kuma.io/protocol": "htp"}}),
            ),
            "networking.inbound[0].tags.kuma.io/protocol: \
            value 'htp' is not known; did you mean 'http'?",
        ),
        (
            dataplane(json!({"address": "1.1.1.1", "gateway": {"tags": tags},
            "outbound": [{"port": 1}]})),
            "networking.outbound[0].tags.kuma.io/service: must be set, or backendRef",
        ),
        (
            json!({"type": "MeshService", "name": "a", "spec": {"selector": {}}}),
            "spec.selector.dataplaneTags: must not be empty",
        ),
        (
            json!({"type": "MeshMultiZoneService", "name": "a", "spec": {}}),
            "spec.selector.meshService.matchLabels: must not be empty",
        ),
        (
            json!({"type": "MeshExternalService", "name": "a", "spec":
            {"match": {"port": 1}, "endpoints": [{"address": "x.org", "port": 1}]}}),
            "spec.endpoints[0].address: must be an IP address",
        ),
        (policy("MeshHealthCheck", json!({"default": {}})), "spec.to[0].targetRef: must be set"),
        (
            policy("MeshHealthCheck", json!({"targetRef": {"kind": "MeshSubset"}})),
            "spec.to[0].targetRef.kind: value 'MeshSubset' is not supported",
        ),
        (
            policy(
                "MeshHealthCheck",
                json!({"targetRef": {"kind": "Mesh"},
            "default": {"interval": "10"}}),
            ),
            "spec.to[0].default.interval: must be a duration such as 10s or 1m30s",
        ),
        (
            policy(
                "MeshCircuitBreaker",
                json!({"targetRef": {"kind": "Mesh"},
            "default": {"outlierDetection": {"detectors": {"totalFailure": {}}}}}),
            ),
            "spec.to[0].default.outlierDetection.detectors.totalFailure: \
            unknown field; did you mean 'totalFailures'?",
        ),
        (
            json!({"type": "MeshCircuitBreaker", "name": "a", "spec": {"from": []}}),
            "spec.from: is not supported: only to is",
        ),
        (
            route(json!({"default": {"filters": [{"type": "URLRewrite"}]}})),
            "spec.to[0].rules[0].default.filters: is not supported",
        ),
        (
            policy(
                "MeshHTTPRoute",
                json!({"targetRef": backend, "hostnames": ["a.example"], "rules": []}),
            ),
            "spec.to[0].hostnames: is not supported: it is for built-in gateways",
        ),
        (
            dataplane(json!({"address": "1.1.1.1", "gateway": {"tags": tags, "type": "BUILTIN"}})),
            "networking.gateway.type: BUILTIN is not supported: use DELEGATED",
        ),
        (
            route(json!({"matches": [{"path": {"type": "Exact", "value": "a"}}]})),
            "spec.to[0].rules[0].matches[0].path.value: must be an absolute path",
        ),
        (
            route(json!({"matches": [{"path": {"type": "RegularExpression", "value": "("}}]})),
            "spec.to[0].rules[0].matches[0].path.value: \
            must be a regular expression of at most 1024 bytes",
        ),
        (
            route(json!({"default": {"backendRefs": [{"kind": "Service", "name": "b"}]}})),
            "spec.to[0].rules[0].default.backendRefs[0].kind: value 'Service' is not known; \
            expected one of MeshService, MeshServiceSubset, MeshMultiZoneService, \
            MeshExternalService",
        ),
        (
            policy("MeshTCPRoute", json!({"targetRef": backend, "rules": [{}, {}]})),
            "spec.to[0].rules: must not have more than one rule",
        ),
    ]
}

#[test]
fn each_error_names_its_field() {
    for (value, expected) in bad_resources() {
        let errors = check(&value, Form::File).unwrap_err();
        assert_eq!(errors, [expected], "{value}");
    }
}

#[test]
fn forms_of_the_record_are_for_files_only() {
    let backend = json!({"kind": "MeshService", "name": "backend"});
    let zone = |zone: &str| json!({"kind": "MeshServiceSubset", "name": "backend", "tags": {"kuma.io/zone": zone}});
    let spec = json!({
        "targetRef": {"kind": "MeshService", "name": "frontend"},
        "to": [{
            "targetRef": backend,
            "rules": {"default": {"backendRef": [zone("zone-1"), zone("zone-3")]}},
        }],
    });
    let value = custom("MeshHTTPRoute", &spec);
    let Spec::Policy(policy) = check(&value, Form::File).unwrap().spec else { panic!() };
    let backends = policy.to[0].conf["rules"][0]["default"]["backendRefs"].as_array();
    assert_eq!(backends.map(Vec::len), Some(2));
    assert_eq!(check(&value, Form::Custom).unwrap_err(), ["spec.to[0].rules: must be a list"]);

    let strategy = json!({"to": {"targetRef": backend, "defaults": {"localityAwareness": {}}}});
    let value = custom("MeshLoadBalancingStrategy", &strategy);
    let Spec::Policy(policy) = check(&value, Form::File).unwrap().spec else { panic!() };
    assert_eq!(*policy.to[0].conf, json!({"localityAwareness": {}}));
    assert!(check(&value, Form::Custom).is_err());

    let check_of_all = json!({"to": {"targetRef": {"kind": "Mesh"}, "defaults": {}}});
    let value = custom("MeshHealthCheck", &check_of_all);
    assert!(check(&value, Form::File).is_ok());
    assert_eq!(
        check(&value, Form::Custom).unwrap_err(),
        ["spec.to: must be a list, not an object"]
    );
}

#[test]
fn a_strategy_may_stand_beside_its_header() {
    let value = json!({
        "type": "MeshLoadBalancingStrategy", "mesh": "m", "name": "a",
        "to": [{"targetRef": {"kind": "Mesh"}, "default": {"localityAwareness": {"disbled": true}}}],
    });
    let errors = check(&value, Form::File).unwrap_err();
    let expected = "spec.to[0].default.localityAwareness.disbled: \
        unknown field; did you mean 'disabled'?";
    assert_eq!(errors, [expected]);
}

#[test]
fn deep_and_long_input_is_refused_without_harm() {
    let mut deep = json!(1);
    for _ in 0..10_000 {
        deep = Value::Array(vec![deep]);
    }
    let mut value = json!({"type": "Mesh", "name": "a"});
    value["x"] = deep;
    assert_eq!(
        check(&value, Form::File).unwrap_err(),
        ["resource: must not be nested deeper than 64"]
    );
    // Dropping it would recurse as deep as it is.
    std::mem::forget(value);
    let long = "x".repeat(1_000_000);
    let value = json!({"type": "Dataplane", "name": long, "networking": {
        "address": long, "inbound": [{"port": 1, "tags": {"kuma.io/service": long, (long): "x"}}],
    }});
    let errors = check(&value, Form::File).unwrap_err();
    assert!(errors.iter().all(|error| error.len() < 300), "{errors:?}");
}
