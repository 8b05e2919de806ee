//! Dataplane: a proxy, the instances of services behind it, and the services that it calls.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::{num::NonZeroU16, sync::Arc};

use evenkeel_model::mesh::MeshProtocol;
use serde_json::Value;

use super::{
    BackendRef, Labels, PROTOCOL_TAG, SERVICE_TAG,
    scalar::{address, port, required_port, tags},
};
use crate::{Errors, FieldPath, decode::Fields};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataplane {
    pub address: Option<IpAddr>,
    pub inbounds: Vec<Inbound>,
    pub outbounds: Vec<Outbound>,
    /// A client without an inbound, such as a gateway.
    pub gateway: Option<Gateway>,
    /// The only services that it is told of; all its outbounds if there are none.
    pub reachable_services: Vec<Arc<str>>,
}

/// One instance of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbound {
    pub name: Option<Arc<str>>,
    /// Where the proxy accepts connections.
    pub listen: SocketAddr,
    /// Where others connect to.
    pub advertised: SocketAddr,
    /// Where the workload accepts connections.
    pub workload: SocketAddr,
    /// Shared with its endpoint.
    pub tags: Arc<Labels>,
    pub protocol: MeshProtocol,
    pub state: InboundState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InboundState {
    #[default]
    Ready,
    NotReady,
    /// No endpoint of its service at all.
    Ignored,
}

/// A loopback listener for a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outbound {
    pub listen: SocketAddr,
    pub backend: BackendRef,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub tags: Arc<Labels>,
}

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

impl Dataplane {
    /// Without a path, the specification stands beside the header.
    pub(super) fn decode(
        value: &Value,
        path: Option<FieldPath<'_>>,
        errors: &mut Errors,
    ) -> Option<Self> {
        // Ignored: what concerns interception, probes and metrics.
        const KNOWN: [&str; 4] = ["networking", "probes", "metrics", "envoy"];
        const NETWORKING: [&str; 7] = [
            "address",
            "advertisedAddress",
            "inbound",
            "outbound",
            "gateway",
            "transparentProxying",
            "admin",
        ];
        let outer =
            Fields::of(value, path.unwrap_or(FieldPath::root("dataplane")), &KNOWN, errors)?;
        let networking_path = match &path {
            Some(path) => path.field("networking"),
            None => FieldPath::root("networking"),
        };
        let Some(networking) = outer.get("networking") else {
            errors.push(&networking_path, "must be set");
            return None;
        };
        let fields = Fields::of(networking, networking_path, &NETWORKING, errors)?;
        let own = address(&fields, "address", errors);
        let advertised = address(&fields, "advertisedAddress", errors);
        if fields.get("address").is_none() {
            errors.push(&fields.path.field("address"), "must be set");
        }
        let addresses = Addresses { own: own.unwrap_or(LOOPBACK), advertised };
        let dataplane = Dataplane {
            address: own,
            inbounds: fields
                .list("inbound", errors, |value, path, errors| {
                    Inbound::decode(value, path, addresses, errors)
                })
                .unwrap_or_default(),
            outbounds: fields.list("outbound", errors, Outbound::decode).unwrap_or_default(),
            gateway: fields.nested("gateway", errors, Gateway::decode),
            reachable_services: fields
                .nested("transparentProxying", errors, reachable_services)
                .unwrap_or_default(),
        };
        if dataplane.inbounds.is_empty() && dataplane.gateway.is_none() && errors.is_empty() {
            let message = "must be set, or gateway, with the tags of the client";
            errors.push(&fields.path.field("inbound"), message);
        }
        Some(dataplane)
    }
}

/// Addresses of a proxy that its inbounds take over.
#[derive(Clone, Copy)]
struct Addresses {
    own: IpAddr,
    advertised: Option<IpAddr>,
}

impl Inbound {
    fn decode(
        value: &Value,
        path: FieldPath<'_>,
        addresses: Addresses,
        errors: &mut Errors,
    ) -> Option<Self> {
        const KNOWN: [&str; 10] = [
            "port",
            "servicePort",
            "serviceAddress",
            "address",
            "tags",
            "name",
            "health",
            "state",
            "serviceProbe",
            "protocol",
        ];
        let fields = Fields::of(value, path, &KNOWN, errors)?;
        let port_number = required_port(&fields, "port", errors)?;
        let service_port = port(&fields, "servicePort", errors).unwrap_or(port_number);
        let listen_ip = address(&fields, "address", errors).unwrap_or(addresses.own);
        let service_ip = address(&fields, "serviceAddress", errors).unwrap_or(LOOPBACK);
        let listen = SocketAddr::new(listen_ip, port_number.get());
        let workload = SocketAddr::new(service_ip, service_port.get());
        if listen == workload {
            let message = "must differ from port, or the proxy would connect to itself";
            errors.push(&fields.path.field("servicePort"), message);
        }
        let tags = tags(&fields, "tags", errors);
        let tags_path = fields.path.field("tags");
        if !tags.contains_key(SERVICE_TAG) {
            errors.push(&tags_path.field(SERVICE_TAG), "must be set");
        }
        let protocol = protocol(&tags, &tags_path, errors);
        let advertised_ip = addresses.advertised.unwrap_or(listen_ip);
        Some(Inbound {
            name: fields.text("name", errors).filter(|name| !name.is_empty()),
            listen,
            advertised: SocketAddr::new(advertised_ip, port_number.get()),
            workload,
            tags: Arc::new(tags),
            protocol,
            state: InboundState::decode(&fields, errors),
        })
    }

