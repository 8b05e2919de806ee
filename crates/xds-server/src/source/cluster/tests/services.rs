//! Services of the cluster as destinations: from what watches bring to what proxies are sent.

use std::{collections::BTreeSet, sync::Arc};

use evenkeel_k8s::{watch::Batch, watched::MeshKind};
use evenkeel_locality::{
    Compat,
    view::{self, ProxyKey, View},
};
use evenkeel_model::{Gone, Watched};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Cluster;
use crate::{
    control::Control,
    kubernetes::{Kubernetes, KubernetesSettings},
    metrics::Metrics,
    source::Intake,
};

struct World {
    control: Arc<Control>,
    cluster: Cluster,
}

impl World {
    fn new(zone: Option<&str>) -> Self {
        let zone = zone.map(Arc::from);
        let of_view = view::Settings { zone: zone.clone(), compat: Compat::Record };
        let view = View::first_read(of_view);
        let control = Arc::new(Control::new(view, Compat::Record, Arc::new(Metrics::new())));
        let settings = KubernetesSettings {
            mesh: "default".into(),
            node_labels: BTreeSet::from(["rack".into()]),
            topology: evenkeel_topology::Settings::default(),
        };
        let intake = Intake::new(Arc::clone(&control), Compat::Record);
        let intake = intake.with_kubernetes(Kubernetes::new(settings, zone));
        let (_, batches) = mpsc::channel(1);
        World { control, cluster: Cluster::new(batches, intake) }
    }

    /// Two Nodes in two zones, and a client on the first.
    fn with_nodes() -> Self {
        let mut world = World::new(None);
        world.nodes(listed(&[node("n1", "a", "r1"), node("n2", "b", "r2")]));
        world.pods(listed(&[pod("client", "n1", "10.0.0.9", &json!({}))]));
        world.services(listed::<_>(&[]));
        world.slices(listed::<_>(&[]));
        for kind in MeshKind::ALL {
            world.mesh(kind, listed(&[]));
        }
        world.mesh(MeshKind::Dataplane, vec![applied(&client("client", "10.0.0.9"))]);
        world
    }

    fn nodes(&mut self, seen: Vec<Watched<evenkeel_k8s::watched::Node>>) {
        self.cluster.take(Batch::Nodes(seen));
    }

    fn pods(&mut self, seen: Vec<Watched<evenkeel_k8s::watched::Pod>>) {
        self.cluster.take(Batch::Pods(seen));
    }

    fn services(&mut self, seen: Vec<Watched<evenkeel_k8s::watched::Service>>) {
        self.cluster.take(Batch::Services(seen));
    }

    fn slices(&mut self, seen: Vec<Watched<evenkeel_k8s::watched::EndpointSlice>>) {
        self.cluster.take(Batch::Slices(seen));
    }

    fn mesh(&mut self, kind: MeshKind, seen: Vec<Watched<evenkeel_k8s::watched::MeshObject>>) {
        self.cluster.take(Batch::Mesh(kind, seen));
    }

    /// The groups of the client's only destination: `zone*weight=address,…`.
    fn groups(&self) -> Vec<String> {
        let mut engine = self.control.engine();
        let plan = engine.view().proxy(&ProxyKey::new("default", "client.shop")).unwrap();
        let [(_, key)] = plan.assignments() else { panic!("one destination") };
        let groups = engine.view().assignment(key).assignment.groups;
        let groups = groups.iter().map(|group| {
            let endpoints = group.endpoints.iter().map(|e| format!("{}", e.address.ip()));
            let endpoints: Vec<String> = endpoints.collect();
            let zone = group.zone.as_deref().unwrap_or("-");
            let weight = group.weight.map_or(0, std::num::NonZeroU32::get);
            format!("{}: {zone}*{weight}={}", group.priority, endpoints.join(","))
        });
        groups.collect()
    }

    /// The tags of the endpoint with this address.
    fn tags(&self, address: &str) -> Value {
        let mut engine = self.control.engine();
        let plan = engine.view().proxy(&ProxyKey::new("default", "client.shop")).unwrap();
        let [(_, key)] = plan.assignments() else { panic!("one destination") };
        let groups = engine.view().assignment(key).assignment.groups;
        let mut endpoints = groups.iter().flat_map(|group| &group.endpoints);
        let found = endpoints.find(|e| e.address.ip().to_string() == address).unwrap();
        json!(*found.tags)
    }

    fn work(&self) -> u64 {
        self.control.engine().view().work()
    }
}

fn seen<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

fn listed<T: DeserializeOwned>(values: &[Value]) -> Vec<Watched<T>> {
    let all = values.iter().map(|value| Watched::Listed(seen(value)));
    std::iter::once(Watched::Restarted).chain(all).chain([Watched::Complete]).collect()
}

