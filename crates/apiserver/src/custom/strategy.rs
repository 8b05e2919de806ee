//! The strategy of custom resources: their schema decides.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy,
//! validator}.go`.

use std::{collections::BTreeSet, sync::Arc};

use evenkeel_structural::{self as structural, cel};
use serde_json::Value;

use super::Version;
use crate::{
    invalid::{Errors, FieldError, FieldErrorType, Path},
    kinds::{
        Admission, Part, Strategy, metadata, names,
        read::{carry_over, entry, list, number},
    },
};

/// Finalizers of Kubernetes itself, which have no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

#[derive(Debug)]
pub(super) struct CustomStrategy(pub(super) Arc<Version>);

impl Strategy for CustomStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        self.0.schema().fill_defaults(object);
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        if self.0.has_status
            && let Some(members) = object.as_object_mut()
        {
            members.remove("status");
            // It may have a default as a whole.
            self.0.schema().fill_defaults(object);
        }
        *entry(object, &["metadata", "generation"]) = 1.into();
    }

    fn refused(&self, _: &Value) -> Option<String> {
        self.0.is_terminating.then(|| {
            "create not allowed while custom resource definition is terminating".to_owned()
        })
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        let found = self.0.schema().validate(object);
        let rules = self.rules(&found, object, None);
        let mut errors = mapped(found);
        errors.extend(self.embedded(object));
        if let Some(scale) = &self.0.scale {
            errors.extend(scale.validate_spec(object));
            errors.extend(scale.validate_status(object));
        }
        errors.extend(rules);
        errors
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        match part {
            Part::Main => {
                if self.0.has_status {
                    carry_over(new, old, &["status"]);
                }
                if differ_beside_metadata(new, old) {
                    let generation = number(old, &["metadata", "generation"]).unwrap_or_default();
                    *entry(new, &["metadata", "generation"]) = (generation + 1).into();
                }
            }
            Part::Status => {
                let status = new.get_mut("status").map(Value::take);
                let managed = new["metadata"].get_mut("managedFields").map(Value::take);
                *new = old.clone();
                if let Some(members) = new.as_object_mut() {
                    members.remove("status");
                    members.extend(status.map(|status| ("status".to_owned(), status)));
                }
                if let Some(managed) = managed {
                    new["metadata"]["managedFields"] = managed;
                }
            }
        }
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        let schema = self.0.schema();
        let found = match part {
            Part::Main => schema.validate_update(new, old),
            Part::Status => schema.validate_status_update(new, old),
        };
        let rules = self.rules(&found, new, Some(old));
        let mut errors = mapped(found);
        if part == Part::Main {
            errors.extend(self.embedded(new));
        }
        if let Some(scale) = &self.0.scale {
            if part == Part::Main {
                errors.extend(scale.validate_spec(new));
            }
            errors.extend(scale.validate_status(new));
        }
        errors.extend(rules);
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let finalizers = |object| -> BTreeSet<&str> {
            list(object, &["metadata", "finalizers"]).iter().filter_map(Value::as_str).collect()
        };
        let before = old.map(finalizers).unwrap_or_default();
        let added = finalizers(new).difference(&before).copied().collect::<Vec<_>>();
        let mut warnings: Vec<String> = added.into_iter().flat_map(finalizer_warnings).collect();
        // Rules that are not met by what an update leaves as it was.
        if let Some(old) = old.filter(|_| cel::has_rules(self.0.schema())) {
            let ratcheted = self.0.rules.validate(self.0.schema(), new, Some(old)).warnings;
            warnings.extend(ratcheted.iter().map(ToString::to_string));
        }
        warnings
    }
}

impl CustomStrategy {
    /// The errors of labels and annotations of embedded objects.
    fn embedded(&self, object: &Value) -> Errors {
        let embedded = self.0.schema().embedded_metadata(object).into_iter();
        let errors = embedded.flat_map(|(path, found)| {
            let path = Path::root(&path);
            let mut errors = metadata::labels(&found["labels"], &path.child("labels"));
            errors.extend(metadata::annotations(&found["annotations"], &path.child("annotations")));
            errors
        });
        errors.collect()
    }

    /// The errors of rules, which are checked only if the object is valid otherwise.
    fn rules(&self, found: &structural::Errors, new: &Value, old: Option<&Value>) -> Errors {
        let schema = self.0.schema();
        if found.is_empty() {
            return mapped(self.0.rules.validate(schema, new, old).errors);
        }
        match cel::blocked_by(found) {
            Some(blocked) if cel::has_rules(schema) => vec![field_error(blocked)],
            Some(_) => Errors::new(),
            None => mapped(self.0.rules.validate(schema, new, old).errors),
        }
    }
}

fn finalizer_warnings(name: &str) -> Vec<String> {
    let about = format!("metadata.finalizers: {}", crate::invalid::quoted(name));
    let mut warnings: Vec<String> =
        names::qualified_name(name).into_iter().map(|words| format!("{about}: {words}")).collect();
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        warnings.push(format!(
            "{about}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts \
             with other finalizer writers"
        ));
    }
    warnings
}

fn differ_beside_metadata(new: &Value, old: &Value) -> bool {
    let content = |object| {
        let members = <Value>::as_object(object).into_iter().flatten();
        members.filter(|(name, _)| !matches!(name.as_str(), "metadata" | "kind" | "apiVersion"))
    };
    !content(new).eq(content(old))
}

fn mapped(errors: structural::Errors) -> Errors {
    errors.into_iter().map(field_error).collect()
}

/// The same error of another crate.
pub(crate) fn field_error(error: structural::FieldError) -> FieldError {
    use structural::FieldErrorType as Of;
    let type_ = match error.type_ {
        Of::Required => FieldErrorType::Required,
        Of::Invalid(value) => FieldErrorType::Invalid(value),
        Of::TypeInvalid(value) => FieldErrorType::TypeInvalid(value),
        Of::NotSupported(value) => FieldErrorType::NotSupported(value),
        Of::Duplicate(value) => FieldErrorType::Duplicate(value),
        Of::NotFound(value) => FieldErrorType::NotFound(value),
        Of::Forbidden => FieldErrorType::Forbidden,
        Of::TooLong => FieldErrorType::TooLong,
        Of::TooShort => FieldErrorType::TooShort,
        Of::TooMany(n) => {
            let detail = format!("{n}: {}", error.detail);
            let path = Path::root(&error.path);
            return FieldError { path, type_: FieldErrorType::TooMany, detail };
        }
        Of::TooFew(n) => FieldErrorType::TooFew(n),
        Of::Internal => FieldErrorType::Internal,
    };
    FieldError { path: Path::root(&error.path), type_, detail: error.detail }
}
