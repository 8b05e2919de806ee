//! The metadata of watched objects, without who manages which field of them.

use std::collections::BTreeMap;

use evenkeel_model::{Gone, Version};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{
    annotations::Annotations,
    lenient::{self, Number},
};
use crate::convert::{field, metadata::Meta};

/// `A` and `O`: what is read of annotations and of owners, which is nothing for most kinds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(
    from = "Fields<A, O>",
    bound = "A: Default + DeserializeOwned, O: Default + DeserializeOwned"
)]
pub(crate) struct Metadata<A = IgnoredAny, O = IgnoredAny> {
    /// What kube's watcher looks at: name, namespace, uid and resource version.
    pub(super) object: ObjectMeta,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: A,
    pub(crate) owners: O,
    pub(super) generation: i64,
    /// In seconds since 1970.
    pub(super) created: Option<i64>,
    pub(super) deleting: bool,
}

#[derive(Default, Deserialize)]
#[serde(
    default,
    rename_all = "camelCase",
    bound = "A: Default + DeserializeOwned, O: Default + DeserializeOwned"
)]
struct Fields<A, O> {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<Number>,
    #[serde(deserialize_with = "lenient::texts")]
    labels: BTreeMap<String, String>,
    annotations: A,
    owner_references: O,
    #[serde(deserialize_with = "lenient::time")]
    creation_timestamp: Option<i64>,
    #[serde(deserialize_with = "lenient::is_present")]
    deletion_timestamp: bool,
}

/// The owners of an object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Owners(#[serde(deserialize_with = "lenient::list")] Vec<Owner>);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Owner {
    api_version: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    uid: Option<String>,
}

// === impl Metadata ===

impl<A, O> Metadata<A, O> {
    pub(super) fn gone(&self) -> Gone {
        Gone {
            namespace: field::text(self.object.namespace.as_deref()),
            name: field::text(self.object.name.as_deref()),
            uid: field::text(self.object.uid.as_deref()),
        }
    }

    pub(super) fn version(&self) -> Version {
        Version {
            uid: field::text(self.object.uid.as_deref()),
            resource_version: field::text(self.object.resource_version.as_deref()),
            generation: self.generation,
        }
    }

    /// Without annotations.
    pub(super) fn facts(&self) -> Meta<'_> {
        Meta { labels: Some(&self.labels), deleting: self.deleting, ..Meta::from(&self.object) }
    }
}

impl<O> Metadata<Annotations, O> {
    pub(crate) fn annotated_facts(&self) -> Meta<'_> {
        Meta { annotations: Some(&self.annotations.0), ..self.facts() }
    }
}

impl<A, O> From<Fields<A, O>> for Metadata<A, O> {
    fn from(given: Fields<A, O>) -> Self {
        Metadata {
            object: ObjectMeta {
                name: given.name,
                namespace: given.namespace,
                uid: given.uid,
                resource_version: given.resource_version,
                ..ObjectMeta::default()
            },
            labels: given.labels,
            annotations: given.annotations,
            owners: given.owner_references,
            generation: given.generation.unwrap_or_default().0,
            created: given.creation_timestamp,
            deleting: given.deletion_timestamp,
        }
    }
}

impl From<&ObjectMeta> for Metadata<Annotations, Owners> {
    fn from(given: &ObjectMeta) -> Self {
        let created = given.creation_timestamp.as_ref();
        Metadata {
            object: ObjectMeta {
                name: given.name.clone(),
                namespace: given.namespace.clone(),
                uid: given.uid.clone(),
                resource_version: given.resource_version.clone(),
                ..ObjectMeta::default()
            },
            labels: given.labels.clone().unwrap_or_default(),
            annotations: given.annotations.as_ref().map(Annotations::from).unwrap_or_default(),
            owners: Owners(given.owner_references.iter().flatten().map(Owner::from).collect()),
            generation: given.generation.unwrap_or_default(),
            created: created.map(|time| time.0.as_second()),
            deleting: given.deletion_timestamp.is_some(),
        }
    }
}

// === impl Owners ===

impl Owners {
    /// The uid of the first Service among them.
    pub(crate) fn service(&self) -> Option<&str> {
        let is = |text: &Option<String>, wanted| text.as_deref() == Some(wanted);
        let is_service =
            |owner: &&Owner| is(&owner.kind, "Service") && is(&owner.api_version, "v1");
        let service = self.0.iter().find(is_service);
        service.map(|owner| owner.uid.as_deref().unwrap_or_default())
    }

    /// Kind and name of each.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|Owner { kind, name, .. }| {
            (kind.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default())
        })
    }
}

impl From<&OwnerReference> for Owner {
    fn from(given: &OwnerReference) -> Owner {
        Owner {
            api_version: Some(given.api_version.clone()),
            kind: Some(given.kind.clone()),
            name: Some(given.name.clone()),
            uid: Some(given.uid.clone()),
        }
    }
}