    /// Its service.
    pub fn service(&self) -> Arc<str> {
        self.tags.get(SERVICE_TAG).cloned().unwrap_or_default()
    }

    pub fn port(&self) -> Option<NonZeroU16> {
        NonZeroU16::new(self.listen.port())
    }
}

impl InboundState {
    const ALL: [(&'static str, InboundState); 3] = [
        ("Ready", InboundState::Ready),
        ("NotReady", InboundState::NotReady),
        ("Ignored", InboundState::Ignored),
    ];

    /// `state` counts, and where it is missing the older `health`.
    fn decode(fields: &Fields<'_, '_>, errors: &mut Errors) -> Self {
        let state = fields.one_of("state", &Self::ALL, errors);
        let health = fields.nested("health", errors, |value, path, errors| {
            Fields::of(value, path, &["ready"], errors)?.flag("ready", errors)
        });
        match (state, health) {
            (Some(InboundState::Ready) | None, Some(false)) => InboundState::NotReady,
            (Some(state), _) => state,
            (None, _) => InboundState::Ready,
        }
    }
}

impl Outbound {
    fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        let fields = Fields::of(value, path, &["port", "address", "tags", "backendRef"], errors)?;
        let port = required_port(&fields, "port", errors);
        let ip = address(&fields, "address", errors).unwrap_or(LOOPBACK);
        let reference = fields.nested("backendRef", errors, BackendRef::decode_outbound);
        let tags = tags(&fields, "tags", errors);
        let backend = match (fields.get("backendRef"), tags.get(SERVICE_TAG)) {
            (None, Some(_)) => BackendRef::of_tags(tags),
            (None, None) => {
                let message = "must be set, or backendRef";
                errors.push(&fields.path.field("tags").field(SERVICE_TAG), message);
                None
            }
            (Some(_), Some(_)) => {
                errors.push(&fields.path.field("tags"), "must not be set beside backendRef");
                None
            }
            (Some(_), None) => reference,
        };
        Some(Outbound { listen: SocketAddr::new(ip, port?.get()), backend: backend? })
    }
}

impl Gateway {
    fn decode(value: &Value, path: FieldPath<'_>, errors: &mut Errors) -> Option<Self> {
        const TYPES: [(&str, bool); 2] = [("DELEGATED", false), ("BUILTIN", true)];
        let fields = Fields::of(value, path, &["tags", "type"], errors)?;
        if fields.one_of("type", &TYPES, errors) == Some(true) {
            errors.push(&fields.path.field("type"), "BUILTIN is not supported: use DELEGATED");
        }
        let tags = tags(&fields, "tags", errors);
        if !tags.contains_key(SERVICE_TAG) {
            errors.push(&fields.path.field("tags").field(SERVICE_TAG), "must be set");
        }
        Some(Gateway { tags: Arc::new(tags) })
    }
}

pub(super) const PROTOCOLS: [(&str, MeshProtocol); 6] = [
    ("tcp", MeshProtocol::Tcp),
    ("http", MeshProtocol::Http),
    ("http2", MeshProtocol::Http2),
    ("grpc", MeshProtocol::Grpc),
    // Not understood any further: connections.
    ("kafka", MeshProtocol::Tcp),
    ("tls", MeshProtocol::Tcp),
];

fn protocol(tags: &Labels, path: &FieldPath<'_>, errors: &mut Errors) -> MeshProtocol {
    let Some(tag) = tags.get(PROTOCOL_TAG) else { return MeshProtocol::Tcp };
    let value = Value::String(tag.to_string());
    let path = path.field(PROTOCOL_TAG);
    crate::decode::one_of(&value, &path, &PROTOCOLS, errors).unwrap_or_default()
}

fn reachable_services(
    value: &Value,
    path: FieldPath<'_>,
    errors: &mut Errors,
) -> Option<Vec<Arc<str>>> {
    // What concerns interception is ignored.
    const KNOWN: [&str; 8] = [
        "reachableServices",
        "redirectPortInbound",
        "redirectPortOutbound",
        "redirectPortInboundV6",
        "directAccessServices",
        "ipFamilyMode",
        "reachableBackends",
        "redirectPort",
    ];
    let fields = Fields::of(value, path, &KNOWN, errors)?;
    if fields.get("reachableBackends").is_some() {
        errors.push(
            &fields.path.field("reachableBackends"),
            "is not supported: use reachableServices",
        );
    }
    fields.texts("reachableServices", errors)
}
