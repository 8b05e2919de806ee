//! The server's own actors: garbage collection, namespace deletion, built-in objects, the sandbox.
//!
//! They enter the chain behind identification: an identity, the attributes of the request, an
//! operation. Then they wait for a seat and are authorized like a client, and write through the
//! registry.

use std::sync::Arc;

use evenkeel_store::Revision;
use jiff::Timestamp;
use serde_json::Value;

use super::{admit, authorize};
use crate::{
    api::Api,
    identity::{Attributes, On, User},
    kinds::{Kind, KindRef},
    registry::{
        Created, DeleteOptions, Edit, Error, Registry, Removed, Result, Target, delete_each,
    },
};

/// An actor at the moment of one operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor<'a> {
    pub(crate) api: &'a Api,
    pub(crate) user: &'a Arc<User>,
    pub(crate) now: Timestamp,
}

impl<'a> Actor<'a> {
    pub(crate) fn new(api: &'a Api, user: &'a Arc<User>) -> Actor<'a> {
        Actor { api, user, now: Timestamp::now() }
    }

    /// Creates an object, completed with its kind and namespace.
    pub(crate) async fn create(
        &self,
        kind: &KindRef,
        namespace: Option<&str>,
        mut value: Value,
    ) -> Result<Created> {
        if let Some(namespace) = namespace {
            value["metadata"]["namespace"] = namespace.into();
        }
        value["kind"] = (*kind.kind).into();
        value["apiVersion"] = kind.api_version().into();
        let key = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let operation =
            async { self.registry().create(kind, namespace, value, &mut Vec::new()).await };
        self.enter("create", kind, "", &key, operation).await
    }

    /// Edits an object or a subresource; `verb` is `update` or `patch`.
    pub(crate) async fn edit(
        &self,
        verb: &str,
        subresource: &str,
        edit: Edit<'_>,
        apply: impl Fn(&mut Value) -> Result<()>,
    ) -> Result<Revision> {
        let operation = async { self.registry().edit(edit, apply).await };
        self.enter(verb, edit.kind, subresource, edit.key, operation).await
    }

    pub(crate) async fn delete(
        &self,
        kind: &KindRef,
        key: &str,
        options: &DeleteOptions,
    ) -> Result<Removed> {
        let operation = async { self.registry().delete(kind, key, options).await };
        self.enter("delete", kind, "", key, operation).await
    }

    /// Deletes objects concurrently, and returns the failures.
    pub(crate) async fn delete_each<'t>(&'t self, targets: &'t [Target]) -> Vec<(usize, Error)> {
        let one = |target: &'t Target| self.delete(&target.kind, &target.key, &target.options);
        delete_each(targets, true, one).await
    }

    fn registry(&self) -> Registry<'a> {
        Registry { api: self.api, user: self.user, now: self.now, dry_run: false }
    }

    async fn enter<T>(
        &self,
        verb: &str,
        kind: &Kind,
        subresource: &str,
        key: &str,
        operation: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let (namespace, name) = match key.rsplit_once('/') {
            Some((namespace, name)) => (namespace, name),
            // A namespace is in itself, as far as authorization goes.
            None if kind.plural == "namespaces" => (key, key),
            None => ("", key),
        };
        let (group, resource) = (&*kind.group, &*kind.plural);
        let on = On::Resource { group, resource, subresource, namespace, name };
        let attributes = Attributes { verb, on, field_selector: "" };
        let _seat = admit::actor(self.api, self.user, &attributes).await?;
        authorize::check(self.api, self.user, &attributes)?;
        operation.await
    }
}
