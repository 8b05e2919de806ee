//! `pods/eviction`: a delete that a disruption budget could reject. There are no budgets yet.
//!
//! The Pod first gets a condition with the reason; then it is deleted normally. Source:
//! `pkg/registry/core/pod/storage/eviction.go`.

use evenkeel_store::schema;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    api::{Api, Call, name_of},
    body::{self, Expected},
    invalid::{FieldError, Path},
    kinds::{
        POD,
        pod::conditions,
        read::{flag, list, text},
    },
    registry::{DeleteOptions, Edit, NodeWrite, Propagation, Registry, UpdateStrategy, lifecycle},
    status::{Failure, Result},
    verbs::create::placed,
};

const SCHEMA: &str = "io.k8s.api.policy.v1.Eviction";

pub(crate) async fn evict(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let written = call.query.write_options("CreateOptions")?;
    let version = version(&call.body);
    let expected = Expected { group: "policy", version, kind: "Eviction", schema: SCHEMA };
    let read = body::typed(call.body(), expected, written.field_validation)?;
    let eviction = placed(read.value, call.kind(), call.namespace())?;
    check(&eviction, &call.resource.name)?;
    let asked: Vec<&str> = call.query.all("dryRun").collect();
    let mut options = options(&eviction["deleteOptions"], &asked)?;
    let registry = call.registry(api, options.dry_run);
    let key = call.key(&call.resource.name);
    if !options.dry_run {
        mark(&registry, &key, &mut options).await?;
    }
    registry.delete(&POD, &key, &options).await?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Answer::value(201, &done, call.view.format).with_warnings(read.warnings))
}

/// Clients from before policy/v1 send the same object in v1beta1.
fn version(body: &[u8]) -> &'static str {
    let claimed = schema::type_meta(body).unwrap_or_default();
    if claimed.api_version == "policy/v1beta1" { "v1beta1" } else { "v1" }
}

fn check(eviction: &Value, name: &str) -> Result<()> {
    if name_of(eviction) != name {
        let why = "name in URL does not match name in Eviction object";
        return Err(Failure::bad_request(why));
    }
    let risky = "ignoreStoreReadErrorWithClusterBreakingPotential";
    if flag(eviction, &["deleteOptions", risky]) {
        let why = "can not be set for pod eviction, try after removing the option";
        let path = Path::root("deleteOptions").child(risky);
        let error = FieldError::invalid(path, &json!(true), why);
        return Err(Failure::invalid_as("policy", "Eviction", name, &[error]));
    }
    Ok(())
}

/// `asked`: the dry run of the request, which must match that of the body.
fn options(given: &Value, asked: &[&str]) -> Result<DeleteOptions> {
    let own: Vec<&str> = list(given, &["dryRun"]).iter().filter_map(Value::as_str).collect();
    if !own.is_empty() && !asked.is_empty() && own != asked {
        let [asked, own] = [asked.join(" "), own.join(" ")];
        let why = "Non-matching dry-run options in request and content";
        return Err(Failure::internal(format!("{why}: [{asked}] and [{own}]")));
    }
    let precondition = |name: &str| {
        let text = text(given, &["preconditions", name]);
        (!text.is_empty()).then(|| text.to_owned())
    };
    let propagation = match (given["propagationPolicy"].as_str(), &given["orphanDependents"]) {
        (_, Value::Bool(true)) | (Some("Orphan"), _) => Some(Propagation::Orphan),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (_, Value::Bool(false)) | (Some("Background"), _) => Some(Propagation::Background),
        _ => None,
    };
    Ok(DeleteOptions {
        grace_seconds: given["gracePeriodSeconds"].as_i64(),
        propagation,
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
        dry_run: !own.is_empty() || !asked.is_empty(),
    })
}

/// Writes the condition. A required version is replaced by the one that this creates.
async fn mark(registry: &Registry<'_>, key: &str, options: &mut DeleteOptions) -> Result<()> {
    let edit =
        Edit { kind: &POD, key, uid: None, version: None, strategy: UpdateStrategy::Unchecked };
    let required = options.clone();
    let revision = registry.edit(edit, |pod| {
        registry.restrict_node(NodeWrite {
            verb: "create",
            kind: &POD,
            subresource: "eviction",
            key,
            before: Some(pod),
            after: None,
        })?;
        lifecycle::check_preconditions(&POD, pod, &required)?;
        conditions::evicted(pod, registry.now);
        Ok(())
    });
    let revision = revision.await?;
    if let Some(version) = &mut options.resource_version {
        *version = revision.to_string();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eviction_names_the_pod_of_its_path() {
        let named = |name: &str| json!({"metadata": {"name": name}});
        assert_eq!(check(&named("a"), "a"), Ok(()));
        for eviction in [named("b"), named(""), json!({})] {
            let failure = check(&eviction, "a").unwrap_err();
            let words = "name in URL does not match name in Eviction object";
            assert_eq!((failure.code, failure.message()), (400, words));
        }
        let mut risky = named("a");
        risky["deleteOptions"]["ignoreStoreReadErrorWithClusterBreakingPotential"] = true.into();
        let failure = check(&risky, "a").unwrap_err();
        assert_eq!(
            (failure.code, failure.message()),
            (
                422,
                "Eviction.policy \"a\" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: can not be set for pod eviction, try after removing the option"
            )
        );
    }

    #[test]
    fn a_dry_run_in_request_and_body_must_agree() {
        let all = json!({"dryRun": ["All"]});
        for (given, asked, dry_run) in [
            (json!({}), &[][..], Some(false)),
            (Value::Null, &[], Some(false)),
            (json!({"dryRun": []}), &[], Some(false)),
            (json!({}), &["All"], Some(true)),
            (all.clone(), &[], Some(true)),
            (all.clone(), &["All"], Some(true)),
            (all, &["All", "All"], None),
        ] {
            let found = options(&given, asked).map(|options| options.dry_run);
            assert_eq!(found.clone().ok(), dry_run, "{given} {asked:?}");
            if let Err(failure) = found {
                assert_eq!(
                    (failure.code, failure.message()),
                    (
                        500,
                        "Non-matching dry-run options in request and content: [All All] and [All]"
                    )
                );
            }
        }
    }

    #[test]
    fn older_clients_evict_too() {
        for (body, expected) in [
            (r#"{"apiVersion":"policy/v1beta1","kind":"Eviction"}"#, "v1beta1"),
            (r#"{"apiVersion":"policy/v1","kind":"Eviction"}"#, "v1"),
            ("", "v1"),
        ] {
            assert_eq!(version(body.as_bytes()), expected);
        }
    }
}
