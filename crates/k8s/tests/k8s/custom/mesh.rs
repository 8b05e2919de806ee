//! The kinds of `kuma.io` before the API server's own judge, and as Rust types.

use std::{collections::BTreeMap, fmt::Debug};

use evenkeel_k8s::{custom::mesh::*, watched::MeshKind};
use evenkeel_structural::{Path, Schema, Tolerance, cel, check_definition};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// The schemas by kind.
fn schemas() -> BTreeMap<String, Schema> {
    let of = |definition: Value| {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        (kind, Schema::parse(schema).unwrap())
    };
    definitions().into_iter().map(of).collect()
}

/// The object as it is stored, and what is wrong with it.
fn judged(schema: &Schema, object: &Value) -> (Value, Vec<String>) {
    let mut object = object.clone();
    schema.prune(&mut object);
    schema.fill_defaults(&mut object);
    let errors = schema.validate(&object).iter().map(ToString::to_string).collect();
    (object, errors)
}

fn object(kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": "kuma.io/v1alpha1", "kind": kind,
        "metadata": {"name": "test", "namespace": "shop", "labels": {"kuma.io/mesh": "default"}},
        "spec": spec})
}

#[test]
fn definitions_are_structural_and_each_followed_kind_has_one() {
    let mut names = Vec::new();
    for definition in definitions() {
        let kind = MeshKind::of(definition["spec"]["names"]["kind"].as_str().unwrap()).unwrap();
        assert_eq!(definition["metadata"]["name"], kind.definition());
        assert_eq!(definition["metadata"]["labels"]["app.kubernetes.io/part-of"], "evenkeel");
        let spec = &definition["spec"];
        let scope = if kind.is_namespaced() { "Namespaced" } else { "Cluster" };
        assert_eq!((&spec["scope"], &spec["group"]), (&json!(scope), &json!("kuma.io")));
        assert_eq!(spec["names"]["plural"], kind.plural());
        assert_eq!(spec["names"]["categories"], json!(["kuma"]));
        assert_eq!(spec["versions"][0]["name"], "v1alpha1");
        assert_eq!(spec["versions"][0]["subresources"], json!({}), "status is a field");
        assert!(!definition.to_string().contains("nullable"));
        names.push(kind);
    }
    names.sort();
    assert_eq!(names, MeshKind::ALL);
    for (kind, schema) in schemas() {
        let path = Path::root("spec.validation.openAPIV3Schema");
        let mut errors = check_definition(&schema, &path, Tolerance::default());
        errors.append(cel::check_definition(&schema, &path));
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, [""; 0], "{kind}");
    }
}

/// Through the type and back, and past the schema, without a change.
fn stays<T: Clone + Debug + DeserializeOwned + Serialize>(kind: &str, spec: Value) {
    let mut object = object(kind, &spec);
    object["status"] = match kind {
        "MeshService" => json!({
            "addresses": [{"hostname": "a.mesh", "origin": "HostnameGenerator",
                "hostnameGeneratorRef": {"coreName": "all"}}],
            "hostnameGenerators": [{"hostnameGeneratorRef": {"coreName": "all"}, "conditions": [
                {"type": "Generated", "status": "True", "reason": "Generated", "message": ""}]}],
            "vips": [{"ip": "241.0.0.1"}],
            "tls": {"status": "NotReady"},
            "dataplaneProxies": {"connected": 1, "healthy": 1, "total": 2},
        }),
        "MeshMultiZoneService" => json!({
            "meshServices": [{"mesh": "default", "zone": "a", "namespace": "shop", "name": "web"}],
            "conditions": [{"type": "a/Ready", "status": "Unknown", "reason": "A", "message": ""}],
        }),
        "MeshExternalService" => json!({"vip": {"ip": "242.0.0.1"}}),
        _ => Value::Null,
    };
    if object["status"].is_null() {
        object.as_object_mut().unwrap().remove("status");
    }
    let typed: T = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(&typed).unwrap(), object);
    assert_eq!(judged(&schemas()[kind], &object), (object, Vec::new()));
}

