//! `pods/eviction`: a delete that a disruption budget could refuse. There are no budgets yet.

use serde_json::json;

use crate::{
    answer::Answer,
    api::{Api, Call},
    body::{self, Expected},
    lifecycle::{DeleteOptions, Propagation},
    status::Result,
    verbs::{delete::remove, update::check_name},
};

pub(crate) async fn evict(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let written = call.query.write_options("CreateOptions")?;
    let schema = "io.k8s.api.policy.v1.Eviction";
    let expected = Expected { group: "policy", version: "v1", kind: "Eviction", schema };
    let read = body::typed(call.body(), expected, written.field_validation)?;
    check_name(&read.value, &call.resource.name)?;
    let given = &read.value["deleteOptions"];
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let options = DeleteOptions {
        grace_seconds: given["gracePeriodSeconds"].as_i64(),
        propagation: match given["propagationPolicy"].as_str() {
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Foreground") => Some(Propagation::Foreground),
            _ => None,
        },
        uid: text(&given["preconditions"]["uid"]),
        resource_version: text(&given["preconditions"]["resourceVersion"]),
        dry_run: written.dry_run || given["dryRun"].is_array(),
    };
    remove(api, call.kind(), &call.key(&call.resource.name), &options, call.now()).await?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Answer::value(201, &done, call.view.form).with_warnings(read.warnings))
}
