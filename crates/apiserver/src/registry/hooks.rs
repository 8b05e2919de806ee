//! What some kinds do at a write beside their strategy, with other objects and the caller at hand.
//!
//! A strategy is a pure function of the object. A hook depends on the state of the server: the
//! address pools, another object, the caller's rights. Most kinds have none.

use std::{fmt::Debug, sync::Arc};

use evenkeel_store::{Object, Revision};
use serde_json::Value;

use super::{
    Error, Registry, Result,
    escalation::{BindingHooks, RoleHooks},
};
use crate::{
    api::Api,
    document,
    kinds::{
        CLUSTER_ROLE, CLUSTER_ROLE_BINDING, Kind, KindRef, NODE, POD, ROLE, ROLE_BINDING, SERVICE,
        pod::topology, read::text,
    },
    pools::{PoolError, Reservation},
    random,
    sandbox::default_tolerations,
    storage::Next,
    writer::OnDecided,
};

pub(crate) trait Hooks: Debug + Sync {
    /// After the defaults of a new object.
    fn complete(&self, _api: &Api, _value: &mut Value) {}

    /// Whether the caller may write this, beyond being authorized to write the kind. Before
    /// validation, as in Kubernetes.
    fn authorize(&self, _by: &Registry<'_>, _write: Writing<'_>) -> Result<()> {
        Ok(())
    }

    /// Takes what the object needs from a pool.
    fn reserve(&self, _by: &Registry<'_>, _write: Reserving<'_>) -> Result<Option<Reservation>> {
        Ok(None)
    }

    /// To be run when the write is decided.
    fn on_decided(
        &self,
        _api: &Api,
        _before: Option<&Object>,
        _next: &Next,
        _reservation: Option<Reservation>,
    ) -> Option<OnDecided> {
        None
    }

    /// A watch can't resume from before this revision: objects it has seen would look different
    /// now, without a change event.
    fn shown_since(&self, _api: &Api) -> Revision {
        0
    }
}

/// A version to be written, with its defaults, and the present one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writing<'a> {
    pub(crate) kind: &'a KindRef,
    pub(crate) value: &'a Value,
    pub(crate) old: Option<&'a Value>,
}

/// The same, to be completed with what is reserved.
#[derive(Debug)]
pub(crate) struct Reserving<'a> {
    pub(crate) value: &'a mut Value,
    pub(crate) old: Option<&'a Value>,
}

/// The hooks of a kind.
pub(crate) fn of(kind: &Kind) -> &'static dyn Hooks {
    let table: [(&Kind, &'static dyn Hooks); 6] = [
        (&SERVICE, &ServiceHooks),
        (&POD, &PodHooks),
        (&ROLE, &RoleHooks),
        (&CLUSTER_ROLE, &RoleHooks),
        (&ROLE_BINDING, &BindingHooks),
        (&CLUSTER_ROLE_BINDING, &BindingHooks),
    ];
    let found = table.into_iter().find(|(of, _)| *of == kind);
    found.map_or(&NoHooks, |(_, hooks)| hooks)
}

#[derive(Debug)]
struct NoHooks;

impl Hooks for NoHooks {}

/// Services hold addresses and ports.
#[derive(Debug)]
struct ServiceHooks;

impl Hooks for ServiceHooks {
    fn reserve(&self, by: &Registry<'_>, write: Reserving<'_>) -> Result<Option<Reservation>> {
        let Reserving { value, old } = write;
        let reserved = by.api.pools.reserve(value, old, by.dry_run, &mut random::below);
        reserved.map(Some).map_err(|problem| match problem {
            PoolError::Invalid(errors) => super::admit::invalid(&SERVICE, value, errors),
            PoolError::Internal(why) => Error::Internal(why),
            PoolError::Plain(why) => Error::Refused(why),
        })
    }

    fn on_decided(
        &self,
        api: &Api,
        before: Option<&Object>,
        next: &Next,
        reservation: Option<Reservation>,
    ) -> Option<OnDecided> {
        let after = match next {
            Next::Version(object) => Some(&object.encoded[..]),
            Next::Nothing | Next::NothingAfter(_) => None,
        };
        let before = before.map(|before| &before.encoded[..]);
        Some(Arc::clone(&api.pools).on_decided(before, after, reservation))
    }

    fn shown_since(&self, api: &Api) -> Revision {
        api.services_shown_since.get().copied().unwrap_or_default()
    }
}

/// Pods take their topology from their Node.
#[derive(Debug)]
pub(crate) struct PodHooks;

impl Hooks for PodHooks {
    fn complete(&self, api: &Api, pod: &mut Value) {
        default_tolerations(&api.settings, pod);
        if let Some(node) = node(api, text(pod, &["spec", "nodeName"])) {
            topology::label(pod, &node);
        }
    }
}

impl PodHooks {
    /// The same for a binding, from which the Pod takes its labels.
    pub(crate) fn complete_binding(api: &Api, binding: &mut Value) {
        let target = &binding["target"];
        if target["kind"] != "Node" {
            return;
        }
        if let Some(node) = node(api, text(target, &["name"])) {
            topology::label(binding, &node);
        }
    }
}

fn node(api: &Api, name: &str) -> Option<Value> {
    let object = api.storage.object(&NODE, name).filter(|_| !name.is_empty())?;
    document::value(&NODE, &object).ok()
}