#[test]
fn whole_objects_pass_schema_and_type_unchanged() {
    let all = json!({"kind": "Mesh", "proxyTypes": ["Sidecar", "Gateway"]});
    let named = json!({"kind": "MeshService", "name": "web", "namespace": "shop",
        "sectionName": "http", "mesh": "default"});
    let labelled = json!({"kind": "MeshMultiZoneService", "labels": {"app": "web"}});
    let subset = json!({"kind": "MeshServiceSubset", "name": "web", "tags": {"v": "1"}});
    let hashes = json!([
        {"type": "Header", "terminal": true, "header": {"name": "x"}},
        {"type": "Cookie", "cookie": {"name": "c", "ttl": "1h", "path": "/"}},
        {"type": "Connection", "connection": {"sourceIP": true}},
        {"type": "QueryParameter", "queryParameter": {"name": "q"}},
        {"type": "FilterState", "filterState": {"key": "k"}},
        {"type": "SourceIP"},
    ]);
    stays::<MeshLoadBalancingStrategy>(
        "MeshLoadBalancingStrategy",
        json!({"targetRef": subset, "to": [
            {"targetRef": named, "default": {
                "localityAwareness": {
                    "disabled": false,
                    "localZone": {"affinityTags": [{"key": "k8s/node", "weight": 9}, {"key": "z"}]},
                    "crossZone": {
                        "failover": [
                            {"from": {"zones": ["a"]}, "to": {"type": "Only", "zones": ["b"]}},
                            {"to": {"type": "AnyExcept", "zones": ["c"]}},
                            {"to": {"type": "Any"}}, {"to": {"type": "None"}},
                        ],
                        "failoverThreshold": {"percentage": "33.3"},
                    },
                },
                "loadBalancer": {"type": "RingHash", "ringHash": {"hashFunction": "MurmurHash2",
                    "minRingSize": 1, "maxRingSize": 8_000_000, "hashPolicies": hashes}},
                "hashPolicies": hashes,
            }},
            {"targetRef": labelled, "default": {"loadBalancer": {"type": "LeastRequest",
                "leastRequest": {"choiceCount": 2, "activeRequestBias": "1.3"}}}},
            {"targetRef": all, "default": {"loadBalancer": {"type": "Maglev",
                "maglev": {"tableSize": 65537, "hashPolicies": hashes}, "random": {},
                "roundRobin": {}}}},
            {"targetRef": all},
        ]}),
    );
    let match_ = json!({"path": {"type": "PathPrefix", "value": "/a"}, "method": "GET",
        "headers": [{"name": "x", "type": "Prefix", "value": "y"}],
        "queryParams": [{"name": "q", "type": "Exact", "value": "1"}]});
    let backend = json!({"kind": "MeshServiceSubset", "name": "web", "tags": {"zone": "a"},
        "weight": 4_294_967_295_i64, "port": 80});
    let headers = json!({"set": [{"name": "a", "value": "b"}], "add": [{"name": "c", "value": ""}],
        "remove": ["d"]});
    stays::<MeshHTTPRoute>(
        "MeshHTTPRoute",
        json!({"targetRef": all, "to": [{"targetRef": named, "hostnames": ["*.example.com"],
        "rules": [{"matches": [match_], "default": {"backendRefs": [backend], "filters": [
            {"type": "RequestHeaderModifier", "requestHeaderModifier": headers},
            {"type": "ResponseHeaderModifier", "responseHeaderModifier": headers},
            {"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "port": 443,
                "hostname": "a.b", "statusCode": 308,
                "path": {"type": "ReplaceFullPath", "replaceFullPath": "/"}}},
            {"type": "URLRewrite", "urlRewrite": {"hostname": "a.b",
                "hostToBackendHostname": true,
                "path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}},
            {"type": "RequestMirror", "requestMirror": {"backendRef": backend,
                "percentage": "0.5"}},
        ]}}]}]}),
    );
    stays::<MeshTCPRoute>(
        "MeshTCPRoute",
        json!({"to": [{"targetRef": named, "rules": [{"default": {"backendRefs": [backend]}}]}]}),
    );
    stays::<MeshHealthCheck>(
        "MeshHealthCheck",
        json!({"targetRef": all, "to": [{"targetRef": named, "default": {
            "interval": "10s", "timeout": "2s", "unhealthyThreshold": 3, "healthyThreshold": 1,
            "initialJitter": "5s", "intervalJitter": "6s", "intervalJitterPercent": 10,
            "healthyPanicThreshold": 60, "failTrafficOnPanic": true, "eventLogPath": "/tmp/log",
            "alwaysLogHealthCheckFailures": true, "noTrafficInterval": "10s",
            "reuseConnection": false,
            "tcp": {"disabled": true, "send": "Zm9v", "receive": ["YmFy"]},
            "http": {"disabled": false, "path": "/", "expectedStatuses": [200, 201],
                "requestHeadersToAdd": {"set": [{"name": "a", "value": "b"}],
                    "add": [{"name": "c", "value": "d"}]}},
            "grpc": {"disabled": true, "serviceName": "s", "authority": "a"},
        }}]}),
    );
    let limits = json!({
        "connectionLimits": {"maxConnections": 1, "maxConnectionPools": 2,
            "maxPendingRequests": 3, "maxRequests": 4, "maxRetries": 5},
        "outlierDetection": {"disabled": false, "interval": "5s", "baseEjectionTime": "30s",
            "maxEjectionPercent": 20, "splitExternalAndLocalErrors": true,
            "healthyPanicThreshold": "61.9", "detectors": {
                "totalFailures": {"consecutive": 1}, "gatewayFailures": {"consecutive": 2},
                "localOriginFailures": {"consecutive": 3},
                "successRate": {"minimumHosts": 4, "requestVolume": 5,
                    "standardDeviationFactor": "1.9"},
                "failurePercentage": {"minimumHosts": 6, "requestVolume": 7, "threshold": 8}}},
    });
    stays::<MeshCircuitBreaker>(
        "MeshCircuitBreaker",
        json!({"targetRef": all, "to": [{"targetRef": named, "default": limits}],
            "rules": [{"default": limits}], "from": [{"targetRef": all, "default": limits}]}),
    );
    stays::<MeshService>(
        "MeshService",
        json!({"state": "Available",
            "selector": {"dataplaneLabels": {"matchLabels": {"app": "web"}},
                "dataplaneTags": {"kuma.io/service": "web"}, "dataplaneRef": {"name": "web-1"}},
            "ports": [{"name": "http", "port": 80, "targetPort": "web", "appProtocol": "http"},
                {"port": 81, "targetPort": 8081, "appProtocol": "tcp"}],
            "identities": [{"type": "ServiceTag", "value": "web"},
                {"type": "SpiffeID", "value": "spiffe://default/web"}]}),
    );
    stays::<MeshMultiZoneService>(
        "MeshMultiZoneService",
        json!({"selector": {"meshService": {"matchLabels": {"app": "web"}}},
            "ports": [{"name": "http", "port": 80, "appProtocol": "http"}]}),
    );
    stays::<MeshExternalService>(
        "MeshExternalService",
        json!({
            "match": {"type": "HostnameGenerator", "port": 443, "protocol": "http2"},
            "endpoints": [{"address": "example.com", "port": 443, "priority": 1}],
            "extension": {"type": "Lambda", "config": {"any": [{"thing": 1}]}},
            "tls": {"enabled": true, "allowRenegotiation": false,
                "version": {"min": "TLS12", "max": "TLSAuto"},
                "verification": {"mode": "SkipSAN", "serverName": "example.com",
                    "subjectAltNames": [{"type": "Prefix", "value": "ex"}],
                    "caCert": {"type": "Secret", "secretRef": {"kind": "Secret", "name": "ca"}},
                    "clientCert": {"type": "File", "file": {"path": "/cert"}},
                    "clientKey": {"inlineString": "key", "inline": "a2V5", "secret": "key",
                        "envVar": {"name": "KEY"}, "insecureInline": {"value": "key"}}}},
        }),
    );
}

#[test]
fn mesh_and_dataplane_accept_everything_in_their_spec() {
    let spec = json!({"networking": {"address": "10.0.0.1", "inbound": [{"port": 1}]}, "x": null});
    for kind in ["Mesh", "Dataplane"] {
        let mut object = object(kind, &spec);
        object["mesh"] = "other".into();
        assert_eq!(judged(&schemas()[kind], &object), (object.clone(), Vec::new()));
    }
    let mut dataplane = Dataplane::new("web-1", spec.clone());
    dataplane.mesh = Some("other".to_owned());
    let json = json!({"apiVersion": "kuma.io/v1alpha1", "kind": "Dataplane", "mesh": "other",
        "metadata": {"name": "web-1"}, "spec": spec});
    assert_eq!(serde_json::to_value(&dataplane).unwrap(), json);
    assert_eq!(serde_json::from_value::<Dataplane>(json).unwrap(), dataplane);
    assert_eq!(serde_json::to_value(Mesh::new("a", json!({}))).unwrap()["kind"], "Mesh");
}

#[test]
fn what_is_missing_has_kumas_defaults() {
    let defaulted = |kind: &str, spec: &Value| {
        let (stored, errors) = judged(&schemas()[kind], &object(kind, spec));
        assert_eq!(errors, [""; 0], "{kind}");
        stored["spec"].clone()
    };
    let service = defaulted("MeshService", &json!({"ports": [{"port": 80}]}));
    let expected = json!({"state": "Unavailable", "ports": [{"port": 80, "appProtocol": "tcp"}]});
    assert_eq!(service, expected);
    let external = json!({"match": {"port": 80}, "extension": {"type": "a"}, "tls": {"version": {},
        "verification": {"subjectAltNames": [{"value": "a"}]}}});
    let expected = json!({
        "match": {"port": 80, "type": "HostnameGenerator", "protocol": "tcp"},
        "extension": {"type": "a"},
        "tls": {"enabled": false, "allowRenegotiation": false,
            "version": {"min": "TLSAuto", "max": "TLSAuto"},
            "verification": {"mode": "Secured",
                "subjectAltNames": [{"value": "a", "type": "Exact"}]}},
    });
    assert_eq!(defaulted("MeshExternalService", &external), expected);
    let route = json!({"to": [{"targetRef": {"kind": "Mesh"}, "rules": [{"default":
        {"backendRefs": [{"kind": "MeshService", "name": "a", "unknown": 1}]}}]}]});
    let stored = defaulted("MeshTCPRoute", &route);
    let backend = json!([{"kind": "MeshService", "name": "a", "weight": 1}]);
    assert_eq!(stored["to"][0]["rules"][0]["default"]["backendRefs"], backend);
    assert_eq!(defaulted("MeshLoadBalancingStrategy", &json!({})), json!({}), "nothing else");
}

#[test]
fn what_kumas_schema_rejects_is_rejected() {
    let to = |conf: Value| json!({"to": [{"targetRef": {"kind": "Mesh"}, "default": conf}]});
    let rules = |rules: Value| json!({"to": [{"targetRef": {"kind": "Mesh"}, "rules": rules}]});
    let strategy = "MeshLoadBalancingStrategy";
    let failover =
        |to_: Value| to(json!({"localityAwareness": {"crossZone": {"failover": [to_]}}}));
    let cases = [
        (strategy, json!({"targetRef": {"kind": "Banana"}}), "spec.targetRef.kind: "),
        (strategy, json!({"targetRef": {}}), "spec.targetRef.kind: Required"),
        (strategy, json!({"to": [{"default": {}}]}), "spec.to[0].targetRef: Required"),
        (strategy, json!({"to": {}}), "spec.to: Invalid value"),
        (
            strategy,
            to(json!({"loadBalancer": {"type": "Fastest"}})),
            "spec.to[0].default.loadBalancer.type: ",
        ),
        (
            strategy,
            to(json!({"loadBalancer": {}})),
            "spec.to[0].default.loadBalancer.type: Required",
        ),
        (
            strategy,
            to(json!({"loadBalancer": {"type": "Maglev", "maglev": {"tableSize": 5_000_012}}})),
            "spec.to[0].default.loadBalancer.maglev.tableSize: ",
        ),
        (
            strategy,
            to(json!({"hashPolicies": [{"type": "Header", "header": {"name": ""}}]})),
            "spec.to[0].default.hashPolicies[0].header.name: ",
        ),
        (
            strategy,
            failover(json!({"from": {"zones": ["a"]}})),
            "spec.to[0].default.localityAwareness.crossZone.failover[0].to: Required",
        ),
        (
            strategy,
            failover(json!({"to": {"type": "Nearest"}})),
            "spec.to[0].default.localityAwareness.crossZone.failover[0].to.type: ",
        ),
        (
            strategy,
            failover(json!({"from": {}, "to": {"type": "Any"}})),
            "spec.to[0].default.localityAwareness.crossZone.failover[0].from.zones: Required",
        ),
        (
            strategy,
            to(json!({"localityAwareness": {"localZone": {"affinityTags": [{"weight": 1}]}}})),
            "spec.to[0].default.localityAwareness.localZone.affinityTags[0].key: Required",
        ),
        (
            strategy,
            to(
                json!({"localityAwareness": {"crossZone": {"failoverThreshold": {"percentage": 0.5}}}}),
            ),
            "spec.to[0].default.localityAwareness.crossZone.failoverThreshold.percentage: ",
        ),
        ("MeshHTTPRoute", rules(json!([{"default": {}}])), "spec.to[0].rules[0].matches: Required"),
        (
            "MeshHTTPRoute",
            rules(json!([{"matches": [], "default": {}}])),
            "spec.to[0].rules[0].matches: ",
        ),
        (
            "MeshHTTPRoute",
            rules(json!([{"matches": [{"method": "get"}], "default": {}}])),
            "spec.to[0].rules[0].matches[0].method: ",
        ),
        (
            "MeshHTTPRoute",
            rules(json!([{"matches": [{"headers": [{"name": "A"}]}], "default": {}}])),
            "spec.to[0].rules[0].matches[0].headers[0].name: ",
        ),
        (
            "MeshHTTPRoute",
            rules(
                json!([{"matches": [{}], "default": {"backendRefs": [{"kind": "Mesh", "weight": -1}]}}]),
            ),
            "spec.to[0].rules[0].default.backendRefs[0].weight: ",
        ),
        (
            "MeshHTTPRoute",
            rules(
                json!([{"matches": [{}], "default": {"filters": [{"type": "RequestRedirect", "requestRedirect": {"statusCode": 300}}]}}]),
            ),
            "spec.to[0].rules[0].default.filters[0].requestRedirect.statusCode: ",
        ),
        ("MeshTCPRoute", rules(json!([{"default": {}}, {"default": {}}])), "spec.to[0].rules: "),
        ("MeshTCPRoute", json!({"to": []}), "spec.to: "),
        ("MeshService", json!({"ports": [{"port": 80}, {"port": 80}]}), "spec.ports[1]: Duplicate"),
        ("MeshService", json!({"ports": [{"name": "a"}]}), "spec.ports[0].port: Required"),
        ("MeshMultiZoneService", json!({"selector": {"meshService": {}}}), "spec.ports: Required"),
        ("MeshMultiZoneService", json!({"ports": [{"port": 1}]}), "spec.selector: Required"),
        ("MeshExternalService", json!({}), "spec.match: Required"),
        ("MeshExternalService", json!({"match": {"port": 70_000}}), "spec.match.port: "),
        (
            "MeshHealthCheck",
            to(json!({"unhealthyThreshold": "3"})),
            "spec.to[0].default.unhealthyThreshold: ",
        ),
        (
            "MeshCircuitBreaker",
            to(json!({"connectionLimits": {"maxRetries": 4_294_967_296_i64}})),
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in ",
        ),
    ];
    let schemas = schemas();
    for (kind, spec, expected) in cases {
        let (_, errors) = judged(&schemas[kind], &object(kind, &spec));
        let is_told = errors.iter().any(|error| error.starts_with(expected));
        assert!(is_told, "{kind} {spec}: {errors:?}");
    }
}
