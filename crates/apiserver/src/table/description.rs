//! Descriptions of columns. A description `TYPE#FIELD` refers to a field in the published schema,
//! and is looked up there; anything else is used literally.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use k8s_openapi::{
    api::{
        apps::v1::{
            ControllerRevision, DaemonSetSpec, DaemonSetStatus, DeploymentSpec, DeploymentStatus,
            ReplicaSetSpec, ReplicaSetStatus,
        },
        autoscaling::v1::{ScaleSpec, ScaleStatus},
        coordination::v1::LeaseSpec,
        core::v1::{
            ConfigMap, Event, NodeStatus, NodeSystemInfo, ObjectReference, PodSpec, PodStatus,
            Secret, ServiceSpec,
        },
        discovery::v1::EndpointSlice,
        flowcontrol::v1::{
            FlowSchemaSpec, LimitedPriorityLevelConfiguration, PriorityLevelConfigurationReference,
            PriorityLevelConfigurationSpec, QueuingConfiguration,
        },
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

/// Descriptions by `TYPE#FIELD`.
static FIELDS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut fields = BTreeMap::new();
    add::<ObjectMeta>(&mut fields);
    add::<ConfigMap>(&mut fields);
    add::<Event>(&mut fields);
    add::<NodeStatus>(&mut fields);
    add::<NodeSystemInfo>(&mut fields);
    add::<ObjectReference>(&mut fields);
    add::<PodSpec>(&mut fields);
    add::<PodStatus>(&mut fields);
    add::<Secret>(&mut fields);
    add::<ServiceSpec>(&mut fields);
    add::<EndpointSlice>(&mut fields);
    add::<LeaseSpec>(&mut fields);
    add::<ControllerRevision>(&mut fields);
    add::<DaemonSetSpec>(&mut fields);
    add::<DaemonSetStatus>(&mut fields);
    add::<DeploymentSpec>(&mut fields);
    add::<DeploymentStatus>(&mut fields);
    add::<ReplicaSetSpec>(&mut fields);
    add::<ReplicaSetStatus>(&mut fields);
    add::<ScaleSpec>(&mut fields);
    add::<ScaleStatus>(&mut fields);
    add::<FlowSchemaSpec>(&mut fields);
    add::<PriorityLevelConfigurationSpec>(&mut fields);
    add::<PriorityLevelConfigurationReference>(&mut fields);
    add::<LimitedPriorityLevelConfiguration>(&mut fields);
    add::<QueuingConfiguration>(&mut fields);
    fields
});

pub(crate) fn text(description: &'static str) -> Cow<'static, str> {
    if !description.starts_with("io.k8s.") {
        return Cow::Borrowed(description);
    }
    Cow::Borrowed(FIELDS.get(description).map_or("", String::as_str))
}

fn add<T: JsonSchema>(fields: &mut BTreeMap<String, String>) {
    let type_ = T::schema_name();
    let schema = Value::from(T::json_schema(&mut SchemaGenerator::default()));
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(description) = schema["description"].as_str() {
            fields.insert(format!("{type_}#{field}"), description.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::KINDS;

    #[test]
    fn every_column_has_a_description() {
        for kind in KINDS {
            for column in kind.columns {
                let text = text(column.description);
                assert!(
                    !text.is_empty(),
                    "{} {}: {}",
                    kind.plural,
                    column.name,
                    column.description
                );
            }
        }
    }
}
