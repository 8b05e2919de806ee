//! Which Pods are bound to a node, and what they name.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

/// What a node may read because a Pod bound to it names it, or is it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Referenced {
    Pod,
    ConfigMap,
    Secret,
    ServiceAccount,
}

/// What one Pod names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRefs {
    /// The node it is bound to; empty if it is bound to none.
    pub node: String,
    pub namespace: String,
    pub name: String,
    /// A mirror of what the node runs by itself. It gives the node no right to what it names.
    pub is_mirror: bool,
    pub service_account: String,
    pub secrets: BTreeSet<String>,
    pub config_maps: BTreeSet<String>,
}

/// All bound Pods, by node. Names are counted, since several Pods may name the same.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// By node, then by namespace.
    nodes: HashMap<String, HashMap<String, Names>>,
}

/// By kind: how many Pods name it.
#[derive(Clone, Debug, Default)]
struct Names {
    of: [HashMap<String, u32>; 4],
}

// === impl Graph ===

impl Graph {
    /// A Pod came, changed or went.
    pub fn changed(&mut self, before: Option<&PodRefs>, after: Option<&PodRefs>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.remove(before);
        }
        if let Some(after) = after {
            self.add(after);
        }
    }

    /// Whether a Pod bound to the node names it, or is it.
    pub fn has(&self, node: &str, what: Referenced, namespace: &str, name: &str) -> bool {
        let names = self.nodes.get(node).and_then(|namespaces| namespaces.get(namespace));
        names.is_some_and(|names| names.of[what as usize].contains_key(name))
    }

    fn add(&mut self, pod: &PodRefs) {
        if pod.node.is_empty() {
            return;
        }
        let namespaces = self.nodes.entry(pod.node.clone()).or_default();
        let names = namespaces.entry(pod.namespace.clone()).or_default();
        for (what, name) in pod.referenced() {
            *names.of[what as usize].entry(name.to_owned()).or_default() += 1;
        }
    }

    fn remove(&mut self, pod: &PodRefs) {
        let Some(namespaces) = self.nodes.get_mut(&pod.node) else { return };
        let Some(names) = namespaces.get_mut(&pod.namespace) else { return };
        for (what, name) in pod.referenced() {
            let counts = &mut names.of[what as usize];
            if let Some(n) = counts.get_mut(name) {
                *n -= 1;
                if *n == 0 {
                    counts.remove(name);
                }
            }
        }
        if names.of.iter().all(HashMap::is_empty) {
            namespaces.remove(&pod.namespace);
            if namespaces.is_empty() {
                self.nodes.remove(&pod.node);
            }
        }
    }
}

// === impl PodRefs ===

impl PodRefs {
    /// Reads all places where a stored Pod names something.
    pub fn of(pod: &Value) -> PodRefs {
        let text = |path: &str| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let mut refs = PodRefs {
            node: text("/spec/nodeName").to_owned(),
            namespace: text("/metadata/namespace").to_owned(),
            name: text("/metadata/name").to_owned(),
            is_mirror: is_mirror(pod),
            service_account: text("/spec/serviceAccountName").to_owned(),
            ..PodRefs::default()
        };
        let Some(spec) = pod.get("spec") else { return refs };
        for secret in items(spec, "imagePullSecrets") {
            refs.secret(secret.get("name"));
        }
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            items(spec, list).for_each(|container| refs.container(container));
        }
        items(spec, "volumes").for_each(|volume| refs.volume(volume));
        refs
    }

    fn container(&mut self, container: &Value) {
        for source in items(container, "envFrom") {
            self.secret(source.pointer("/secretRef/name"));
            self.config_map(source.pointer("/configMapRef/name"));
        }
        for variable in items(container, "env") {
            self.secret(variable.pointer("/valueFrom/secretKeyRef/name"));
            self.config_map(variable.pointer("/valueFrom/configMapKeyRef/name"));
        }
    }

    fn volume(&mut self, volume: &Value) {
        const SECRETS: [&str; 10] = [
            "/azureFile/secretName",
            "/cephfs/secretRef/name",
            "/cinder/secretRef/name",
            "/flexVolume/secretRef/name",
            "/rbd/secretRef/name",
            "/secret/secretName",
            "/scaleIO/secretRef/name",
            "/iscsi/secretRef/name",
            "/storageos/secretRef/name",
            "/csi/nodePublishSecretRef/name",
        ];
        for path in SECRETS {
            self.secret(volume.pointer(path));
        }
        self.config_map(volume.pointer("/configMap/name"));
        for source in volume.get("projected").into_iter().flat_map(|all| items(all, "sources")) {
            self.secret(source.pointer("/secret/name"));
            self.config_map(source.pointer("/configMap/name"));
        }
    }

    fn secret(&mut self, name: Option<&Value>) {
        self.secrets.extend(name.and_then(Value::as_str).map(str::to_owned));
    }

    fn config_map(&mut self, name: Option<&Value>) {
        self.config_maps.extend(name.and_then(Value::as_str).map(str::to_owned));
    }

    /// What the node may read because of it. Nothing has an empty name.
    fn referenced(&self) -> impl Iterator<Item = (Referenced, &str)> {
        let secrets = self.secrets.iter().map(|name| (Referenced::Secret, name.as_str()));
        let config_maps =
            self.config_maps.iter().map(|name| (Referenced::ConfigMap, name.as_str()));
        let account = [(Referenced::ServiceAccount, self.service_account.as_str())];
        let named = secrets.chain(config_maps).chain(account).filter(|_| !self.is_mirror);
        let itself = [(Referenced::Pod, self.name.as_str())];
        itself.into_iter().chain(named).filter(|(_, name)| !name.is_empty())
    }
}

/// Whether a Pod mirrors what a node runs by itself.
pub(super) fn is_mirror(pod: &Value) -> bool {
    let annotations = pod.pointer("/metadata/annotations");
    annotations.is_some_and(|all| all.get(super::restriction::MIRROR).is_some())
}

fn items<'a>(of: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    of.get(key).and_then(Value::as_array).into_iter().flatten()
}
