//! The table of kinds, and the strategy of each kind.
//!
//! Adding a kind: one [`Kind`] with its properties, one [`Strategy`] for its defaults and
//! validation, one line in [`KINDS`]. Everything else (verbs, discovery, OpenAPI, tables,
//! selectors) is derived from these.

mod addresses;
pub(crate) mod catalogue;
mod configmap;
mod controllerrevision;
pub(crate) mod customresourcedefinition;
mod daemonset;
mod deployment;
mod endpointslice;
pub(crate) mod event;
#[cfg(test)]
pub(crate) mod facts;
mod flowcontrol;
mod flowschema;
mod held;
mod json_text;
mod lease;
#[cfg(test)]
mod linear;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod namespace;
mod node;
pub(crate) mod pod;
mod poddisruptionbudget;
mod podtemplate;
mod prioritylevelconfiguration;
pub(crate) mod read;
#[cfg(test)]
mod recorded;
mod replicaset;
mod resourcequota;
mod role;
mod rolebinding;
mod secret;
pub(crate) mod service;
mod serviceaccount;
pub(crate) mod version;
pub(crate) mod workload;

use evenkeel_store::ResourceId;
use jiff::Timestamp;
use serde_json::Value;

pub(crate) use self::{
    catalogue::Catalogue,
    configmap::CONFIG_MAP,
    controllerrevision::CONTROLLER_REVISION,
    customresourcedefinition::CUSTOM_RESOURCE_DEFINITION,
    daemonset::DAEMON_SET,
    deployment::DEPLOYMENT,
    endpointslice::ENDPOINT_SLICE,
    event::EVENT,
    flowschema::FLOW_SCHEMA,
    held::{Held, Text, fixed},
    lease::LEASE,
    namespace::NAMESPACE,
    node::NODE,
    pod::POD,
    poddisruptionbudget::POD_DISRUPTION_BUDGET,
    podtemplate::POD_TEMPLATE,
    prioritylevelconfiguration::PRIORITY_LEVEL_CONFIGURATION,
    replicaset::REPLICA_SET,
    resourcequota::RESOURCE_QUOTA,
    role::{CLUSTER_ROLE, ROLE},
    rolebinding::{CLUSTER_ROLE_BINDING, ROLE_BINDING},
    secret::SECRET,
    service::SERVICE,
    serviceaccount::SERVICE_ACCOUNT,
};

use crate::{custom::Custom, invalid::Errors, settings::Features};

/// The built-in kinds. The order only determines the numbers in the store; kinds that
/// CustomResourceDefinitions define are numbered after them (see [`Catalogue`]).
pub(crate) static KINDS: &[&KindRef] = &[
    &NAMESPACE,
    &CONFIG_MAP,
    &DAEMON_SET,
    &DEPLOYMENT,
    &ENDPOINT_SLICE,
    &EVENT,
    &event::EVENT_V1,
    &LEASE,
    &NODE,
    &POD,
    &REPLICA_SET,
    &SECRET,
    &SERVICE,
    &SERVICE_ACCOUNT,
    &POD_TEMPLATE,
    &CONTROLLER_REVISION,
    &ROLE,
    &CLUSTER_ROLE,
    &ROLE_BINDING,
    &CLUSTER_ROLE_BINDING,
    &POD_DISRUPTION_BUDGET,
    &RESOURCE_QUOTA,
    &FLOW_SCHEMA,
    &PRIORITY_LEVEL_CONFIGURATION,
    &CUSTOM_RESOURCE_DEFINITION,
];

/// The verbs of most kinds.
pub(crate) const EVERY_VERB: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// A built-in kind, or one that a CustomResourceDefinition defines.
pub(crate) type KindRef = Held<Kind>;

