//! A namespace of the API for one test: its Services, and Pods of the cluster as their endpoints.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use evenkeel_testkit::netns::{Client, Failure, Namespace as Place, Protocol, Tally};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        core::v1::{Namespace, Pod, Service},
        discovery::v1::EndpointSlice,
    },
};
use kube::{
    Api, Resource,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::cluster::{Cluster, HTTP, UDP, cluster, until};

pub(crate) struct Space {
    pub(crate) cluster: Arc<Cluster>,
    name: String,
}

/// Pods by name.
pub(crate) type Names<'a> = &'a [&'a str];

// === impl Space ===

impl Space {
    /// In the shared cluster. Names of tests are unique.
    pub(crate) fn new(name: &str) -> Space {
        let cluster = cluster();
        let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
        let object = object(json!({"metadata": {"name": name}}));
        cluster.runtime.block_on(namespaces.create(&PostParams::default(), &object)).unwrap();
        Space { cluster, name: name.to_owned() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.cluster.client.clone(), &self.name)
    }

    pub(crate) fn create<K>(&self, value: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + DeserializeOwned + Serialize + std::fmt::Debug,
    {
        let (params, api) = (PostParams::default(), self.api::<K>());
        self.cluster.runtime.block_on(api.create(&params, &object(value))).unwrap()
    }

    /// Makes Pods of the cluster ready endpoints of the Services here.
    pub(crate) fn pods(&self, names: Names<'_>) {
        names.iter().for_each(|name| self.pod(name, true));
    }

    pub(crate) fn pod(&self, name: &str, is_ready: bool) {
        let real = self.cluster.pod(name);
        let _: Pod = self.create(json!({
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeName": real.node, "containers": [{"name": "c", "image": "i"}]},
        }));
        self.patch_pod(name, json!({
            "phase": "Running", "podIP": real.v4, "podIPs": [{"ip": real.v4}, {"ip": real.v6}],
            "conditions": [{"type": "Ready", "status": if is_ready { "True" } else { "False" }}],
        }));
    }

    fn patch_pod(&self, name: &str, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        let api = self.api::<Pod>();
        self.cluster
            .runtime
            .block_on(api.patch_status(name, &PatchParams::default(), &patch))
            .unwrap();
    }

    /// Removes Pods at once.
    pub(crate) fn remove(&self, names: Names<'_>) {
        self.delete_pods(names, DeleteParams::default().grace_period(0));
    }

    /// Pods go on to serve, and end sometime.
    pub(crate) fn terminate(&self, names: Names<'_>) {
        self.delete_pods(names, DeleteParams::default().grace_period(600));
    }

    fn delete_pods(&self, names: Names<'_>, params: DeleteParams) {
        for name in names {
            let api = self.api::<Pod>();
            self.cluster.runtime.block_on(api.delete(name, &params)).unwrap();
        }
    }

    /// A Service `name` for the Pods, on port 80 and UDP port 53, with `more` in its spec.
    pub(crate) fn service(&self, name: &str, more: Value) -> Target {
        self.annotated(name, json!({}), more)
    }

    pub(crate) fn annotated(&self, name: &str, annotations: Value, more: Value) -> Target {
        let metadata = json!({"name": name, "annotations": annotations});
        self.service_of(metadata, more)
    }

    /// Ports are as in [`Space::service`] unless `more` has some.
    pub(crate) fn service_of(&self, metadata: Value, more: Value) -> Target {
        let spec = json!({
            "selector": {"app": "web"},
            "ports": [
                {"name": "http", "port": 80, "targetPort": HTTP},
                {"name": "dns", "port": 53, "targetPort": UDP, "protocol": "UDP"},
            ],
        });
        Target(self.create(json!({"metadata": metadata, "spec": with(spec, more)})))
    }

    pub(crate) fn patch(&self, service: &str, patch: Value) -> Target {
        let (api, patch) = (self.api::<Service>(), Patch::Merge(patch));
        Target(
            self.cluster
                .runtime
                .block_on(api.patch(service, &PatchParams::default(), &patch))
                .unwrap(),
        )
    }

    pub(crate) fn patch_status(&self, service: &str, status: Value) -> Target {
        let (api, patch) = (self.api::<Service>(), Patch::Merge(json!({"status": status})));
        Target(
            self.cluster
                .runtime
                .block_on(api.patch_status(service, &PatchParams::default(), &patch))
                .unwrap(),
        )
    }

    pub(crate) fn get(&self, service: &str) -> Service {
        self.cluster.runtime.block_on(self.api::<Service>().get(service)).unwrap()
    }

    pub(crate) fn delete(&self, service: &str) {
        let (api, params) = (self.api::<Service>(), DeleteParams::default());
        let _ = self.cluster.runtime.block_on(api.delete(service, &params)).unwrap();
    }

    pub(crate) fn slices(&self, service: &str) -> Vec<EndpointSlice> {
        let params = ListParams::default().labels(&format!("kubernetes.io/service-name={service}"));
        let api = self.api::<EndpointSlice>();
        self.cluster.runtime.block_on(api.list(&params)).unwrap().items
    }

    /// A slice as a controller of another version may write it. `hints` are by Pod.
    pub(crate) fn slice(&self, service: &str, pods: Names<'_>, hints: impl Fn(&str) -> Value) {
        let endpoint = |name: &&str| {
            let pod = self.cluster.pod(name);
            json!({
                "addresses": [pod.v4], "nodeName": pod.node, "zone": pod.zone,
                "conditions": {"ready": true}, "hints": hints(name),
            })
        };
        let _: EndpointSlice = self.create(json!({
            "metadata": {
                "name": format!("{service}-by-hand"),
                "labels": {
                    "kubernetes.io/service-name": service,
                    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                },
            },
            "addressType": "IPv4",
            "endpoints": pods.iter().map(endpoint).collect::<Vec<_>>(),
            "ports": [
                {"name": "http", "port": HTTP, "protocol": "TCP"},
                {"name": "dns", "port": UDP, "protocol": "UDP"},
            ],
        }));
    }

    pub(crate) fn annotate_slice(&self, service: &str, annotations: Value) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        let (api, name) = (self.api::<EndpointSlice>(), format!("{service}-by-hand"));
        let patched = async { api.patch(&name, &PatchParams::default(), &patch).await };
        self.cluster.runtime.block_on(patched).unwrap();
    }

    /// A client Pod of a node: `a1` for that of node-a1.
    pub(crate) fn client(&self, name: &str) -> &Place {
        self.cluster.pod(&format!("client-{name}"))
    }

    pub(crate) fn outside(&self) -> &Place {
        self.cluster.network.outside()
    }

    /// Waits until requests reach all of these Pods and no other; then 100 more, none of which may be
    /// lost or go elsewhere.
    #[track_caller]
    pub(crate) fn reaches(&self, from: &Place, to: SocketAddr, pods: Names<'_>) -> Tally {
        self.reaches_by(&from.client(), Protocol::Http, to, pods)
    }

    #[track_caller]
    pub(crate) fn reaches_by(
        &self,
        from: &Client,
        by: Protocol,
        to: SocketAddr,
        pods: Names<'_>,
    ) -> Tally {
        let expected: BTreeSet<&str> = pods.iter().copied().collect();
        let quick = from.clone().timeout(std::time::Duration::from_millis(500));
        until(&format!("{to} leads to {expected:?}"), || {
            let tally = quick.many(by, to, 40);
            is_exactly(&tally, &expected)
        });
        let tally = from.many(by, to, 100);
        is_exactly(&tally, &expected).unwrap_or_else(|problem| panic!("{to}: {problem}"));
        tally
    }

    /// Makes the kernel of a node forget all UDP connections to an address.
    pub(crate) fn forget(&self, node: &str, to: SocketAddr) {
        let mut conntrack = self.cluster.network.host(node).command("conntrack");
        let destination = to.ip().to_string();
        // It fails when there are none.
        conntrack.args(["-D", "-p", "udp", "-d", &destination]).output().unwrap();
    }

    /// Waits until this is why there is no answer.
    #[track_caller]
    pub(crate) fn fails(&self, from: &Client, by: Protocol, to: SocketAddr, how: &Failure) {
        let quick = from.clone().timeout(std::time::Duration::from_millis(300));
        until(&format!("{to}: {how}"), || match quick.request(by, to) {
            Err(failure) if failure == *how => Ok(()),
            other => Err(format!("{other:?}")),
        });
    }
}

fn is_exactly(tally: &Tally, expected: &BTreeSet<&str>) -> Result<(), String> {
    let reached: BTreeSet<&str> = tally.by_pod().into_keys().collect();
    match tally.failures.is_empty() && reached == *expected {
        true => Ok(()),
        false => Err(format!("{reached:?}, {:?}", tally.failures)),
    }
}

/// Frontends of a Service.
pub(crate) struct Target(pub(crate) Service);

impl Target {
    /// Its cluster IP, port 80.
    pub(crate) fn http(&self) -> SocketAddr {
        self.at(80)
    }

    /// Its cluster IP, port 53.
    pub(crate) fn udp(&self) -> SocketAddr {
        self.at(53)
    }

    pub(crate) fn at(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.ips()[0], port)
    }

    /// Its IPv6 cluster IP.
    pub(crate) fn at_v6(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.ips().into_iter().find(IpAddr::is_ipv6).unwrap(), port)
    }

    /// The node port of the port with this number.
    pub(crate) fn node_port(&self, port: i32) -> u16 {
        let ports = self.0.spec.as_ref().unwrap().ports.as_ref().unwrap();
        let port = ports.iter().find(|it| it.port == port).unwrap();
        u16::try_from(port.node_port.unwrap()).unwrap()
    }

    fn ips(&self) -> Vec<IpAddr> {
        let ips = self.0.spec.as_ref().unwrap().cluster_ips.clone().unwrap();
        ips.iter().map(|ip| ip.parse().unwrap()).collect()
    }
}

pub(crate) fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The first object, with the members of the second.
pub(crate) fn with(mut object: Value, more: Value) -> Value {
    if let Value::Object(more) = more {
        more.into_iter().for_each(|(key, value)| object[key] = value);
    }
    object
}
