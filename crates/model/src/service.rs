//! Services, as far as endpoints and traffic policies need them.

use std::{collections::BTreeMap, fmt, num::NonZeroU16, sync::Arc};

use serde::Serialize;

use crate::{AddressType, Frontends};

/// Labels and annotations that carry meaning here.
pub mod label {
    /// The zone of a Node.
    pub const ZONE: &str = "topology.kubernetes.io/zone";
    /// On Nodes: the name of the host, which is nearly always that of the Node.
    pub const HOSTNAME: &str = "kubernetes.io/hostname";
    /// The region of a Node. Zones lie inside regions.
    pub const REGION: &str = "topology.kubernetes.io/region";
    /// Marks a Node of the control plane, which does not count for zone capacity.
    pub const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
    /// The older name of [`CONTROL_PLANE`].
    pub const MASTER: &str = "node-role.kubernetes.io/master";
    /// On an EndpointSlice: the Service that it belongs to.
    pub const SERVICE_NAME: &str = "kubernetes.io/service-name";
    /// On an EndpointSlice: the controller that writes it.
    pub const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
    /// On an EndpointSlice: its Service has no cluster IP. On a Service: proxies ignore it.
    pub const HEADLESS: &str = "service.kubernetes.io/headless";
    /// On a Service: the proxy that serves it, in place of the usual one of each node.
    pub const SERVICE_PROXY_NAME: &str = "service.kubernetes.io/service-proxy-name";
    /// On a Service: `Auto` requests hints by the CPU of zones.
    pub const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
    /// The older name of [`TOPOLOGY_MODE`]; it wins when both are set.
    pub const TOPOLOGY_AWARE_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    /// On a Service: a policy, before `spec.trafficDistribution`. Besides the values of that field:
    /// `Balanced`, `PreferSameRegion`, `PreferSameZoneThenRegion` and `RequireSameZone`, which API
    /// servers reject there.
    pub const TRAFFIC_DISTRIBUTION: &str = "evenkeel.dev/traffic-distribution";
    /// On a Service: the expected overload up to which Auto assigns hints, as in `40%`. Hints in force
    /// are kept up to 10 points more. Under Balanced, by how much an endpoint may exceed its fair
    /// part.
    pub const OVERLOAD_THRESHOLD: &str = "evenkeel.dev/overload-threshold";
    /// On an EndpointSlice: for each client zone, which part of its traffic goes to the endpoints of
    /// which zone, in parts per 1,000. On one slice of each address family and set of ports.
    pub const ZONE_SHARES: &str = "evenkeel.dev/zone-shares";
    /// On a Service without `spec.selector`, which Kubernetes' own controller ignores: the selector
    /// of its Pods, as in `app=web,tier=front`.
    pub const SELECTOR: &str = "evenkeel.dev/selector";
    /// On an empty EndpointSlice: the controller has left the Service to Kubernetes' own.
    pub const WITHDRAWN: &str = "evenkeel.dev/withdrawn";
    /// On a Lease: the component of Evenkeel that writes it; `proxy` for the proxy of a node.
    pub const COMPONENT: &str = "evenkeel.dev/component";
    /// The value of [`COMPONENT`] of the proxy of a node.
    pub const PROXY: &str = "proxy";
    /// On the Lease of a node's proxy: its rules are in force for all Services up to this
    /// resourceVersion, but for those of `evenkeel.dev/not-in-force`.
    pub const SERVICES_IN_FORCE: &str = "evenkeel.dev/services-in-force";
    /// On the Lease of a node's proxy: its rules are in force for all EndpointSlices up to this
    /// resourceVersion.
    pub const SLICES_IN_FORCE: &str = "evenkeel.dev/endpointslices-in-force";
    /// On the Lease of a node's proxy: Services that it does not serve as they are, with the reason,
    /// as in `shop/cart=FrontendContested`, by name.
    pub const NOT_IN_FORCE: &str = "evenkeel.dev/not-in-force";
    /// On the Lease of a node's proxy: how many Services after the last of
    /// `evenkeel.dev/not-in-force` are not listed there.
    pub const NOT_IN_FORCE_LEFT_OUT: &str = "evenkeel.dev/not-in-force-left-out";
    /// On a CustomResourceDefinition of `evenkeel.dev`: the version of Evenkeel that it is from. A
    /// server replaces older definitions and changed ones; without the annotation it leaves a
    /// definition alone.
    pub const DEFINITION_VERSION: &str = "evenkeel.dev/definition-version";
    /// On an EndpointSlice: when the change happened that it was last written for.
    pub const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
    /// Values of [`MANAGED_BY`]: how Kubernetes' own controller signs its slices, and how ours does.
    pub const BUILT_IN: &str = "endpointslice-controller.k8s.io";
    /// Copies of Endpoints objects, which may be left over from before a Service lost its selector.
    pub const MIRRORING: &str = "endpointslicemirroring-controller.k8s.io";
    pub const EVENKEEL: &str = "endpointslice-controller.evenkeel.dev";
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceKey {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

/// `spec.ports[].targetPort`: a number, or the name of a container port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TargetPort {
    Number(u16),
    Name(Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePort {
    pub name: Arc<str>,
    pub port: u16,
    pub target: TargetPort,
    pub protocol: Protocol,
    pub app_protocol: Option<Arc<str>>,
    pub node_port: Option<NonZeroU16>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum TrafficPolicy {
    #[default]
    Cluster,
    Local,
}

/// How traffic reaches a Service, and the traffic policy of each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exposure {
    pub internal: TrafficPolicy,
    /// `None` when it is not exposed: no node port, external or load-balancer address.
    pub external: Option<TrafficPolicy>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    pub key: ServiceKey,
    pub uid: Arc<str>,
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    pub annotations: BTreeMap<Arc<str>, Arc<str>>,
    /// `None`: the Service has no selector (or an empty one), somebody else writes its slices.
    pub selector: Option<BTreeMap<Arc<str>, Arc<str>>>,
    /// The selector is from the annotation [`label::SELECTOR`]: Kubernetes' own controller leaves
    /// the Service alone.
    pub opted_in: bool,
    pub ports: Vec<ServicePort>,
    /// The address families its slices have.
    pub families: Vec<AddressType>,
    /// No cluster IP: `None` or not assigned.
    pub headless: bool,
    /// `spec.clusterIP: None` is set: clients find endpoints by DNS, without a proxy.
    pub cluster_ip_none: bool,
    /// A name outside the cluster: there are no endpoints.
    pub external_name: bool,
    pub publish_not_ready: bool,
    pub traffic_distribution: Option<Arc<str>>,
    pub exposure: Exposure,
    pub frontends: Frontends,
    /// `metadata.deletionTimestamp` is set.
    pub deleting: bool,
}

// === impl ServiceKey ===

impl ServiceKey {
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        ServiceKey { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl Protocol ===

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Tcp => "TCP",
            Protocol::Udp => "UDP",
            Protocol::Sctp => "SCTP",
        })
    }
}

// === impl Exposure ===

impl Exposure {
    /// Some traffic may go to any endpoint of the cluster. Traffic from outside always may: even
    /// under policy Local, Pods that use the outside address are let through to all endpoints.
    pub fn uses_cluster(self) -> bool {
        self.internal == TrafficPolicy::Cluster || self.external.is_some()
    }

    /// Some traffic must stay on its node.
    pub fn uses_local(self) -> bool {
        self.internal == TrafficPolicy::Local || self.external == Some(TrafficPolicy::Local)
    }
}

// === impl Service ===

impl Service {
    /// Whether the selector picks a Pod with these labels. No selector picks no Pod.
    pub fn selects<'a>(&self, mut label: impl FnMut(&str) -> Option<&'a str>) -> bool {
        let Some(selector) = &self.selector else {
            return false;
        };
        selector.iter().all(|(key, value)| label(key) == Some(&**value))
    }

    /// The proxy that serves this Service in place of the usual one of each node.
    pub fn proxy_name(&self) -> Option<&Arc<str>> {
        self.labels.get(label::SERVICE_PROXY_NAME)
    }

    /// A proxy called `name` (`None`: the usual one of each node) serves this Service: it has a
    /// cluster IP and is labelled neither for another proxy nor as headless.
    pub fn is_served_by(&self, name: Option<&str>) -> bool {
        let labelled = self.proxy_name().map(|name| &**name);
        !self.headless
            && !self.external_name
            && !self.labels.contains_key(label::HEADLESS)
            && labelled == name
    }
}