/// The properties of a kind.
#[derive(Debug)]
pub(crate) struct Kind {
    /// `""` for core.
    pub(crate) group: Text,
    pub(crate) version: Text,
    pub(crate) kind: Text,
    /// The resource: plural, lower case.
    pub(crate) plural: Text,
    pub(crate) singular: Text,
    pub(crate) short_names: Held<[Text]>,
    pub(crate) categories: Held<[Text]>,
    pub(crate) namespaced: bool,
    /// The type in the schema: `io.k8s.api.core.v1.Service`. Of a custom resource: its name in
    /// OpenAPI only.
    pub(crate) schema: Text,
    /// As in discovery, in its order.
    pub(crate) verbs: &'static [&'static str],
    pub(crate) subresources: &'static [Subresource],
    /// Selectable fields beyond `metadata.name` and `metadata.namespace`: the label in the
    /// selector, and how to read it from an object (absent reads as `""`).
    pub(crate) fields: &'static [Field],
    /// `PUT` of a missing name creates the object.
    pub(crate) creates_on_update: bool,
    /// `PUT` without a resourceVersion is accepted.
    pub(crate) updates_unconditionally: bool,
    pub(crate) delete_answers: DeleteAnswers,
    /// Another kind's objects with different field names.
    pub(crate) alias: Option<Alias>,
    pub(crate) columns: &'static [Column],
    pub(crate) strategy: Held<dyn Strategy>,
    /// What only custom resources have.
    pub(crate) custom: Option<Box<Custom>>,
}

/// The label of a field in a selector, and how to read it from an object.
pub(crate) type Field = (&'static str, fn(&Value) -> String);

/// How one kind presents the objects of another.
#[derive(Debug)]
pub(crate) struct Alias {
    /// The stored kind.
    pub(crate) of: &'static KindRef,
    pub(crate) from_stored: fn(&Value) -> Value,
    pub(crate) to_stored: fn(&Value) -> Value,
}

/// A subresource that reads and writes part of the object, or is an action on it.
#[derive(Debug)]
pub(crate) enum Subresource {
    Status,
    Scale,
    /// `pods/binding` (POST).
    Binding,
    /// `pods/eviction` (POST).
    Eviction,
    /// `serviceaccounts/token` (POST).
    Token,
    /// `namespaces/finalize` (PUT).
    Finalize(PartStrategy),
    /// A part with its own strategy (GET, PUT, PATCH).
    Part(&'static str, PartStrategy),
    /// In discovery, but answered with a Status that it is not supported: its name, its kind as in
    /// discovery, and its verbs.
    NotSupported(&'static str, &'static str, &'static [&'static str]),
}

/// What a successful delete returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeleteAnswers {
    Object,
    Status,
}

/// A column of `kubectl get`.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// `string`, `integer`, …
    pub(crate) type_: &'static str,
    /// `name` for the first column, else `""`.
    pub(crate) format: &'static str,
    /// 0: always shown; 1: wide.
    pub(crate) priority: u8,
    pub(crate) description: &'static str,
    pub(crate) cell: fn(&Value, Timestamp) -> Value,
}

/// What a strategy may use beyond the object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admission {
    pub(crate) now: Timestamp,
    pub(crate) features: Features,
}

/// The part of an object that a write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Main,
    Status,
}

/// The strategy of a part that is neither the object nor its status.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartStrategy {
    /// Restores the fields that the part may not change.
    pub(crate) prepare: fn(&mut Value, &Value),
    pub(crate) validate: fn(&Value, &Value) -> Errors,
}

/// The strategy of a kind, as in Kubernetes' registry. All functions are pure; objects are
/// canonical JSON values whose types the schema has already checked (unknown fields and nulls are
/// removed, absent means zero).
///
/// Order: `default`, the metadata common to all kinds (`metadata`, not here), for Services the
/// allocation, `prepare_*`, `validate_*`.
pub(crate) trait Strategy: std::fmt::Debug + Send + Sync {
    /// Sets defaults, on every decode of a client's object.
    fn default(&self, _object: &mut Value, _at: &Admission) {}

    /// Drops what a client may not set (status), sets what the server owns (generation: 1).
    fn prepare_create(&self, _object: &mut Value, _at: &Admission) {}

    fn validate_create(&self, _object: &Value, _at: &Admission) -> Errors {
        Errors::new()
    }

    /// Restores from `old` the fields that this part may not change, and increments the generation.
    fn prepare_update(&self, _part: Part, _new: &mut Value, _old: &Value, _at: &Admission) {}

    fn validate_update(&self, _part: Part, _new: &Value, _old: &Value, _at: &Admission) -> Errors {
        Errors::new()
    }

    /// Why a new object is rejected with a 403: the text after `forbidden: `.
    fn refused(&self, _object: &Value) -> Option<String> {
        None
    }

    /// Stored fields that are not shown, because their feature is off.
    fn hidden(&self, _features: Features) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// The rows of a table are sorted by this number; by default they are in the list's order.
    fn row_rank(&self) -> Option<fn(&Value) -> i64> {
        None
    }

