//! Envoys in client Pods, served by the mesh control plane from the same Services: they split traffic as the
//! proxies of their nodes do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    thread,
};

use evenkeel_model::mesh::PlainService;
use evenkeel_testkit::{
    envoy::Envoy,
    netns::{Namespace as Place, Tally},
};
use evenkeel_xds::{
    Variant,
    bootstrap::{BackOff, Bootstrap, ControlPlane, Keepalive, render},
};
use evenkeel_xds_server::{ClusterSource, KubernetesSettings, Settings, SourceSettings};
use k8s_openapi::{
    api::core::v1::Pod,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams},
    core::GroupVersionKind,
};
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    cluster::{PATIENCE, until},
    space::{Space, Target, object},
};

/// For each measurement: 4 points are more than four standard deviations.
const REQUESTS: usize = 3_000;
const POINTS: f64 = 4.0;
const OUTBOUND: u16 = 10_001;

/// The control plane, following the cluster.
struct Plane {
    listen: SocketAddr,
    _stop: DropGuard,
}

/// Envoy in the client Pod of a node.
struct Client<'a> {
    place: &'a Place,
    _envoy: Envoy,
}

fn deploy(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The definitions of `kuma.io`, all of which are served afterwards.
fn define(space: &Space) {
    let list: Value = serde_saphyr::from_str(&deploy("crds/mesh/kustomization.yaml")).unwrap();
    let api: Api<CustomResourceDefinition> = Api::all(space.cluster.client.clone());
    for file in list["resources"].as_array().unwrap() {
        let text = deploy(&format!("crds/mesh/{}", file.as_str().unwrap()));
        let definition: Value = serde_saphyr::from_str(&text).unwrap();
        let create = async { api.create(&PostParams::default(), &object(definition)).await };
        let created = space.cluster.runtime.block_on(create).unwrap();
        let name = created.metadata.name.unwrap();
        until(&name, || {
            let found = space.cluster.runtime.block_on(api.get(&name)).unwrap();
            let conditions =
                found.status.into_iter().flat_map(|s| s.conditions.unwrap_or_default());
            let mut established = conditions.filter(|c| c.type_ == "Established");
            match established.any(|condition| condition.status == "True") {
                true => Ok(()),
                false => Err("not established".to_owned()),
            }
        });
    }
}

fn put(space: &Space, kind: &str, plural: &str, value: Value) {
    let of_kind = GroupVersionKind::gvk("kuma.io", "v1alpha1", kind);
    let resource = ApiResource::from_gvk_with_plural(&of_kind, plural);
    let name = value["metadata"]["name"].as_str().unwrap().to_owned();
    let api: Api<DynamicObject> =
        Api::namespaced_with(space.cluster.client.clone(), space.name(), &resource);
    let patch = async { api.create(&PostParams::default(), &object(value)).await };
    let created = space.cluster.runtime.block_on(patch);
    created.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
}

// === impl Plane ===

impl Plane {
    fn start(space: &Space) -> Plane {
        let services = KubernetesSettings {
            mesh: "default".into(),
            node_labels: BTreeSet::new(),
            topology: evenkeel_topology::Settings::default(),
        };
        let source = ClusterSource {
            client: space.cluster.client.clone(),
            address: None,
            watches: evenkeel_k8s::watch::WatchSettings::default(),
            services: Some(services),
        };
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let settings = Settings {
            source: SourceSettings::Cluster(Box::new(source)),
            ..Settings::intake(anywhere)
        };
        let (ready, is_ready) = oneshot::channel();
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let runtime = &space.cluster.runtime;
        runtime.spawn(async move {
            let ready = |it| ready.send(it).unwrap();
            evenkeel_xds_server::run(settings, ready, stopped).await.unwrap();
        });
        let is_ready = runtime.block_on(async { timeout(PATIENCE, is_ready).await });
        Plane { listen: is_ready.unwrap().unwrap().listen, _stop: stop.drop_guard() }
    }

    /// The address at which it is reached from a place without a way to it.
    fn from(&self, place: &Place) -> SocketAddr {
        let listener = place.run(|| TcpListener::bind("127.0.0.1:0").unwrap());
        let (address, to) = (listener.local_addr().unwrap(), self.listen);
        // It ends with the process, as its listener has no end of its own.
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let Ok(there) = TcpStream::connect(to) else { continue };
                let pairs = connection.try_clone().and_then(|c| Ok((c, there.try_clone()?)));
                let Ok((back, from)) = pairs else { continue };
                thread::spawn(move || relay(connection, there));
                thread::spawn(move || relay(from, back));
            }
        });
        address
    }
}