fn applied<T: DeserializeOwned>(value: &Value) -> Watched<T> {
    Watched::Applied(seen(value))
}

fn metadata(namespace: Option<&str>, name: &str, labels: &Value) -> Value {
    json!({"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1", "labels": labels})
}

fn node(name: &str, zone: &str, rack: &str) -> Value {
    let labels = json!({
        "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "eu",
        "kubernetes.io/hostname": name, "rack": rack, "not-asked-for": "x",
    });
    json!({"metadata": metadata(None, name, &labels)})
}

fn pod(name: &str, node: &str, ip: &str, labels: &Value) -> Value {
    json!({
        "metadata": metadata(Some("shop"), name, labels),
        "spec": {"nodeName": node, "containers": []},
        "status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]},
    })
}

fn service(name: &str, more: &Value) -> Value {
    let mut spec = json!({
        "clusterIP": "10.96.0.1", "ipFamilies": ["IPv4"], "selector": {"app": name},
        "ports": [{"name": "http", "port": 80, "targetPort": 8080, "appProtocol": "http"}],
    });
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({"metadata": metadata(Some("shop"), name, &json!({"team": "one"})), "spec": spec})
}

/// Endpoints: address, Pod, Node, zone, conditions, zone hint.
fn slice(endpoints: &[Value]) -> Value {
    let labels = json!({
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.evenkeel.dev",
    });
    json!({
        "metadata": metadata(Some("shop"), "web-1", &labels),
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": endpoints,
    })
}

fn endpoint(n: u8, node: &str, zone: &str) -> Value {
    json!({
        "addresses": [format!("10.0.0.{n}")], "nodeName": node, "zone": zone,
        "conditions": {"ready": true, "serving": true, "terminating": false},
        "targetRef": {"kind": "Pod", "namespace": "shop", "name": format!("web-{n}"), "uid": "u"},
    })
}

fn hinted(mut endpoint: Value, zone: &str) -> Value {
    endpoint["hints"] = json!({"forZones": [{"name": zone}]});
    endpoint
}

fn client(name: &str, address: &str) -> Value {
    json!({
        "apiVersion": "kuma.io/v1alpha1", "kind": "Dataplane", "mesh": "default",
        "metadata": metadata(Some("shop"), name, &json!({})),
        "spec": {"networking": {
            "address": address,
            "inbound": [{"port": 8080, "servicePort": 8081, "tags": {"kuma.io/service": "client"}}],
            "outbound": [{"port": 10_000, "tags": {"kuma.io/service": "web_shop_svc_80"}}],
        }},
    })
}

fn strategy(conf: &Value) -> Value {
    json!({
        "apiVersion": "kuma.io/v1alpha1", "kind": "MeshLoadBalancingStrategy",
        "metadata": metadata(Some("shop"), "ranked", &json!({"kuma.io/mesh": "default"})),
        "spec": {
            "targetRef": {"kind": "Mesh"},
            "to": [{
                "targetRef": {"kind": "MeshService", "name": "web_shop_svc_80"},
                "default": {"localityAwareness": conf},
            }],
        },
    })
}

fn one_in_each_zone() -> [Value; 2] {
    [endpoint(1, "n1", "a"), endpoint(2, "n2", "b")]
}

#[test]
fn nothing_is_answered_before_every_list_is_complete() {
    let mut world = World::new(None);
    for kind in MeshKind::ALL {
        world.mesh(kind, listed(&[]));
    }
    world.services(listed(&[]));
    world.slices(listed(&[]));
    world.nodes(listed(&[]));
    assert!(!world.control.is_synced());
    world.pods(listed(&[]));
    assert!(world.control.is_synced());
}

#[test]
fn a_service_follows_its_own_topology() {
    let mut world = World::with_nodes();
    world.services(vec![applied(&service("web", &json!({})))]);
    world.slices(vec![applied(&slice(&one_in_each_zone()))]);
    assert_eq!(world.groups(), ["0: a*1=10.0.0.1", "0: b*1=10.0.0.2"]);
    let hinted = [hinted(endpoint(1, "n1", "a"), "a"), hinted(endpoint(2, "n2", "b"), "b")];
    world.slices(vec![applied(&slice(&hinted))]);
    assert_eq!(world.groups(), ["0: a*1=10.0.0.1"]);
    // The client's Node is what says where it is.
    world.nodes(vec![applied(&node("n1", "b", "r1"))]);
    assert_eq!(world.groups(), ["0: b*1=10.0.0.2"]);
    world.pods(vec![applied(&pod("client", "n3", "10.0.0.9", &json!({})))]);
    assert_eq!(world.groups(), ["0: a*1=10.0.0.1", "0: b*1=10.0.0.2"]);
}

