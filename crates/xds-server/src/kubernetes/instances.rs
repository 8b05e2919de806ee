//! A port of a Service as a destination of a mesh.

use core::net::SocketAddr;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU16,
    sync::Arc,
};

use evenkeel_locality::resource::{NAMESPACE, PROTOCOL_TAG, SERVICE_TAG, ZONE_TAG};
use evenkeel_model::{
    NodeId, Path, Protocol, Selectable, ServiceKey, Topology, TrafficPolicy, ZoneId, label,
    mesh::{Instance, InstanceState, MeshProtocol, PlainService, Selections, Tags},
};
use evenkeel_topology::{
    Settings,
    consumer::{Backend, MergedEndpoint, PortView},
    select::{Everywhere, everywhere},
};
use rustc_hash::FxHashMap;

use super::{nodes::Nodes, origin::Origin, pods::Pods};

/// What a destination is made from.
pub(super) struct Making<'a> {
    pub(super) names: &'a Topology,
    pub(super) nodes: &'a Nodes,
    pub(super) pods: &'a Pods,
    pub(super) zone: Option<&'a Arc<str>>,
}

pub(super) struct Made {
    pub(super) service: PlainService,
    /// Behind its endpoints, sorted.
    pub(super) pods: Vec<ServiceKey>,
    pub(super) tagged: Tagged,
}

/// The tags of endpoints, and what they were made from: equal ones are the same, so that comparing costs nothing.
pub(super) type Tagged = FxHashMap<Backend, (MadeFrom, Tags)>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct MadeFrom {
    service: Arc<str>,
    protocol: MeshProtocol,
    pod: Option<Tags>,
    node: Option<Tags>,
    zone: ZoneId,
}

/// The protocol that a port says it speaks.
pub(super) fn protocol(app_protocol: Option<&str>) -> MeshProtocol {
    match app_protocol.map(str::to_ascii_lowercase).as_deref() {
        Some("http" | "kubernetes.io/ws") => MeshProtocol::Http,
        Some("http2" | "kubernetes.io/h2c") => MeshProtocol::Http2,
        Some("grpc") => MeshProtocol::Grpc,
        _ => MeshProtocol::Tcp,
    }
}

fn protocol_name(protocol: MeshProtocol) -> &'static str {
    match protocol {
        MeshProtocol::Tcp => "tcp",
        MeshProtocol::Http => "http",
        MeshProtocol::Http2 => "http2",
        MeshProtocol::Grpc => "grpc",
    }
}

