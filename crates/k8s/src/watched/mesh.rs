//! Objects of `kuma.io` of a watch: one type for all kinds, with the spec as it was written.
//!
//! What a spec says is read by those who act on it, also from files. Here it is only kept from doing
//! harm to the objects beside it.

mod kind;
mod spec;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use evenkeel_model::{Gone, Version};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::DynamicResourceScope;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use self::spec::{DEEPEST, Spec};
use super::{
    lenient::{self, Text},
    metadata::Metadata,
};
use crate::FieldError;

pub use self::kind::MeshKind;

/// An object of one of the kinds of [`MeshKind`]. Which one is known from where it came from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MeshObject {
    #[serde(deserialize_with = "lenient::or_default")]
    metadata: Metadata<MeshAnnotations>,
    /// Dataplanes name their mesh beside their spec.
    #[serde(deserialize_with = "lenient::or_default")]
    mesh: Text,
    spec: Spec,
}

/// Those that are about the mesh. Others may be long, and nobody reads them.
#[derive(Clone, Debug, Default)]
struct MeshAnnotations(BTreeMap<String, String>);

// === impl MeshObject ===

impl MeshObject {
    /// Empty for Meshes.
    pub fn namespace(&self) -> &str {
        self.metadata.object.namespace.as_deref().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.metadata.object.name.as_deref().unwrap_or_default()
    }

    /// The field `mesh` beside the spec. Most kinds have the label `kuma.io/mesh` instead.
    pub fn mesh(&self) -> Option<&Arc<str>> {
        Some(&self.mesh.0).filter(|name| !name.is_empty())
    }

    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.metadata.labels
    }

    /// Only those of `kuma.io` and its subdomains.
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.metadata.annotations.0
    }

    pub fn version(&self) -> Version {
        self.metadata.version()
    }

    /// In seconds since 1970.
    pub fn created(&self) -> Option<i64> {
        self.metadata.created
    }

    /// Requested to be deleted, and only waiting for its finalizers.
    pub fn is_deleting(&self) -> bool {
        self.metadata.deleting
    }

    /// `Null` if there is none.
    pub fn spec(&self) -> Result<&Value, FieldError> {
        let Spec(spec) = &self.spec;
        spec.as_ref().ok_or_else(too_deep)
    }

    /// The same without a copy.
    pub fn into_spec(self) -> Result<Value, FieldError> {
        let Spec(spec) = self.spec;
        spec.ok_or_else(too_deep)
    }

    /// The object, as one that was deleted.
    pub fn gone(&self) -> Gone {
        self.metadata.gone()
    }
}

fn too_deep() -> FieldError {
    FieldError::new("spec", format!("is nested deeper than {DEEPEST} levels"))
}

impl kube::Resource for MeshObject {
    type DynamicType = MeshKind;
    type Scope = DynamicResourceScope;

    fn kind(kind: &MeshKind) -> Cow<'_, str> {
        kind.name().into()
    }

    fn group(_: &MeshKind) -> Cow<'_, str> {
        MeshKind::GROUP.into()
    }

    fn version(_: &MeshKind) -> Cow<'_, str> {
        MeshKind::VERSION.into()
    }

    fn plural(kind: &MeshKind) -> Cow<'_, str> {
        kind.plural().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata.object
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata.object
    }
}

// === impl MeshAnnotations ===

impl<'de> Deserialize<'de> for MeshAnnotations {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Self, D::Error> {
        let mut kept = lenient::texts(given)?;
        kept.retain(|key, _| {
            let domain = key.split_once('/').map_or("", |(domain, _)| domain);
            domain == MeshKind::GROUP || domain.ends_with(".kuma.io")
        });
        Ok(MeshAnnotations(kept))
    }
}