    /// Texts for `Warning` headers.
    fn warnings(&self, _new: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// The validation for names.
    fn name(&self) -> names::Check {
        names::Check::Subdomain
    }

    /// The grace period of a delete, given the requested one (`None`: unspecified). `None` removes
    /// the object at once.
    fn grace(&self, _object: &Value, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// Why the object with this name can't be deleted: the text after `forbidden: `.
    fn keeps(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Whether a delete marks the object and its finalizing removes it, without a grace period.
    fn ends_by_finalizing(&self) -> bool {
        false
    }

    /// Marks an object that `ends_by_finalizing`.
    fn terminate(&self, _object: &mut Value, _now: Timestamp) {}

    /// Whether a deleted object has no finalizers left.
    fn is_finalized(&self, object: &Value) -> bool {
        read::list(object, &["metadata", "finalizers"]).is_empty()
    }
}

// === impl Kind ===

impl Kind {
    /// Its number in the store.
    pub(crate) fn id(&self) -> ResourceId {
        if let Some(custom) = &self.custom {
            return custom.id;
        }
        let stored = self.alias.as_ref().map_or(self, |alias| alias.of);
        let position = KINDS.iter().position(|kind| std::ptr::eq(&***kind, stored));
        let position = position.expect("every kind is in the table");
        ResourceId::from_index(position)
    }

    /// `deployments.apps`, or `pods`.
    pub(crate) fn resource(&self) -> String {
        match &*self.group {
            "" => self.plural.to_string(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// `apps/v1`, or `v1`.
    pub(crate) fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    pub(crate) fn list_kind(&self) -> String {
        match &self.custom {
            Some(custom) => custom.list_kind.to_string(),
            None => format!("{}List", self.kind),
        }
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|part| part.name() == name)
    }

    /// Of the schema of a custom resource, else empty.
    pub(crate) fn fingerprint(&self) -> &Text {
        static NONE: Text = fixed("");
        self.custom.as_ref().map_or(&NONE, |custom| &custom.fingerprint)
    }

    /// A stored object in this kind's form.
    pub(crate) fn presented(&self, stored: Value) -> Value {
        match (&self.alias, &self.custom) {
            (Some(alias), _) => (alias.from_stored)(&stored),
            (None, Some(custom)) => custom.presented(stored),
            (None, None) => stored,
        }
    }

    /// An object of this kind in its stored form.
    pub(crate) fn converted(&self, value: Value) -> Value {
        match &self.alias {
            Some(alias) => (alias.to_stored)(&value),
            None => value,
        }
    }
}

impl KindRef {
    /// The kind in whose form objects are stored.
    pub(crate) fn stored_kind(&self) -> &KindRef {
        if let Some(storage) = self.custom.as_ref().and_then(|custom| custom.storage.as_ref()) {
            return storage;
        }
        self.alias.as_ref().map_or(self, |alias| alias.of)
    }
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        std::ptr::eq(self, other)
            || (self.group == other.group
                && self.version == other.version
                && self.plural == other.plural)
    }
}

impl Subresource {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Subresource::Status => "status",
            Subresource::Scale => "scale",
            Subresource::Binding => "binding",
            Subresource::Eviction => "eviction",
            Subresource::Token => "token",
            Subresource::Finalize(_) => "finalize",
            Subresource::Part(name, _) => name,
            Subresource::NotSupported(name, ..) => name,
        }
    }
}

// === Finding built-in kinds ===

/// The names of the built-in resources in the store, by their id.
pub(crate) fn names() -> impl Iterator<Item = String> {
    KINDS.iter().map(|kind| kind.resource())
}

/// A built-in kind.
pub(crate) fn named(group: &str, plural: &str) -> Option<&'static KindRef> {
    KINDS.iter().copied().find(|kind| kind.plural == plural && kind.group == group)
}

/// A built-in kind.
pub(crate) fn of_kind(api_version: &str, kind: &str) -> Option<&'static KindRef> {
    KINDS.iter().copied().find(|known| known.kind == kind && known.api_version() == api_version)
}

/// A built-in kind.
pub(crate) fn of_id(id: ResourceId) -> Option<&'static KindRef> {
    KINDS.get(id.index()).copied()
}

pub(crate) fn api_version(group: &str, version: &str) -> String {
    match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}
