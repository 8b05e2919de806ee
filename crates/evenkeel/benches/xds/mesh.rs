//! A mesh of any size, as files.
//!
//! Each instance is a Dataplane in one of three zones and on one of twenty nodes there. Those that connect are
//! clients of a few services too: of the one that changes, and of others that differ from service to service,
//! so that hardly two proxies are sent the same.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use crate::load::Failure;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Mesh {
    pub(crate) services: usize,
    /// Instances of each service.
    pub(crate) instances: usize,
    /// Of the instances, those that connect.
    pub(crate) proxies: usize,
    /// Services that each of them calls.
    pub(crate) calls: usize,
    /// All call the same services.
    pub(crate) alike: bool,
}

/// Two instances of a thousand services, each a proxy.
pub(crate) const TWO_THOUSAND: Mesh =
    Mesh { services: 1_000, instances: 2, proxies: 2_000, calls: 10, alike: false };

/// 100,000 endpoints; one instance of ten connects, and calls as many services as in the record's experiment.
pub(crate) const TEN_THOUSAND: Mesh =
    Mesh { services: 10_000, instances: 10, proxies: 10_000, calls: 3, alike: false };

/// The record's experiment: "1000 services with 2 instances each … 3 services defined".
pub(crate) const RECORD: Mesh =
    Mesh { services: 1_000, instances: 2, proxies: 2_000, calls: 3, alike: false };

/// The service that changes.
pub(crate) const CHANGED: &str = "service-0";

const ZONES: usize = 3;
const NODES: usize = 20;
/// Documents in a file.
const DOCUMENTS: usize = 500;
/// The file that changes holds one instance of that service, which does not connect.
const CHANGING_FILE: &str = "changing.yaml";

const POLICY: &str = "\
type: MeshLoadBalancingStrategy
mesh: default
name: near
spec:
  targetRef: { kind: Mesh }
  to:
  - targetRef: { kind: Mesh }
    default:
      localityAwareness:
        localZone:
          affinityTags: [{ key: k8s.io/node }]
        crossZone:
          failover: [{ to: { type: Any } }]
";

// === impl Mesh ===

impl Mesh {
    pub(crate) fn name(n: usize) -> String {
        format!("proxy-{n}")
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), Failure> {
        fs::write(folder.join("policy.yaml"), POLICY)?;
        let all = self.services * self.instances;
        for (file, first) in (0..all).step_by(DOCUMENTS).enumerate() {
            let mut text = String::new();
            for n in first..(first + DOCUMENTS).min(all) {
                self.dataplane(&mut text, n)?;
            }
            fs::write(folder.join(format!("dataplanes-{file:04}.yaml")), text)?;
        }
        change(folder, true)?;
        Ok(())
    }

    /// The first instances of all services connect before the second ones.
    fn dataplane(&self, text: &mut String, n: usize) -> Result<(), Failure> {
        let service = n % self.services;
        let [high, middle, low] = [n >> 16, (n >> 8) & 255, n & 255];
        write!(
            text,
            "---\ntype: Dataplane\nmesh: default\nname: {}\nnetworking:\n  address: 10.{high}.{middle}.{low}\n  \
             inbound:\n  - port: 8080\n    servicePort: 9090\n    tags: {{ kuma.io/service: service-{service}, \
             kuma.io/protocol: http, {} }}\n",
            Self::name(n),
            place(n),
        )?;
        if n < self.proxies {
            text.push_str("  outbound:\n");
            for call in 0..self.calls {
                let called = match call {
                    0 => 0,
                    _ if self.alike => call,
                    _ => 1 + (service * 31 + call * 7) % (self.services - 1),
                };
                writeln!(
                    text,
                    "  - {{ port: {}, tags: {{ kuma.io/service: service-{called} }} }}",
                    20_000 + call
                )?;
            }
        }
        Ok(())
    }
}

/// Zone and node of an instance. Those of one service are in different zones.
fn place(n: usize) -> String {
    let (zone, node) = (n % ZONES, n / ZONES % NODES);
    format!("kuma.io/zone: zone-{zone}, k8s.io/node: node-{zone}-{node}")
}

/// Writes the instance that becomes ready, or is no longer.
pub(crate) fn change(folder: &Path, is_ready: bool) -> io::Result<()> {
    let state = if is_ready { "Ready" } else { "NotReady" };
    let text = format!(
        "type: Dataplane\nmesh: default\nname: changing\nnetworking:\n  address: 10.250.0.1\n  inbound:\n  \
         - port: 8080\n    servicePort: 9090\n    state: {state}\n    tags: {{ kuma.io/service: {CHANGED}, \
         kuma.io/protocol: http, {} }}\n",
        place(0)
    );
    // As one step, so that nobody sees half of it.
    let written: PathBuf = folder.join(".changing");
    fs::write(&written, text)?;
    fs::rename(written, folder.join(CHANGING_FILE))
}