#[test]
fn zone_shares_are_locality_weights() {
    let mut world = World::with_nodes();
    let mut balanced = service("web", &json!({}));
    let policy = json!({"evenkeel.dev/traffic-distribution": "Balanced"});
    balanced["metadata"]["annotations"] = policy;
    world.services(vec![applied(&balanced)]);
    let mut shared = slice(&one_in_each_zone());
    let table = json!({"a": {"a": 750, "b": 250}, "b": {"b": 1000}}).to_string();
    shared["metadata"]["annotations"] = json!({"evenkeel.dev/zone-shares": table});
    world.slices(vec![applied(&shared)]);
    assert_eq!(world.groups(), ["0: a*3=10.0.0.1", "0: b*1=10.0.0.2"]);
    world.nodes(vec![applied(&node("n1", "b", "r1"))]);
    assert_eq!(world.groups(), ["0: b*1=10.0.0.2"], "zones with share 0 are left out");
}

#[test]
fn traffic_that_must_stay_on_the_node_stays() {
    let mut world = World::with_nodes();
    let local = service("web", &json!({"internalTrafficPolicy": "Local"}));
    world.services(vec![applied(&local)]);
    world.slices(vec![applied(&slice(&one_in_each_zone()))]);
    assert_eq!(world.groups(), ["0: a*1=10.0.0.1"]);
    world.slices(vec![applied(&slice(&[endpoint(2, "n2", "b")]))]);
    assert_eq!(world.groups(), Vec::<String>::new());
}

#[test]
fn a_policy_ranks_endpoints_and_keeps_those_that_are_no_longer_ready() {
    let mut world = World::with_nodes();
    world.services(vec![applied(&service("web", &json!({})))]);
    world.slices(vec![applied(&slice(&one_in_each_zone()))]);
    let any = json!({"crossZone": {"failover": [{"to": {"type": "Any"}}]}});
    world.mesh(MeshKind::MeshLoadBalancingStrategy, vec![applied(&strategy(&any))]);
    let ranked = ["0: a*1=10.0.0.1", "1: b*0=10.0.0.2"];
    assert_eq!(world.groups(), ranked);
    let mut down = one_in_each_zone();
    down[0]["conditions"]["ready"] = json!(false);
    world.slices(vec![applied(&slice(&down))]);
    assert_eq!(world.groups(), ranked, "unhealthy, but there");
    let mut more = endpoint(3, "n1", "a");
    more["conditions"]["ready"] = json!(false);
    let [first, second] = down;
    world.slices(vec![applied(&slice(&[first, second, more]))]);
    assert_eq!(world.groups(), ranked, "never ready");
}

#[test]
fn affinity_follows_labels_of_nodes() {
    let mut world = World::with_nodes();
    world.nodes(vec![applied(&node("n3", "a", "r9"))]);
    world.services(vec![applied(&service("web", &json!({})))]);
    world.slices(vec![applied(&slice(&[endpoint(1, "n1", "a"), endpoint(2, "n3", "a")]))]);
    let by_rack = json!({"localZone": {"affinityTags": [{"key": "rack"}]}});
    world.mesh(MeshKind::MeshLoadBalancingStrategy, vec![applied(&strategy(&by_rack))]);
    assert_eq!(world.groups(), ["0: a*1=10.0.0.2", "0: a*9=10.0.0.1"]);
    world.nodes(vec![applied(&node("n3", "a", "r1"))]);
    assert_eq!(world.groups(), ["0: a*9=10.0.0.1,10.0.0.2"]);
}

#[test]
fn endpoints_have_the_labels_of_their_pod_and_of_its_node() {
    let mut world = World::with_nodes();
    world.services(vec![applied(&service("web", &json!({})))]);
    world.slices(vec![applied(&slice(&[endpoint(1, "n1", "a")]))]);
    let labels = json!({
        "app": "web", "version": "v2", "pod-template-hash": "x", "kuma.io/zone": "lie",
        "kubernetes.io/hostname": "lie",
    });
    world.pods(vec![applied(&pod("web-1", "n1", "10.0.0.1", &labels))]);
    let expected = json!({
        "app": "web", "version": "v2", "rack": "r1",
        "kubernetes.io/hostname": "n1",
        "topology.kubernetes.io/zone": "a", "topology.kubernetes.io/region": "eu",
        "kuma.io/service": "web_shop_svc_80", "kuma.io/protocol": "http", "kuma.io/zone": "a",
        "k8s.kuma.io/namespace": "shop", "k8s.kuma.io/service-name": "web",
        "k8s.kuma.io/service-port": "80",
    });
    assert_eq!(world.tags("10.0.0.1"), expected);
}

