//! A new object.

use std::{mem, sync::Arc};

use evenkeel_store::{Object, Outcome, Refused};
use serde_json::Value;

use super::{Error, Registry, Result, admit};
use crate::{
    api::{key, name_of},
    document,
    kinds::{CUSTOM_RESOURCE_DEFINITION, KindRef, NAMESPACE, read::text},
};

/// The result of a create.
#[derive(Debug)]
pub(crate) enum Created {
    Stored(Arc<Object>),
    /// Of a dry run: in the requested kind's form.
    Dry(Value),
}

/// Attempts with a generated name.
const TRIES: usize = 8;

impl Registry<'_> {
    /// Creates from a value in the kind's own form, whose metadata names its namespace.
    pub(crate) async fn create(
        &self,
        kind: &KindRef,
        namespace: Option<&str>,
        value: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Created> {
        if let Some(namespace) = namespace {
            self.check_namespace(kind, namespace, name_of(&value))?;
        }
        let mut value = kind.converted(value);
        let generated = text(&value, &["metadata", "name"]).is_empty();
        let version = text(&value, &["metadata", "resourceVersion"]);
        let is_number = version.bytes().all(|byte| byte.is_ascii_digit());
        let versioned = is_number && version.bytes().any(|byte| byte != b'0');
        let mut last = String::new();
        let tries = if generated { TRIES } else { 1 };
        for left in (0..tries).rev() {
            let candidate = if left == 0 { mem::take(&mut value) } else { value.clone() };
            let mut admitted = admit::create(self, kind, candidate)?;
            if versioned {
                let why = "resourceVersion should not be set on objects to be created";
                return Err(Error::Refused(why.to_owned()));
            }
            let name = name_of(&admitted.value).to_owned();
            let key = key(namespace, &name);
            warnings.append(&mut admitted.warnings);
            if self.dry_run {
                self.check_absent(kind, &key, &name)?;
                return Ok(Created::Dry(kind.presented(without_revision(admitted.value))));
            }
            match admitted.write_new(self, kind, &key).await? {
                Ok(Outcome::Written(object) | Outcome::Unchanged(object)) => {
                    return Ok(Created::Stored(object));
                }
                Ok(Outcome::Deleted(..)) => unreachable!("a create deletes nothing"),
                Err(Refused::Exists) if generated => last = name,
                // The definition was removed meanwhile.
                Err(Refused::Unmet) => {
                    return Err(Error::not_found(&CUSTOM_RESOURCE_DEFINITION, &kind.resource()));
                }
                Err(_) => return Err(self.exists(kind, &key, name)),
            }
        }
        Err(Error::NoUniqueName { kind: kind.clone(), name: last })
    }

    /// Rejects a create in a namespace that is missing or terminating.
    pub(crate) fn check_namespace(
        &self,
        kind: &KindRef,
        namespace: &str,
        name: &str,
    ) -> Result<()> {
        let Some(found) = self.api.storage.object(&NAMESPACE, namespace) else {
            return Err(Error::not_found(&NAMESPACE, namespace));
        };
        // The phase is a selectable field of namespaces: no need to parse.
        let phase = NAMESPACE.fields.iter().position(|(field, _)| *field == "status.phase");
        let phase = phase.and_then(|index| found.fields.get(index));
        if phase.is_none_or(|phase| &**phase != "Terminating") {
            return Ok(());
        }
        let [name, namespace] = [name, namespace].map(str::to_owned);
        Err(Error::NamespaceTerminating { kind: kind.clone(), name, namespace })
    }

    fn check_absent(&self, kind: &KindRef, key: &str, name: &str) -> Result<()> {
        match self.api.storage.object(kind.stored_kind(), key) {
            Some(_) => Err(self.exists(kind, key, name.to_owned())),
            None => Ok(()),
        }
    }

    fn exists(&self, kind: &KindRef, key: &str, name: String) -> Error {
        let stored = kind.stored_kind();
        let there = self.api.storage.object(stored, key);
        let terminating = there.is_some_and(|there| {
            let value = document::value(stored, &there);
            value.is_ok_and(|value| !value["metadata"]["deletionTimestamp"].is_null())
        });
        Error::AlreadyExists { kind: kind.clone(), name, terminating }
    }
}

/// A dry run's new object has no revision.
fn without_revision(mut value: Value) -> Value {
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    value
}
