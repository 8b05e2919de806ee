//! A folder of resources, and the resources that tests have in common.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use evenkeel_testkit::envoy::Server;
use serde_json::{Map, Value, json};

/// Where resources are.
pub(crate) trait Place {
    /// Adds a resource, or replaces it. It is in the form of files.
    fn put(&self, resource: &Value);

    /// What the mesh calls a Dataplane of that name.
    fn name_of(&self, name: &str) -> String;

    /// With which `evenkeel xds bootstrap` finds its Dataplane.
    fn flags(&self) -> Vec<String>;
}

/// It is removed with its value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mesh").join(test);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// One file, exchanged as a whole.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let written = self.0.join(format!(".{name}"));
        fs::write(&written, text).unwrap();
        fs::rename(written, self.0.join(format!("{name}.yaml"))).unwrap();
    }

    pub(crate) fn put(&self, resource: &Value) {
        let part = |name: &str| resource[name].as_str().unwrap();
        let name = format!("{}-{}-{}", part("type"), part("mesh"), part("name"));
        self.write(&name, &resource.to_string());
    }
}

impl Place for Folder {
    fn put(&self, resource: &Value) {
        Folder::put(self, resource);
    }

    fn name_of(&self, name: &str) -> String {
        name.to_owned()
    }

    fn flags(&self) -> Vec<String> {
        vec!["--resources".to_owned(), self.0.to_str().unwrap().to_owned()]
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An instance of a service behind a server. Servers can be instances of several services.
#[derive(Clone)]
pub(crate) struct Instance {
    pub(crate) mesh: &'static str,
    pub(crate) service: String,
    pub(crate) protocol: &'static str,
    pub(crate) zone: &'static str,
    pub(crate) tags: Vec<(&'static str, &'static str)>,
    pub(crate) server: String,
    pub(crate) address: SocketAddr,
}

impl Instance {
    /// In mesh `default`, with HTTP.
    pub(crate) fn new(service: &str, zone: &'static str, server: &Server) -> Instance {
        Instance {
            mesh: "default",
            service: service.to_owned(),
            protocol: "http",
            zone,
            tags: Vec::new(),
            server: server.name().to_owned(),
            address: server.address(),
        }
    }

    pub(crate) fn with_tags(self, tags: &[(&'static str, &'static str)]) -> Instance {
        Instance { tags: tags.to_vec(), ..self }
    }

    /// Its Dataplane.
    pub(crate) fn dataplane(&self, state: &str) -> Value {
        let mut tags: Map<String, Value> = Map::new();
        let own = [
            ("kuma.io/service", &*self.service),
            ("kuma.io/protocol", self.protocol),
            ("kuma.io/zone", self.zone),
        ];
        for (key, value) in own.into_iter().chain(self.tags.iter().copied()) {
            tags.insert(key.to_owned(), json!(value));
        }
        json!({
            "type": "Dataplane",
            "mesh": self.mesh,
            "name": format!("{}-{}", self.service, self.server),
            "networking": {
                "address": self.address.ip().to_string(),
                "inbound": [{ "port": self.address.port(), "tags": tags, "state": state }],
            },
        })
    }
}

/// A strategy with this locality awareness, for one service of mesh `default`.
pub(crate) fn strategy(service: &str, awareness: &Value) -> Value {
    strategy_with(service, &json!({ "localityAwareness": awareness }))
}

pub(crate) fn strategy_with(service: &str, conf: &Value) -> Value {
    json!({
        "type": "MeshLoadBalancingStrategy",
        "mesh": "default",
        "name": format!("strategy-{service}"),
        "spec": {
            "targetRef": { "kind": "Mesh" },
            "to": [{ "targetRef": { "kind": "MeshService", "name": service }, "default": conf }],
        },
    })
}

/// An address for a listener of an Envoy, of this process alone; its port was free just now.
pub(crate) fn free_address() -> SocketAddr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed) % 16_000 + 1;
    let [_, _, high, low] = n.to_be_bytes();
    let [.., own] = process::id().to_be_bytes();
    // Servers of the testkit have addresses below 64 in the third part.
    let ip = Ipv4Addr::new(127, own.max(1), 128 + high, low.clamp(1, 254));
    TcpListener::bind((ip, 0)).unwrap().local_addr().unwrap()
}
