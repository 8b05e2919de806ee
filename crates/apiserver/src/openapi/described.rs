//! Information from `k8s-openapi`: descriptions of fields, and whole types that are not in the
//! table of types (those of discovery and version).

use std::sync::OnceLock;

use k8s_openapi::{
    api::{
        apps::v1::{ControllerRevision, DaemonSet, Deployment, ReplicaSet},
        authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview},
        authorization::v1::{
            LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview,
            SubjectAccessReview,
        },
        autoscaling::v1::Scale,
        coordination::v1::Lease,
        core::v1::{
            Binding, ConfigMap, Event, Namespace, Node, Pod, PodTemplate, ResourceQuota, Secret,
            Service, ServiceAccount,
        },
        discovery::v1::EndpointSlice,
        events::v1::Event as EventV1,
        flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration},
        policy::v1::{Eviction, PodDisruptionBudget},
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::{
        apis::meta::v1::{
            APIGroup, APIGroupList, APIResourceList, APIVersions, DeleteOptions, ListMeta, Patch,
            Status, WatchEvent,
        },
        runtime::RawExtension,
        version::Info,
    },
    schemars::{SchemaGenerator, generate::SchemaSettings},
};
use serde_json::{Map, Value};

/// A type by its name, as a JSON schema with references `#/components/schemas/NAME`.
pub(super) fn type_(name: &str) -> Option<&'static Value> {
    types().get(name)
}

/// The description of a type.
pub(super) fn description(name: &str) -> Option<&'static str> {
    type_(name)?.get("description")?.as_str().filter(|words| !words.is_empty())
}

/// The description of a field. Fields common to all kinds are described the same everywhere, so
/// they are known even for unknown types.
pub(super) fn field(name: &str, field: &str) -> Option<&'static str> {
    let words =
        |name: &str| type_(name)?.get("properties")?.get(field)?.get("description")?.as_str();
    match field {
        "apiVersion" | "kind" => words(name).or_else(|| words("io.k8s.api.core.v1.Pod")),
        _ => words(name),
    }
}

fn types() -> &'static Map<String, Value> {
    static TYPES: OnceLock<Map<String, Value>> = OnceLock::new();
    TYPES.get_or_init(generate)
}

macro_rules! include_types {
    ($generator:ident, $($type:ty),+ $(,)?) => {
        $( $generator.subschema_for::<$type>(); )+
    };
}

fn generate() -> Map<String, Value> {
    let settings = SchemaSettings::openapi3();
    let mut generator: SchemaGenerator = settings.into_generator();
    include_types!(
        generator,
        (Binding, ConfigMap, Event, Namespace, Node, Pod, PodTemplate, Secret),
        (PodDisruptionBudget, ResourceQuota, Service, ServiceAccount),
        (ControllerRevision, DaemonSet, Deployment, ReplicaSet),
        (EndpointSlice, EventV1, Lease, Scale, Eviction, FlowSchema, PriorityLevelConfiguration),
        (ClusterRole, ClusterRoleBinding, CustomResourceDefinition, Role, RoleBinding),
        (SelfSubjectReview, TokenRequest, TokenReview),
        (
            SelfSubjectAccessReview,
            SelfSubjectRulesReview,
            SubjectAccessReview,
            LocalSubjectAccessReview
        ),
        (DeleteOptions, ListMeta, Patch, Status, WatchEvent<RawExtension>),
        (APIGroup, APIGroupList, APIResourceList, APIVersions, Info),
    );
    generator.take_definitions(true)
}