fn relay(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    let mut copy = || -> io::Result<()> {
        loop {
            match from.read(&mut buffer)? {
                0 => return Ok(()),
                n => to.write_all(&buffer[..n])?,
            }
        }
    };
    let _ = copy();
    let _ = to.shutdown(Shutdown::Write);
}

// === impl Client ===

impl<'a> Client<'a> {
    /// A Dataplane at the address of the client Pod, which says nothing about its place.
    fn start(space: &'a Space, plane: &Plane, name: &str, service: &str) -> Client<'a> {
        let pod = space.cluster.pod(&format!("client-{name}"));
        let metadata = json!({"name": name, "labels": {"kuma.io/mesh": "default"}});
        let tags = json!({"kuma.io/service": name});
        let outbound = json!([{"port": OUTBOUND, "tags": {"kuma.io/service": service}}]);
        put(
            space,
            "Dataplane",
            "dataplanes",
            json!({
                "apiVersion": "kuma.io/v1alpha1", "kind": "Dataplane", "metadata": metadata,
                "mesh": "default",
                "spec": {"networking": {
                    "address": pod.v4, "gateway": {"tags": tags}, "outbound": outbound,
                }},
            }),
        );
        let place = space.client(name);
        let bootstrap = render(&Bootstrap {
            mesh: "default".into(),
            dataplane: format!("{name}.{}", space.name()).as_str().into(),
            service: None,
            zone: None,
            tags: BTreeMap::new(),
            variant: if name == "b1" { Variant::StateOfTheWorld } else { Variant::Incremental },
            control_plane: ControlPlane::Address(plane.from(place)),
            admin: None,
            keepalive: Keepalive::default(),
            back_off: BackOff::default(),
        });
        let envoy = place.run(|| Envoy::start(&bootstrap));
        place.run(|| envoy.listener(&format!("outbound:127.0.0.1:{OUTBOUND}")));
        Client { place, _envoy: envoy }
    }

    fn through_envoy(&self, n: usize) -> Tally {
        self.place.http_many(SocketAddr::from(([127, 0, 0, 1], OUTBOUND)), n)
    }

    /// Waits until both use these Pods, and compares how they split traffic among them.
    #[track_caller]
    fn splits_alike(&self, space: &Space, web: &Target, pods: &[&str]) {
        space.reaches(self.place, web.http(), pods);
        let through = SocketAddr::from(([127, 0, 0, 1], OUTBOUND));
        space.reaches(self.place, through, pods);
        let (kernel, envoy) =
            (self.place.http_many(web.http(), REQUESTS), self.through_envoy(REQUESTS));
        assert!(kernel.failures.is_empty(), "{:?}", kernel.failures);
        assert!(envoy.failures.is_empty(), "{:?}", envoy.failures);
        let (by_kernel, by_envoy) = (kernel.by_pod(), envoy.by_pod());
        for pod in pods {
            let percent = |of: &BTreeMap<&str, usize>| {
                of.get(pod).copied().unwrap_or_default() as f64 * 100.0 / REQUESTS as f64
            };
            let (kernel, envoy) = (percent(&by_kernel), percent(&by_envoy));
            let differs = format!("{pod}: {kernel:.1} % by the node, {envoy:.1} % by Envoy");
            assert!((kernel - envoy).abs() <= POINTS, "{differs}; {by_kernel:?} {by_envoy:?}");
        }
    }
}

/// The Pods in which clients run, which say where their Dataplanes are.
fn client_pods(space: &Space, names: &[&str]) {
    for name in names {
        let pod = space.cluster.pod(&format!("client-{name}"));
        let name = format!("client-{name}");
        let _: Pod = space.create(json!({
            "metadata": {"name": name},
            "spec": {"nodeName": pod.node, "containers": [{"name": "c", "image": "i"}]},
        }));
        let status = json!({"phase": "Running", "podIP": pod.v4, "podIPs": [{"ip": pod.v4}]});
        let patch = Patch::Merge(json!({"status": status}));
        let api = space.api::<Pod>();
        let patched = async { api.patch_status(&name, &PatchParams::default(), &patch).await };
        space.cluster.runtime.block_on(patched).unwrap();
    }
}

#[test]
fn envoy_splits_the_traffic_of_a_service_as_the_proxy_of_its_node_does() {
    let space = Space::new("envoy");
    define(&space);
    space.pods(&["a1", "a2", "b1", "c1"]);
    client_pods(&space, &["a1", "b1", "c1"]);
    let policy = |policy: Value| json!({"evenkeel.dev/traffic-distribution": policy});
    let web = space.annotated("web", policy(json!("Balanced")), json!({}));
    let plane = Plane::start(&space);
    let service = PlainService::mesh_name("web", "envoy", 80.try_into().unwrap());
    let [a1, b1, c1] = ["a1", "b1", "c1"].map(|name| Client::start(&space, &plane, name, &service));

    // Zone a has half of the endpoints and a third of the CPU: the other zones send it a part.
    let table = crate::balanced::table(&space, 4);
    let used = |zone: &str| {
        let named = |pod: &&str| table[zone].contains_key(&format!("zone-{}", &pod[..1]));
        let pods: Vec<&str> = ["a1", "a2", "b1", "c1"].into_iter().filter(named).collect();
        pods
    };
    for (client, zone) in [(&a1, "zone-a"), (&b1, "zone-b"), (&c1, "zone-c")] {
        client.splits_alike(&space, &web, &used(zone));
    }
    assert_ne!(
        used("zone-b"),
        ["b1"],
        "a zone with shares of its own only proves nothing: {table:?}"
    );

    let annotated = |policy: Value| json!({"metadata": {"annotations": policy}});
    space.patch("web", annotated(policy(json!("RequireSameZone"))));
    a1.splits_alike(&space, &web, &["a1", "a2"]);
    b1.splits_alike(&space, &web, &["b1"]);

    space.patch("web", annotated(policy(Value::Null)));
    space.patch("web", json!({"spec": {"trafficDistribution": "PreferSameNode"}}));
    a1.splits_alike(&space, &web, &["a1"]);
    c1.splits_alike(&space, &web, &["c1"]);
    // No traffic is lost when the near endpoint is gone.
    space.remove(&["c1"]);
    c1.splits_alike(&space, &web, &["a1", "a2", "b1"]);

    space.patch("web", json!({"spec": {"trafficDistribution": "PreferSameZone"}}));
    b1.splits_alike(&space, &web, &["b1"]);
    space.patch("web", json!({"spec": {"internalTrafficPolicy": "Local"}}));
    a1.splits_alike(&space, &web, &["a1"]);

    // A policy of the mesh beats the Service's own topology: everything to zone b, whatever is near.
    let only = json!({"crossZone": {"failover": [{"to": {"type": "Only", "zones": ["zone-b"]}}]}});
    let strategy = json!({
        "apiVersion": "kuma.io/v1alpha1", "kind": "MeshLoadBalancingStrategy",
        "metadata": {"name": "near", "labels": {"kuma.io/mesh": "default"}},
        "spec": {"targetRef": {"kind": "Mesh"}, "to": [{
            "targetRef": {"kind": "MeshService", "name": "web", "namespace": "envoy"},
            "default": {"localityAwareness": only},
        }]},
    });
    put(&space, "MeshLoadBalancingStrategy", "meshloadbalancingstrategies", strategy);
    let through = SocketAddr::from(([127, 0, 0, 1], OUTBOUND));
    space.reaches(c1.place, through, &["b1"]);
    space.reaches(a1.place, through, &["a1", "a2"]);
}
