//! Deletes or marks one object.

use evenkeel_store::{NewObject, Object, Outcome};
use serde_json::Value;

use super::{
    DeleteOptions, Error, NodeWrite, Registry, Result, hooks,
    lifecycle::{self, Deletion},
    update::{TRIES, at_revision},
};
use crate::{
    document,
    kinds::{Kind, KindRef},
    storage::Next,
};

/// The result of a delete.
#[derive(Debug)]
pub(crate) struct Removed {
    /// In the stored kind's form.
    pub(crate) value: Value,
    /// It is removed, not just marked.
    pub(crate) gone: bool,
}

impl Registry<'_> {
    /// Deletes or marks the object at a key; retries on conflicts.
    pub(crate) async fn delete(
        &self,
        kind: &KindRef,
        key: &str,
        options: &DeleteOptions,
    ) -> Result<Removed> {
        let kind = kind.stored_kind();
        let name = key.rsplit('/').next().unwrap_or_default();
        if let Some(why) = kind.strategy.keeps(name) {
            return Err(Error::Forbidden {
                kind: kind.clone(),
                name: name.to_owned(),
                why: why.to_owned(),
            });
        }
        for _ in 0..TRIES {
            let object = self.api.storage.object(kind, key);
            let object = object.ok_or_else(|| Error::not_found(kind, name))?;
            if let Some(removed) = self.delete_version(kind, &object, options).await? {
                return Ok(removed);
            }
        }
        Err(Error::modified(kind, name))
    }

    /// `None`: a conflict.
    async fn delete_version(
        &self,
        kind: &KindRef,
        object: &Object,
        options: &DeleteOptions,
    ) -> Result<Option<Removed>> {
        let present = document::value(kind, object)?;
        self.restrict_node(NodeWrite {
            verb: "delete",
            kind,
            subresource: "",
            key: &object.key,
            before: Some(&present),
            after: None,
        })?;
        let deletion = lifecycle::decide(kind, present.clone(), options, self.now)?;
        let then = |value, gone| Ok(Some(Removed { value, gone }));
        if options.dry_run {
            return match deletion {
                Deletion::Pending => then(present, false),
                Deletion::Mark(marked) => then(marked, false),
                Deletion::MarkThenRemove(marked) => then(marked, true),
                Deletion::Remove => then(present, true),
            };
        }
        let (next, value) = match deletion {
            Deletion::Pending => return then(present, false),
            Deletion::Remove => (Next::Nothing, present),
            Deletion::Mark(marked) => {
                let (new, marked) = encoded(kind, marked);
                (Next::Version(new), marked)
            }
            Deletion::MarkThenRemove(marked) => {
                let (new, marked) = encoded(kind, marked);
                (Next::NothingAfter(new), marked)
            }
        };
        let on_decided = hooks::of(kind).on_decided(self.api, Some(object), &next, None);
        match self.api.storage.write(kind, &object.key, Some(object), next, on_decided).await? {
            Ok(Outcome::Written(written) | Outcome::Unchanged(written)) => {
                then(at_revision(value, written.revision), false)
            }
            Ok(Outcome::Deleted(_, revision)) => then(at_revision(value, revision), true),
            Err(_) => Ok(None),
        }
    }
}

fn encoded(kind: &Kind, mut marked: Value) -> (NewObject, Value) {
    document::canonical(kind, &mut marked);
    (document::stored(kind, &marked), marked)
}
