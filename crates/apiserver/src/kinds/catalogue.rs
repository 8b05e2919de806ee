//! Everything served: the built-in kinds, and those that CustomResourceDefinitions define.
//!
//! A catalogue is immutable. A change makes a new one that shares all groups it does not concern,
//! and replaces the old one as a whole: a request uses the catalogue that it found when it began.
//! A lookup hashes twice. A change copies one pointer for each group and each custom resource, but no
//! kind.

use std::sync::Arc;

use arc_swap::ArcSwap;
use evenkeel_store::{Object, ResourceId};
use rustc_hash::FxHashMap;
use tokio_util::sync::CancellationToken;

use super::{KINDS, Kind, KindRef, Text, of_id, of_kind};
use crate::{
    openapi::{Published, Summary},
    request::REVIEWS,
};

/// The catalogue in use.
#[derive(Debug, Default)]
pub(crate) struct CatalogueCell(ArcSwap<Catalogue>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    groups: FxHashMap<Text, Arc<Group>>,
    by_id: FxHashMap<ResourceId, Arc<CustomResource>>,
    /// The OpenAPI documents about all of it.
    pub(crate) openapi: Arc<Summary>,
}

/// The custom resources of one API group.
#[derive(Clone, Debug, Default)]
struct Group {
    by_plural: FxHashMap<Text, Arc<CustomResource>>,
    /// The plural of each kind.
    plurals: FxHashMap<Text, Text>,
}

/// One custom resource in all its served versions.
#[derive(Debug)]
pub(crate) struct CustomResource {
    /// In the order of priority; not empty.
    pub(crate) versions: Vec<KindRef>,
    /// In the form in which objects are stored; perhaps not served.
    pub(crate) storage: KindRef,
    /// The stored definition.
    pub(crate) definition: Arc<Object>,
    /// Of everything that clients can see: equal for equal resources.
    pub(crate) serving: u64,
    /// Cancelled when clients see a difference, or the definition is gone.
    pub(crate) replaced: CancellationToken,
    /// Its parts of OpenAPI documents.
    pub(crate) published: Arc<Published>,
}

// === impl CatalogueCell ===

impl CatalogueCell {
    pub(crate) fn load(&self) -> arc_swap::Guard<Arc<Catalogue>> {
        self.0.load()
    }

    pub(crate) fn full(&self) -> Arc<Catalogue> {
        self.0.load_full()
    }

    /// Replaces the catalogue by a changed copy.
    pub(crate) fn update(&self, change: impl Fn(&mut Catalogue)) {
        self.0.rcu(|present| {
            let mut new = Catalogue::clone(present);
            change(&mut new);
            new
        });
    }
}

// === impl Catalogue ===

impl Catalogue {
    /// The kind of a path.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&KindRef> {
        if version == "v1"
            && let Some(kind) = super::named(group, plural)
        {
            return Some(kind);
        }
        let found = self.groups.get(group)?.by_plural.get(plural)?;
        found.version(version)
    }

    /// The stored kind of a resource in any version.
    pub(crate) fn named(&self, group: &str, plural: &str) -> Option<&KindRef> {
        let builtin = super::named(group, plural).map(KindRef::stored_kind);
        builtin.or_else(|| self.custom(group, plural).map(|custom| &custom.storage))
    }

    /// The kind that an object declares.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&KindRef> {
        if let Some(builtin) = of_kind(api_version, kind) {
            return Some(builtin);
        }
        let (group, version) = api_version.split_once('/')?;
        let group = self.groups.get(group)?;
        group.by_plural.get(group.plurals.get(kind)?)?.version(version)
    }

    /// The kind in whose form the objects of a resource are stored.
    pub(crate) fn of_id(&self, id: ResourceId) -> Option<&KindRef> {
        of_id(id).or_else(|| self.by_id.get(&id).map(|custom| &custom.storage))
    }

    pub(crate) fn custom(&self, group: &str, plural: &str) -> Option<&Arc<CustomResource>> {
        self.groups.get(group)?.by_plural.get(plural)
    }

    /// All kinds in all versions, the built-in ones first, the others by group and plural.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &KindRef> {
        KINDS.iter().copied().chain(self.customs().into_iter().flat_map(|one| &one.versions))
    }

    /// Every resource once, in its stored form.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &KindRef> {
        let builtin = KINDS.iter().copied().filter(|kind| kind.alias.is_none());
        builtin.chain(self.customs().into_iter().map(|one| &one.storage))
    }

    /// The custom resources, by group and plural.
    pub(crate) fn customs(&self) -> Vec<&Arc<CustomResource>> {
        let mut all: Vec<&Arc<CustomResource>> = self.by_id.values().collect();
        all.sort_unstable_by(|a, b| a.name().cmp(&b.name()));
        all
    }

    /// The custom resources of a group with a version, by plural.
    pub(crate) fn customs_of(&self, group: &str, version: &str) -> Vec<&Arc<CustomResource>> {
        let members = self.groups.get(group).into_iter().flat_map(|group| group.by_plural.values());
        let mut all: Vec<_> = members.filter(|one| one.version(version).is_some()).collect();
        all.sort_unstable_by_key(|one| one.name());
        all
    }

    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.is_builtin_group(group) || self.groups.contains_key(group)
    }

    pub(crate) fn is_builtin_group(&self, group: &str) -> bool {
        KINDS.iter().any(|kind| kind.group == group)
            || REVIEWS.iter().any(|(known, ..)| *known == group)
    }

    pub(crate) fn has_version(&self, group: &str, version: &str) -> bool {
        let builtin = version == "v1" && self.is_builtin_group(group);
        let in_group = |group: &Arc<Group>| {
            group.by_plural.values().any(|custom| custom.version(version).is_some())
        };
        builtin || self.groups.get(group).is_some_and(in_group)
    }

    /// With a custom resource in place of the one of the same group and plural.
    pub(crate) fn insert(&mut self, custom: Arc<CustomResource>) {
        let kind = custom.storage.clone();
        self.remove(&kind.group, &kind.plural);
        let group = Arc::make_mut(self.groups.entry(kind.group.clone()).or_default());
        group.plurals.insert(kind.kind.clone(), kind.plural.clone());
        group.by_plural.insert(kind.plural.clone(), custom.clone());
        self.by_id.insert(kind.id(), custom);
    }

    /// Without a custom resource.
    pub(crate) fn remove(&mut self, group: &str, plural: &str) {
        self.openapi = Arc::default();
        let Some(shared) = self.groups.get_mut(group) else { return };
        let members = Arc::make_mut(shared);
        if let Some(gone) = members.by_plural.remove(plural) {
            members.plurals.remove(&gone.storage.kind);
            self.by_id.remove(&gone.storage.id());
        }
        if members.by_plural.is_empty() {
            self.groups.remove(group);
        }
    }
}

// === impl CustomResource ===

impl CustomResource {
    fn version(&self, version: &str) -> Option<&KindRef> {
        self.versions.iter().find(|kind| kind.version == version)
    }

    fn name(&self) -> (&str, &str) {
        let Kind { group, plural, .. } = &*self.storage;
        (group, plural)
    }
}
