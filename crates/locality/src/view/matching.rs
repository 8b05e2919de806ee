//! Which policies are for which client and which destination, and which is more specific.
//!
//! Of two policies the one whose `targetRef` is more specific wins, then the one whose `to` is, then
//! the one whose name comes first in the alphabet; of two items of one policy, the later.

use std::{cmp::Reverse, num::NonZeroU16, sync::Arc};

use evenkeel_model::mesh::{MeshProtocol, PlainService, Tags};

use super::service::Service;
use crate::{
    ProxyType, Strategy, TargetKind, TargetRef,
    resource::{DISPLAY_NAME, Dataplane, Labels, NAMESPACE, SERVICE_TAG},
};

/// A client as `targetRef` sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) name: &'a str,
    /// Without the namespace.
    pub(super) display_name: &'a str,
    pub(super) labels: &'a Labels,
    pub(super) dataplane: &'a Dataplane,
    /// The tags of each inbound or of the gateway, with the zone.
    pub(super) tag_sets: &'a [Arc<Labels>],
}

/// What is known of a destination besides its endpoints; plans depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Whether an object describes it.
    pub(super) exists: bool,
    /// `None` if no instance is known.
    pub(super) protocol: Option<MeshProtocol>,
    pub(super) ports: Vec<PortFacts>,
    /// Of the objects that describe it.
    pub(super) labels: Vec<Labels>,
    /// The port of a Service of Kubernetes that it is.
    pub(super) plain: Option<PlainFacts>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlainFacts {
    pub(super) namespace: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) protocol: MeshProtocol,
    port: PortFacts,
    labels: Tags,
    /// Its own topology decides where no policy does.
    pub(super) topology: Option<Strategy>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortFacts {
    pub(super) port: NonZeroU16,
    pub(super) name: Option<Arc<str>>,
    pub(super) protocol: Option<MeshProtocol>,
}

/// A destination as `to` sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination<'a> {
    pub(super) kind: TargetKind,
    pub(super) name: &'a str,
    pub(super) port: Option<NonZeroU16>,
    pub(super) facts: &'a Facts,
    /// No MeshMultiZoneService has its name, which then means the same as that of a MeshService.
    pub(super) is_multi_zone: bool,
}

/// How specific a reference is, and by how much.
pub(super) type Rank = (u8, usize);

/// The order in which policies are merged, the most specific last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Precedence {
    pub(super) client: Rank,
    pub(super) destination: Rank,
    pub(super) name: Reverse<Arc<str>>,
    pub(super) item: usize,
}

/// Whether a policy is for a client.
pub(super) fn is_for_client(target: &TargetRef, client: &Candidate<'_>) -> bool {
    let proxy_type = match client.dataplane.gateway {
        Some(_) => ProxyType::Gateway,
        None => ProxyType::Sidecar,
    };
    if !target.proxy_types.is_empty() && !target.proxy_types.contains(&proxy_type) {
        return false;
    }
    let any_tags = |also: &dyn Fn(&Labels) -> bool| {
        client.tag_sets.iter().any(|tags| also(tags) && has_all(tags, &target.tags))
    };
    let has_service =
        |tags: &Labels| tags.get(SERVICE_TAG).map(|service| &**service) == target.name.as_deref();
    match target.kind {
        TargetKind::Mesh => true,
        TargetKind::MeshSubset => any_tags(&|_| true),
        TargetKind::MeshService | TargetKind::MeshServiceSubset => any_tags(&has_service),
        TargetKind::Dataplane => is_dataplane(target, client),
        _ => false,
    }
}

fn is_dataplane(target: &TargetRef, client: &Candidate<'_>) -> bool {
    let has_name = target.name.as_deref().is_none_or(|name| match &target.namespace {
        Some(namespace) => client.name == format!("{name}.{namespace}"),
        None => client.name == name || client.display_name == name,
    });
    let has_section = target.section_name.as_deref().is_none_or(|section| {
        client.dataplane.inbounds.iter().any(|inbound| {
            inbound.name.as_deref() == Some(section) || inbound.listen.port().to_string() == section
        })
    });
    has_name && has_section && has_all(client.labels, &target.labels)
}

