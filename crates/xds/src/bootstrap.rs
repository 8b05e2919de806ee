//! The bootstrap of an Envoy: who it is and where it asks. The rest comes over xDS.
//!
//! The text is YAML whose values are all quoted as JSON quotes them, which YAML reads alike, so that no
//! name can become something else.

use core::net::SocketAddr;
use std::{collections::BTreeMap, fmt::Write, sync::Arc, time::Duration};

use crate::Variant;

/// The key under which a proxy carries its zone, as an endpoint does.
const ZONE_TAG: &str = "kuma.io/zone";

/// What the bootstrap of one Dataplane says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    pub mesh: Arc<str>,
    pub dataplane: Arc<str>,
    /// The service it belongs to, which Envoy calls its cluster; the Dataplane's name if `None`.
    pub service: Option<Arc<str>>,
    pub zone: Option<Arc<str>>,
    pub tags: BTreeMap<Arc<str>, Arc<str>>,
    pub variant: Variant,
    pub control_plane: ControlPlane,
    /// Where Envoy shows its state. Only ever a loopback address in what we print.
    pub admin: Option<SocketAddr>,
    pub keepalive: Keepalive,
    pub back_off: BackOff,
}

/// Where the control plane listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlPlane {
    Address(SocketAddr),
    /// Resolved by Envoy.
    Host {
        name: Arc<str>,
        port: u16,
    },
}

/// Finds a connection whose other end is gone without saying so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    pub interval: Duration,
    pub timeout: Duration,
}

/// How long Envoy waits before it connects again: a random time, up to one that doubles with each failure in a
/// row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    pub base: Duration,
    pub max: Duration,
}

/// The text of the file.
pub fn render(bootstrap: &Bootstrap) -> String {
    let mut out = String::new();
    node(&mut out, bootstrap);
    if let Some(admin) = bootstrap.admin {
        let _ = writeln!(out, "admin:\n  address: {}", socket_address(admin));
    }
    dynamic_resources(&mut out, bootstrap);
    control_plane(&mut out, bootstrap);
    out
}

/// The name under which the control plane knows a proxy.
pub fn node_id(mesh: &str, dataplane: &str) -> String {
    format!("{mesh}.{dataplane}")
}

// === impl Keepalive ===

impl Default for Keepalive {
    fn default() -> Self {
        Self { interval: Duration::from_secs(10), timeout: Duration::from_secs(5) }
    }
}

// === impl BackOff ===

impl Default for BackOff {
    /// Envoy's own maximum is 30 s. With this one, proxies are back within seconds, and thousands of them do not
    /// come at once.
    fn default() -> Self {
        Self { base: Duration::from_millis(500), max: Duration::from_secs(5) }
    }
}

fn node(out: &mut String, bootstrap: &Bootstrap) {
    let Bootstrap { mesh, dataplane, service, zone, tags, .. } = bootstrap;
    let cluster = service.as_ref().unwrap_or(dataplane);
    let _ = writeln!(out, "node:");
    let _ = writeln!(out, "  id: {}", quote(&node_id(mesh, dataplane)));
    let _ = writeln!(out, "  cluster: {}", quote(cluster));
    if let Some(zone) = zone {
        let _ = writeln!(out, "  locality:\n    zone: {}", quote(zone));
    }
    // The control plane takes these first: in the id, the mesh ends at the first dot.
    let _ = writeln!(out, "  metadata:");
    let _ = writeln!(out, "    mesh: {}\n    dataplane: {}", quote(mesh), quote(dataplane));
    if let Some(zone) = zone {
        let _ = writeln!(out, "    {}: {}", quote(ZONE_TAG), quote(zone));
    }
    if !tags.is_empty() {
        let _ = writeln!(out, "    tags:");
    }
    for (key, value) in tags {
        let _ = writeln!(out, "      {}: {}", quote(key), quote(value));
    }
}

fn dynamic_resources(out: &mut String, bootstrap: &Bootstrap) {
    let api_type = match bootstrap.variant {
        Variant::StateOfTheWorld => "GRPC",
        Variant::Incremental => "DELTA_GRPC",
    };
    let BackOff { base, max } = bootstrap.back_off;
    let (base, max) = (seconds(base), seconds(max.max(base)));
    let _ = write!(
        out,
        "\
dynamic_resources:
  ads_config:
    api_type: {api_type}
    transport_api_version: V3
    set_node_on_first_message_only: true
    grpc_services:
    - envoy_grpc:
        cluster_name: xds_cluster
        retry_policy:
          retry_back_off:
            base_interval: {base}
            max_interval: {max}
  cds_config:
    ads: {{}}
    resource_api_version: V3
  lds_config:
    ads: {{}}
    resource_api_version: V3
"
    );
}

fn control_plane(out: &mut String, bootstrap: &Bootstrap) {
    let (discovery, address) = match &bootstrap.control_plane {
        ControlPlane::Address(socket) => ("STATIC", socket_address(*socket)),
        ControlPlane::Host { name, port } => ("STRICT_DNS", host_address(name, *port)),
    };
    let Keepalive { interval, timeout } = bootstrap.keepalive;
    let _ = write!(
        out,
        "\
static_resources:
  clusters:
  - name: xds_cluster
    type: {discovery}
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config:
          http2_protocol_options:
            connection_keepalive:
              interval: {}
              timeout: {}
    load_assignment:
      cluster_name: xds_cluster
      endpoints:
      - lb_endpoints:
        - endpoint:
            address: {address}
",
        seconds(interval),
        seconds(timeout),
    );
}

fn socket_address(socket: SocketAddr) -> String {
    host_address(&socket.ip().to_string(), socket.port())
}

fn host_address(host: &str, port: u16) -> String {
    format!("{{socket_address: {{address: {}, port_value: {port}}}}}", quote(host))
}

/// Envoy refuses times below a millisecond.
fn seconds(duration: Duration) -> String {
    let millis = duration.as_millis().clamp(1, 86_400_000);
    format!("{}.{:03}s", millis / 1000, millis % 1000)
}

/// A string of JSON.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // YAML knows more line breaks and control characters than JSON.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
