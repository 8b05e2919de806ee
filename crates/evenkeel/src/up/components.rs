//! The addresses of the components of `evenkeel up`, for people and for `evenkeel status`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use evenkeel_k8s::live::ClusterSource;
use serde::{Deserialize, Serialize};

use super::DATA;

/// Where Envoy proxies connect.
pub(crate) const XDS: &str = "xds";
/// The admin pages of the mesh control plane.
pub(crate) const MESH: &str = "mesh";

/// In the order in which they were started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Components(Vec<Component>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Component {
    pub name: String,
    /// A URL, or the names of network namespaces; empty for a component without either.
    pub address: String,
    pub description: String,
}

impl Components {
    pub(super) fn push(&mut self, component: Component) {
        self.0.push(component);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Component> {
        self.0.iter()
    }

    pub(crate) fn address(&self, name: &str) -> Option<&str> {
        let component = self.0.iter().find(|component| component.name == name)?;
        (!component.address.is_empty()).then_some(component.address.as_str())
    }

    /// Writes them beside the kubeconfig. Without the file only `evenkeel status` reports less.
    pub(super) fn write(&self, kubeconfig: &Path) {
        let text = serde_json::to_string_pretty(self).expect("strings can be written as JSON");
        if let Err(error) = fs::write(beside(kubeconfig), text + "\n") {
            tracing::warn!(%error, "recording the addresses of components failed");
        }
    }

    /// The components last written beside the kubeconfig.
    pub(crate) fn of(source: &ClusterSource) -> Option<Components> {
        serde_json::from_slice(&fs::read(beside(source.files.first()?)).ok()?).ok()
    }

    /// Those of the cluster that commands use without flags.
    pub(crate) fn found() -> Option<Components> {
        Components::of(&ClusterSource::find(None, None, Path::new(DATA)).ok()?)
    }
}

fn beside(kubeconfig: &Path) -> PathBuf {
    kubeconfig.with_file_name("components.json")
}