#[test]
fn a_zone_of_the_control_plane_is_that_of_all() {
    let mut world = World::new(Some("cluster-1"));
    world.nodes(listed(&[node("n1", "a", "r1")]));
    world.pods(listed(&[pod("client", "n1", "10.0.0.9", &json!({}))]));
    world.services(listed(&[service("web", &json!({}))]));
    world.slices(listed(&[slice(&[hinted(endpoint(1, "n1", "a"), "a")])]));
    world.mesh(MeshKind::Dataplane, listed(&[client("client", "10.0.0.9")]));
    assert_eq!(world.tags("10.0.0.1")["kuma.io/zone"], "cluster-1");
    assert_eq!(world.groups(), ["0: a*1=10.0.0.1"], "hints go by zones of Nodes");
}

#[test]
fn a_port_that_is_gone_leaves_nothing() {
    let mut world = World::with_nodes();
    world.services(vec![applied(&service("web", &json!({})))]);
    world.slices(vec![applied(&slice(&one_in_each_zone()))]);
    // The name of the port changes, not its number: another port to the view, the same service.
    let mut renamed = service("web", &json!({}));
    renamed["spec"]["ports"][0]["name"] = json!("web");
    let mut slice = slice(&one_in_each_zone());
    slice["ports"][0]["name"] = json!("web");
    world.slices(vec![applied(&slice)]);
    world.services(vec![applied(&renamed)]);
    assert_eq!(world.groups(), ["0: a*1=10.0.0.1", "0: b*1=10.0.0.2"]);
    let mut elsewhere = renamed.clone();
    elsewhere["metadata"]["labels"]["kuma.io/mesh"] = json!("other");
    world.services(vec![applied(&elsewhere)]);
    assert_eq!(world.groups(), Vec::<String>::new());
    world.services(vec![applied(&renamed)]);
    assert_eq!(world.groups().len(), 2);
    let of = |text: &str| Arc::from(text);
    let gone = Gone { namespace: of("shop"), name: of("web"), uid: of("web") };
    world.services(vec![Watched::Deleted(gone)]);
    assert_eq!(world.groups(), Vec::<String>::new());
}

#[test]
fn what_concerns_no_port_costs_nothing() {
    let mut world = World::with_nodes();
    world.services(vec![applied(&service("web", &json!({})))]);
    world.slices(vec![applied(&slice(&one_in_each_zone()))]);
    let before = world.work();
    world.nodes(vec![applied(&node("n1", "a", "r1"))]);
    world.pods(vec![applied(&pod("other", "n1", "10.0.0.77", &json!({"a": "b"})))]);
    world.slices(vec![applied(&slice(&one_in_each_zone()))]);
    assert_eq!(world.work(), before);
}

#[test]
fn udp_names_and_other_families_are_no_destinations() {
    let mut world = World::with_nodes();
    let udp = json!({"ports": [{"name": "http", "port": 80, "protocol": "UDP"}]});
    world.services(vec![applied(&service("web", &udp))]);
    let mut slice = slice(&one_in_each_zone());
    slice["ports"][0]["protocol"] = json!("UDP");
    world.slices(vec![applied(&slice)]);
    assert_eq!(world.groups(), Vec::<String>::new());
    let named = json!({"type": "ExternalName", "externalName": "example.com", "ipFamilies": []});
    world.services(vec![applied(&service("web", &named))]);
    assert_eq!(world.groups(), Vec::<String>::new());
}

/// A relabelled cluster is one look at its endpoints, not one for each Node.
#[test]
fn many_nodes_that_change_together_cost_one_look() {
    let work = |n: usize| {
        let mut world = World::new(None);
        let nodes = |rack: &str| {
            let node = |i: usize| node(&format!("n{i}"), "a", rack);
            (0..n).map(node).collect::<Vec<_>>()
        };
        world.nodes(listed(&nodes("r1")));
        world.pods(listed(&[]));
        world.services(listed(&[service("web", &json!({}))]));
        let endpoints: Vec<Value> = (0..n)
            .map(|i| {
                let mut endpoint = endpoint(1, &format!("n{i}"), "a");
                endpoint["addresses"] = json!([format!("10.1.{}.{}", i / 250, i % 250 + 1)]);
                endpoint
            })
            .collect();
        world.slices(listed(&[slice(&endpoints)]));
        let before = world.work();
        world.nodes(nodes("r2").iter().map(applied).collect());
        world.work() - before
    };
    let (few, many) = (work(100), work(1_000));
    assert!(few > 0 && many <= few * 12, "{few}, {many}");
}
