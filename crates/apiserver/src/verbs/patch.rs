//! `patch`: the next version of an object, as a difference.
//!
//! The patch is applied to the object in the form that clients see, the result is decoded like any
//! client's object, and handled as an update. Source: `endpoints/handlers/patch.go`.

use evenkeel_store::{
    patch::{self, PatchError},
    schema::{self, DecodeError, Finding},
};
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    api::{Api, Call},
    body::{self, Expected, not_registered},
    custom::decode::{self, Pruned},
    invalid::{FieldError, Path},
    kinds::{self, Part, read::text},
    registry::UpdateStrategy,
    request::query::FieldValidation,
    status::{Failure, Result},
    types,
    verbs::{
        create::placed,
        update::{self, check_name},
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchType {
    Json,
    Merge,
    Strategic,
}

pub(crate) async fn patch(api: &Api, call: &Call<'_>) -> Result<Answer> {
    apply(api, call, UpdateStrategy::OfKind(Part::Main)).await
}

/// A patch of the object or of a subresource.
pub(crate) async fn apply(api: &Api, call: &Call<'_>, strategy: UpdateStrategy) -> Result<Answer> {
    let kind = call.kind();
    check_type(call)?;
    let options = call.query.write_options("PatchOptions")?;
    let of = Expected {
        group: &kind.group,
        version: &kind.version,
        kind: &kind.kind,
        schema: &kind.schema,
    };
    let mut warnings = Vec::new();
    let next = |present: Value, warnings: &mut Vec<String>| {
        let value = match kind.custom.is_some() {
            true => patched_custom(call, present, options.field_validation, warnings)?,
            false => patched(call, of, present, options.field_validation, warnings)?,
        };
        placed_as_asked(call, value).map(Some)
    };
    let updated = update::write(api, call, strategy, options.dry_run, &mut warnings, next).await?;
    Ok(update::answered(call, updated, warnings))
}

/// Custom resources have no strategic merge patch: nothing says how their lists merge.
pub(crate) fn check_type(call: &Call<'_>) -> Result<()> {
    let type_ = patch_type(call);
    let is_apply = body::media(call.content_type()) == "application/apply-patch+yaml";
    let is_accepted = matches!(type_, Ok(PatchType::Json | PatchType::Merge)) || is_apply;
    if call.kind().custom.is_some() && !is_accepted {
        return Err(Failure::unknown_format(
            "application/json-patch+json, application/merge-patch+json, \
             application/apply-patch+yaml",
        ));
    }
    type_.map(drop)
}

/// A patch can't move an object: name and namespace stay those of the path.
pub(crate) fn placed_as_asked(call: &Call<'_>, value: Value) -> Result<Value> {
    let value = placed(value, call.kind(), call.namespace())?;
    check_name(&value, &call.resource.name)?;
    Ok(value)
}

/// The result of applying the call's patch to a document.
pub(crate) fn patched(
    call: &Call<'_>,
    of: Expected<'_>,
    mut document: Value,
    strictness: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value> {
    let schema = types::schema();
    let typed = schema.named(of.schema).expect("every kind has its type");
    let patch_type = patch_type(call)?;
    // An object stored by an earlier version may stay as deep as it is, so that it can be changed.
    let levels = schema::MOST_LEVELS.max(schema::levels(&document));
    let mut findings = match patch_type {
        PatchType::Json => patch::json(&mut document, &call.body),
        PatchType::Merge => patch::merge(&mut document, &call.body),
        PatchType::Strategic => patch::strategic(schema, typed, &mut document, &call.body),
    }
    .map_err(failure)?;
    let shown = match patch_type {
        PatchType::Strategic => serde_json::from_slice(&call.body)
            .map_or_else(|_| String::new(), |patch: Value| patch::shown(&patch)),
        PatchType::Json | PatchType::Merge => document.to_string(),
    };
    check_kind(&document, of, &shown)?;
    let read = match patch_type {
        PatchType::Strategic => patch::converted_within(schema, typed, document, levels),
        PatchType::Json | PatchType::Merge => schema::check_within(schema, typed, document, levels),
    };
    let read = read.map_err(|problem| match problem {
        DecodeError::TooDeep(_) => Failure::bad_request(problem.to_string()),
        _ => invalid(&shown, &problem.to_string()),
    })?;
    findings.extend(read.unknown);
    report_findings(&findings, strictness, &shown, warnings)?;
    let mut value = read.value;
    value["kind"] = of.kind.into();
    value["apiVersion"] = kinds::api_version(of.group, of.version).into();
    Ok(value)
}

/// The same for a custom resource: the schema of its definition prunes the result.
fn patched_custom(
    call: &Call<'_>,
    mut document: Value,
    strictness: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value> {
    let kind = call.kind();
    let levels = schema::MOST_LEVELS.max(schema::levels(&document));
    let findings = match patch_type(call)? {
        PatchType::Json => patch::json(&mut document, &call.body),
        PatchType::Merge | PatchType::Strategic => patch::merge(&mut document, &call.body),
    }
    .map_err(failure)?;
    if schema::levels(&document) > levels {
        let problem = DecodeError::TooDeep(String::new());
        return Err(Failure::bad_request(problem.to_string()));
    }
    let shown = document.to_string();
    let (claimed, wanted) = (text(&document, &["apiVersion"]).to_owned(), kind.api_version());
    if claimed != wanted {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({claimed}) does not match the expected API version \
             ({wanted})"
        )));
    }
    if text(&document, &["kind"]) != &*kind.kind {
        return Err(body::wrong_kind(kind, &document));
    }
    let object = Pruned { value: document, findings };
    let Pruned { value, findings } =
        decode::pruned(kind, object).map_err(|problem| invalid(&shown, &problem.to_string()))?;
    report_findings(&findings, strictness, &shown, warnings)?;
    Ok(value)
}

