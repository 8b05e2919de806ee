//! Clusters to look at, as objects.

use std::{fs, path::Path};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// What an object may say that means something to a browser or a reader of it.
pub(crate) const SCRIPT: &str =
    "<script>document.title='owned'</script><img src=x onerror=alert(1)>";
pub(crate) const TURNED: &str = "zone-\u{202e}b";

/// `examples/three-zones`.
pub(crate) fn three_zones() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/three-zones");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let yaml = files.filter(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    let list = |path| {
        let list: Value = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        list["items"].as_array().unwrap().clone()
    };
    yaml.flat_map(list).collect()
}

/// Three zones and a Service with 2, 1 and 1 endpoints, Balanced, on nodes with Evenkeel's proxy.
pub(crate) fn balanced() -> Vec<Value> {
    let nodes = [("node-1", "zone-a"), ("node-2", "zone-b"), ("node-3", "zone-c")];
    let mut objects: Vec<Value> =
        nodes.iter().flat_map(|(name, zone)| [node(name, zone), report(name)]).collect();
    let places = [nodes[0], nodes[0], nodes[1], nodes[2]];
    let [mut service, mut slice] = service("shop", "cart", &places.map(|(_, zone)| zone));
    service["spec"]["selector"] = json!({"app": "cart"});
    service["metadata"]["annotations"] = json!({"evenkeel.dev/traffic-distribution": "Balanced"});
    slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] =
        json!("endpointslice-controller.evenkeel.dev");
    let shares = r#"{"zone-a":{"zone-a":1000},"zone-b":{"zone-a":250,"zone-b":750},"zone-c":{"zone-a":250,"zone-c":750}}"#;
    slice["metadata"]["annotations"] = json!({"evenkeel.dev/zone-shares": shares});
    for (i, (node, _)) in places.iter().enumerate() {
        let endpoint = &mut slice["endpoints"][i];
        let name = format!("cart-{i}");
        endpoint["nodeName"] = json!(node);
        endpoint["targetRef"] = json!({"kind": "Pod", "namespace": "shop", "name": name});
        objects.push(pod(&name, node, &endpoint["addresses"][0]));
    }
    objects.extend([service, slice]);
    objects
}

/// So many zones with a node each, and a Service with an endpoint in each.
pub(crate) fn zones(n: usize) -> Vec<Value> {
    let zones: Vec<String> = (1..=n).map(|i| format!("zone-{i:02}")).collect();
    let names: Vec<&str> = zones.iter().map(String::as_str).collect();
    let nodes = zones.iter().map(|zone| node(&format!("node-{zone}"), zone));
    nodes.chain(service("shop", "web", &names)).collect()
}

/// Objects whose names are code, turn the direction of writing, or are as long as can be.
pub(crate) fn hostile() -> Vec<Value> {
    let long = "n".repeat(253);
    let mut objects = vec![node("node-1", SCRIPT), node(SCRIPT, TURNED), node(&long, &long)];
    objects.extend(service("shop", "web", &[SCRIPT, TURNED, &long]));
    objects.extend(service(SCRIPT, TURNED, &[SCRIPT]));
    objects.extend(service(&"s".repeat(253), &"t".repeat(253), &[&long, TURNED]));
    objects
}

/// 300 nodes in three zones, and so many Services with two endpoints each. Two of three keep to their
/// zone where they can, and some select no Pod.
pub(crate) fn many(services: usize) -> Vec<Value> {
    let zones = ["zone-a", "zone-b", "zone-c"];
    let mut objects: Vec<Value> =
        (0..300).map(|i| node(&format!("node-{i:03}"), zones[i % 3])).collect();
    for i in 0..services {
        let at = [zones[i % 3], zones[(i + i / 3) % 3]];
        let [mut service, mut slice] = service("shop", &format!("service-{i:04}"), &at);
        if i % 3 > 0 {
            service["spec"]["trafficDistribution"] = json!("PreferSameZone");
            for (endpoint, zone) in slice["endpoints"].as_array_mut().into_iter().flatten().zip(at)
            {
                endpoint["hints"] = json!({"forZones": [{"name": zone}]});
            }
        }
        if i % 200 == 0 {
            service["spec"]["selector"] = json!({"app": "nothing"});
        }
        objects.extend([service, slice]);
    }
    objects
}

pub(crate) fn node(name: &str, zone: &str) -> Value {
    json!({
        "kind": "Node", "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A Service and its slice, with an endpoint in each of the zones.
pub(crate) fn service(namespace: &str, name: &str, zones: &[&str]) -> [Value; 2] {
    let endpoint = |(i, zone): (usize, &&str)| json!({"addresses": [format!("10.1.0.{}", i + 1)], "conditions": {"ready": true}, "zone": zone});
    let endpoints: Vec<Value> = zones.iter().enumerate().map(endpoint).collect();
    [
        json!({
            "kind": "Service", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"clusterIP": "10.96.0.1", "ports": [{"port": 80}]},
        }),
        json!({
            "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1",
            "metadata": {
                "name": name, "namespace": namespace,
                "labels": {"kubernetes.io/service-name": name},
            },
            "addressType": "IPv4", "ports": [{"port": 80}], "endpoints": endpoints,
        }),
    ]
}

/// Of the app `cart`.
fn pod(name: &str, node: &str, address: &Value) -> Value {
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "cart"}},
        "spec": {"nodeName": node, "containers": [{"name": "main"}]},
        "status": {
            "phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// Of the proxy of a node, which has all that there is in force.
fn report(node: &str) -> Value {
    json!({
        "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
        "metadata": {
            "name": format!("evenkeel-proxy-{node}"), "namespace": "kube-system",
            "labels": {"evenkeel.dev/component": "proxy"},
            "annotations": {
                "evenkeel.dev/services-in-force": "1000000",
                "evenkeel.dev/endpointslices-in-force": "1000000",
            },
        },
        "spec": {
            "holderIdentity": node, "leaseDurationSeconds": 3600,
            "renewTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string(),
        },
    })
}
