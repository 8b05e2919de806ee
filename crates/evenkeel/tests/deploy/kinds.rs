//! The types of Kubernetes, as judges of fields.

use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, Deployment},
        core::v1::{Namespace, ResourceQuota, Service, ServiceAccount},
        flowcontrol::v1::FlowSchema,
        policy::v1::PodDisruptionBudget,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use serde_json::Value;

pub(crate) const WITHOUT_NAMESPACE: [&str; 5] =
    ["ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "FlowSchema", "Namespace"];

pub(crate) fn is_namespaced(object: &Value) -> bool {
    !WITHOUT_NAMESPACE.iter().any(|kind| object["kind"] == *kind)
}

/// Paths of fields that get lost when the object is read as its type: mistyped ones.
pub(crate) fn unknown_fields(object: &Value) -> Vec<String> {
    let kept = match object["kind"].as_str() {
        Some("ClusterRole") => again::<ClusterRole>(object),
        Some("ClusterRoleBinding") => again::<ClusterRoleBinding>(object),
        Some("CustomResourceDefinition") => again::<CustomResourceDefinition>(object),
        Some("DaemonSet") => again::<DaemonSet>(object),
        Some("Deployment") => again::<Deployment>(object),
        Some("FlowSchema") => again::<FlowSchema>(object),
        Some("Namespace") => again::<Namespace>(object),
        Some("PodDisruptionBudget") => again::<PodDisruptionBudget>(object),
        Some("ResourceQuota") => again::<ResourceQuota>(object),
        Some("Role") => again::<Role>(object),
        Some("RoleBinding") => again::<RoleBinding>(object),
        Some("Service") => again::<Service>(object),
        Some("ServiceAccount") => again::<ServiceAccount>(object),
        other => panic!("a kind that this test does not know: {other:?}"),
    };
    let mut lost = Vec::new();
    compare(object, &kept, "", &mut lost);
    lost
}

fn again<T>(object: &Value) -> Value
where
    T: serde::de::DeserializeOwned + serde::Serialize,
{
    let typed: T = serde_json::from_value(object.clone()).unwrap();
    serde_json::to_value(typed).unwrap()
}

fn compare(object: &Value, kept: &Value, path: &str, lost: &mut Vec<String>) {
    match (object, kept) {
        (Value::Object(fields), Value::Object(kept)) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                compare(value, kept.get(name).unwrap_or(&Value::Null), &path, lost);
            }
        }
        (Value::Array(items), Value::Array(kept)) if items.len() == kept.len() => {
            for (index, (item, kept)) in items.iter().zip(kept).enumerate() {
                compare(item, kept, &format!("{path}[{index}]"), lost);
            }
        }
        // Numbers of schemas are floats in the type.
        (Value::Number(number), Value::Number(kept)) if number.as_f64() == kept.as_f64() => {}
        _ if object == kept => {}
        _ => lost.push(path.to_owned()),
    }
}

#[test]
fn a_mistyped_field_is_found() {
    let object = serde_json::json!({"apiVersion": "v1", "kind": "Service",
        "spec": {"clusterIp": "None", "ports": [{"port": 1, "targetport": "http"}]}});
    assert_eq!(unknown_fields(&object), [".spec.clusterIp", ".spec.ports[0].targetport"]);
}
