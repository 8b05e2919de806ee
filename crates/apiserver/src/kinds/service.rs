//! Services.
//!
//! Addresses and node ports are allocated by [`crate::pools`] *before* `prepare_*` and `validate_*`
//! run: the validation expects them to be set.

mod columns;
mod defaults;
mod facts;
mod families;
mod ports;
#[cfg(test)]
mod tests;
mod validate;
mod warnings;

use serde_json::{Value, json};

pub(crate) use self::{
    defaults::{align_cluster_ips, carry_allocated},
    facts::{
        cluster_ip, cluster_ips, families, family_policy, has_node_ports, health_check_port,
        is_external_name, needs_health_check, node_ports, service_type, wants_node_ports,
    },
    families::{family_of, shown, spec, validate as validate_families},
    ports::protocol,
};
use crate::{
    invalid::Errors,
    kinds::{
        Admission, DeleteAnswers, Held, Kind, KindRef, Part, Strategy, Subresource, fixed,
        names::Check,
        read::{carry_over, entry, text},
    },
    settings::Features,
};

pub(crate) static SERVICE: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("Service"),
    plural: fixed("services"),
    singular: fixed("service"),
    short_names: Held::Static(&[fixed("svc")]),
    categories: Held::Static(&[fixed("all")]),
    namespaced: true,
    schema: fixed("io.k8s.api.core.v1.Service"),
    verbs: &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    subresources: &[
        Subresource::NotSupported(
            "proxy",
            "ServiceProxyOptions",
            &["create", "delete", "get", "patch", "update"],
        ),
        Subresource::Status,
    ],
    fields: &[
        ("spec.clusterIP", |service| text(service, &["spec", "clusterIP"]).to_owned()),
        ("spec.type", |service| text(service, &["spec", "type"]).to_owned()),
    ],
    creates_on_update: true,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Object,
    alias: None,
    columns: columns::COLUMNS,
    strategy: Held::Static(&ServiceStrategy),
    custom: None,
});

#[derive(Debug)]
struct ServiceStrategy;

impl Strategy for ServiceStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        defaults::default(object);
    }

    fn prepare_create(&self, object: &mut Value, at: &Admission) {
        *entry(object, &["status"]) = json!({});
        keep_distribution(object, None, at);
        defaults::drop_policy_of_external_name(object);
    }

    fn validate_create(&self, object: &Value, at: &Admission) -> Errors {
        validate::validate(object, None, at.features)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, at: &Admission) {
        match part {
            Part::Status => carry_over(new, old, &["spec"]),
            Part::Main => {
                carry_over(new, old, &["status"]);
                keep_distribution(new, Some(old), at);
                defaults::drop_what_the_type_lost(new, old);
                defaults::drop_policy_of_external_name(new);
            }
        }
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, at: &Admission) -> Errors {
        match part {
            Part::Status => validate::validate_status(new, old),
            Part::Main => validate::validate_update(new, old, at.features),
        }
    }

    fn hidden(&self, features: Features) -> &'static [&'static [&'static str]] {
        match features.service_traffic_distribution {
            true => &[],
            false => &[&DISTRIBUTION],
        }
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        warnings::warnings(new)
    }

    fn name(&self) -> Check {
        Check::Service
    }
}

const DISTRIBUTION: [&str; 2] = ["spec", "trafficDistribution"];

/// Without the gate `ServiceTrafficDistribution` the server behaves like one that does not know the
/// field: it is not shown, so a client that writes back what it has read must not remove the stored
/// value.
fn keep_distribution(new: &mut Value, old: Option<&Value>, admission: &Admission) {
    if !admission.features.service_traffic_distribution {
        carry_over(new, old.unwrap_or(&Value::Null), &DISTRIBUTION);
    }
}