fn patch_type(call: &Call<'_>) -> Result<PatchType> {
    match body::media(call.content_type()) {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchType::Strategic),
        "application/apply-patch+yaml" => Err(Failure::no_apply()),
        _ => Err(Failure::unsupported_media_type()),
    }
}

fn report_findings(
    findings: &[Finding],
    strictness: FieldValidation,
    shown: &str,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let texts = findings.iter().map(ToString::to_string);
    match strictness {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            warnings.extend(texts);
            Ok(())
        }
        FieldValidation::Strict if findings.is_empty() => Ok(()),
        FieldValidation::Strict => {
            let texts: Vec<String> = texts.collect();
            Err(invalid(shown, &format!("strict decoding error: {}", texts.join(", "))))
        }
    }
}

/// A patch may name the kind, but not change it.
fn check_kind(document: &Value, of: Expected<'_>, shown: &str) -> Result<()> {
    let (version, kind) = (text(document, &["apiVersion"]), text(document, &["kind"]));
    let wanted = kinds::api_version(of.group, of.version);
    if (version.is_empty() || version == wanted) && (kind.is_empty() || kind == of.kind) {
        return Ok(());
    }
    let Some(other) = kinds::of_kind(version, kind) else {
        return Err(invalid(shown, &not_registered(version, kind, body::SCHEME)));
    };
    // Kubernetes decodes it as the kind it declares, and then finds that it is a different kind.
    let schema = types::schema();
    let typed = schema.named(&other.schema).expect("every kind has its type");
    let why = match schema::check(schema, typed, document.clone()) {
        Err(DecodeError::Type(problem) | DecodeError::Syntax(problem)) => problem,
        _ => format!("a patch may not make a {kind} of a {}", of.kind),
    };
    Err(invalid(shown, &why))
}

fn invalid(shown: &str, why: &str) -> Failure {
    let error = FieldError::invalid(Path::root("patch"), &json!(shown), why);
    Failure::invalid_as("", "", "", &[error])
}

fn failure(problem: PatchError) -> Failure {
    match problem {
        PatchError::BadRequest(message) => Failure::bad_request(message),
        PatchError::Rejected(_) => Failure::rejected(),
        PatchError::TooManyOperations { .. } => {
            Failure::too_large_words(format!("Request entity too large: {problem}"))
        }
        other => Failure::internal(other.to_string()),
    }
}