impl Making<'_> {
    /// `None`: it is nothing that a mesh carries, or it is the same port in another address family.
    pub(super) fn service(
        &self,
        port: PortView<'_, Origin>,
        settings: &Settings,
        known: &Tagged,
    ) -> Option<Made> {
        let (of, given) = (port.service(), port.port());
        let number = NonZeroU16::new(given.port)?;
        let is_carried = given.protocol == Protocol::Tcp && !of.external_name;
        if !is_carried || of.families.first().is_some_and(|first| *first != port.family()) {
            return None;
        }
        let endpoints: Vec<MergedEndpoint<'_, Origin>> = port.endpoints().collect();
        let protocol = protocol(given.app_protocol.as_deref());
        let name = PlainService::mesh_name(&of.key.name, &of.key.namespace, number);
        let mut tagged = Tagged::default();
        let instances = endpoints.iter().map(|endpoint| {
            let from = self.made_from(endpoint, &name, protocol);
            let tags = match known.get(&endpoint.backend) {
                Some((before, tags)) if *before == from => Arc::clone(tags),
                _ => Arc::new(self.tags(&from, &of.key, number)),
            };
            tagged.insert(endpoint.backend, (from, Arc::clone(&tags)));
            instance(endpoint, tags)
        });
        let instances = instances.collect();
        // Traffic of the mesh comes from within the cluster.
        let path = match of.exposure.internal {
            TrafficPolicy::Local => Path::Local,
            TrafficPolicy::Cluster => Path::Cluster,
        };
        let selected = everywhere(path, &endpoints, port.routing(), settings);
        let pods: BTreeSet<ServiceKey> = endpoints.iter().filter_map(pod).collect();
        let service = PlainService {
            namespace: Arc::clone(&of.key.namespace),
            name: Arc::clone(&of.key.name),
            port: number,
            port_name: Some(Arc::clone(&given.name)).filter(|name| !name.is_empty()),
            labels: Arc::new(of.labels.clone()),
            protocol,
            instances,
            selections: self.selections(selected),
        };
        Some(Made { service, pods: pods.into_iter().collect(), tagged })
    }

    fn made_from(
        &self,
        endpoint: &MergedEndpoint<'_, Origin>,
        service: &Arc<str>,
        protocol: MeshProtocol,
    ) -> MadeFrom {
        let pod = pod(endpoint);
        let node = endpoint.candidate.on_node();
        MadeFrom {
            service: Arc::clone(service),
            protocol,
            pod: pod.and_then(|pod| self.pods.labels(&pod)).cloned(),
            node: node.and_then(|node| self.nodes.tags(node)).cloned(),
            zone: endpoint.candidate.zone(),
        }
    }

    fn tags(
        &self,
        from: &MadeFrom,
        service: &ServiceKey,
        port: NonZeroU16,
    ) -> BTreeMap<Arc<str>, Arc<str>> {
        let MadeFrom { service: name, protocol, pod, node, zone } = from;
        let mut tags = BTreeMap::new();
        for (key, value) in [pod, node].into_iter().flatten().flat_map(|labels| labels.iter()) {
            tags.insert(Arc::clone(key), Arc::clone(value));
        }
        if *zone != ZoneId::EMPTY {
            // The slice says what the selection goes by.
            tags.insert(label::ZONE.into(), Arc::clone(self.names.zones.name(*zone)));
        }
        let zone = self.zone.or_else(|| tags.get(label::ZONE)).cloned();
        let more = [
            (SERVICE_TAG, Some(Arc::clone(name))),
            (PROTOCOL_TAG, Some(protocol_name(*protocol).into())),
            (NAMESPACE, Some(Arc::clone(&service.namespace))),
            ("k8s.kuma.io/service-name", Some(Arc::clone(&service.name))),
            ("k8s.kuma.io/service-port", Some(port.to_string().into())),
            (ZONE_TAG, zone),
        ];
        tags.extend(more.into_iter().filter_map(|(key, value)| Some((key.into(), value?))));
        tags
    }

    fn selections(&self, all: Everywhere) -> Selections {
        let zone = |id: ZoneId| Arc::clone(self.names.zones.name(id));
        let Everywhere { ruled_zones, nodes, zones, elsewhere } = all;
        Selections {
            ruled_zones: ruled_zones.into_iter().map(|(id, s)| (zone(id), s)).collect(),
            nodes: nodes.into_iter().map(|(id, s)| (self.hostname(id), s)).collect(),
            zones: zones.into_iter().map(|(id, s)| (zone(id), s)).collect(),
            elsewhere,
        }
    }

    /// What clients on a Node have as a tag.
    fn hostname(&self, node: NodeId) -> Arc<str> {
        let label = self.nodes.tags(node).and_then(|tags| tags.get(label::HOSTNAME));
        Arc::clone(label.unwrap_or_else(|| self.names.nodes.name(node)))
    }
}

fn instance(endpoint: &MergedEndpoint<'_, Origin>, tags: Tags) -> Instance {
    let MergedEndpoint { backend, candidate, detail } = endpoint;
    let serving = candidate.serving_terminating();
    let state = match (candidate.ready(), detail.terminating) {
        (true, _) => InstanceState::Ready,
        (false, true) => InstanceState::Terminating { serving },
        (false, false) => InstanceState::NotReady,
    };
    Instance { address: SocketAddr::new(backend.ip, backend.port), tags, state }
}

fn pod(endpoint: &MergedEndpoint<'_, Origin>) -> Option<ServiceKey> {
    let target = endpoint.detail.target.as_ref().filter(|target| &*target.kind == "Pod")?;
    let (namespace, name) = (Arc::clone(&target.namespace), Arc::clone(&target.name));
    Some(ServiceKey { namespace, name })
}