/// How specific a policy's `targetRef` is.
pub(super) fn client_rank(target: &TargetRef) -> Rank {
    match target.kind {
        TargetKind::Mesh => (0, target.proxy_types.len().min(1)),
        TargetKind::MeshSubset => (1, target.tags.len()),
        TargetKind::MeshService => (2, 0),
        TargetKind::MeshServiceSubset => (3, target.tags.len()),
        _ => match (&target.name, &target.section_name) {
            (None, None) if target.labels.is_empty() => (0, 1),
            (None, None) => (4, target.labels.len()),
            (None, Some(_)) => (5, target.labels.len()),
            (Some(_), None) => (6, target.labels.len()),
            (Some(_), Some(_)) => (7, target.labels.len()),
        },
    }
}

/// Whether an item of `to` is for a destination.
pub(super) fn is_for_destination(target: &TargetRef, to: &Destination<'_>) -> bool {
    let is_service = |kind| to.kind == kind;
    let has_kind = match target.kind {
        TargetKind::Mesh => return true,
        TargetKind::MeshMultiZoneService if is_service(TargetKind::MeshService) => to.is_multi_zone,
        kind => is_service(kind),
    };
    has_kind
        && target.name.as_deref().is_none_or(|name| has_name(name, target, to))
        && (target.labels.is_empty() || has_labels(target, to))
        && target.section_name.as_deref().is_none_or(|section| is_section(section, to))
}

/// How specific an item of `to` is.
pub(super) fn destination_rank(target: &TargetRef) -> Rank {
    let section = usize::from(target.section_name.is_some());
    match target.kind {
        TargetKind::Mesh => (0, 0),
        TargetKind::MeshHttpRoute | TargetKind::MeshTcpRoute => (3, 0),
        _ if target.name.is_none() => (1, target.labels.len() * 2 + section),
        _ => (2, target.labels.len() * 2 + section),
    }
}

/// With a namespace it is the name of a Service of Kubernetes.
fn has_name(name: &str, target: &TargetRef, to: &Destination<'_>) -> bool {
    name == to.name
        || to.facts.plain.as_ref().is_some_and(|plain| {
            *plain.name == *name && Some(&plain.namespace) == target.namespace.as_ref()
        })
}

fn has_labels(target: &TargetRef, to: &Destination<'_>) -> bool {
    let is_display_name = |key: &str, value: &str| key == DISPLAY_NAME && value == to.name;
    let mut plain = target.labels.iter().filter(|(key, value)| !is_display_name(key, value));
    let by_objects = to.facts.labels.iter().any(|labels| {
        let mut wanted = target.labels.iter();
        wanted.all(|(key, value)| {
            is_display_name(key, value) || labels.get(key).is_some_and(|label| label == value)
        })
    });
    by_objects || plain.next().is_none()
}

fn is_section(section: &str, to: &Destination<'_>) -> bool {
    let of_plain = to.facts.plain.as_ref().map(|plain| &plain.port);
    let Some(port) = to.port.or(of_plain.map(|known| known.port)) else { return false };
    let mut ports = to.facts.ports.iter().chain(of_plain).filter(|known| known.port == port);
    port.to_string() == section || ports.any(|known| known.name.as_deref() == Some(section))
}

// === impl PlainFacts ===

impl PlainFacts {
    pub(super) fn of(service: &Service) -> Option<Self> {
        let plain = &service.plain.as_ref()?.service;
        let PlainService { namespace, name, port, port_name, labels, protocol, .. } = plain;
        let of =
            |plain: &PlainService| Strategy::Topology { by_node: plain.selections.is_by_node() };
        Some(PlainFacts {
            namespace: namespace.clone(),
            name: name.clone(),
            protocol: *protocol,
            port: PortFacts { port: *port, name: port_name.clone(), protocol: Some(*protocol) },
            labels: labels.clone(),
            topology: service.topology().map(of),
        })
    }

    /// As those of a MeshService that Kuma would make of it.
    pub(super) fn labels(&self) -> Labels {
        let mut labels = Labels::clone(&self.labels);
        labels.insert(DISPLAY_NAME.into(), self.name.clone());
        labels.insert(NAMESPACE.into(), self.namespace.clone());
        labels
    }
}

/// Whether all wanted tags are there; `*` means any value.
pub(super) fn has_all(tags: &Labels, wanted: &Labels) -> bool {
    wanted
        .iter()
        .all(|(key, value)| tags.get(key).is_some_and(|tag| tag == value || &**value == "*"))
}
