//! The registry: create, update and delete of objects, below the verbs and without HTTP.
//!
//! ```text
//! verbs ──────────┐                    ┌► create ─┐
//! chain::actor ───┴► Registry (caller) ┼► update ─┼► admit: defaults, hooks, validation ─► storage
//!                                      └► delete ─┘
//! ```
//!
//! A write is the same whoever makes it: the verbs for clients, and the server's own actors. The
//! caller's identity travels with each call, because some kinds depend on it (`hooks`). Source:
//! `k8s.io/apiserver/pkg/registry/generic/registry/store.go`.

pub(crate) mod admit;
mod create;
mod delete;
mod delete_each;
mod error;
mod escalation;
mod hooks;
pub(crate) mod lifecycle;
mod node_restriction;
mod update;

use jiff::Timestamp;

pub(crate) use self::{
    admit::UpdateStrategy,
    create::Created,
    delete::Removed,
    delete_each::{Target, delete_each},
    error::{Error, details},
    hooks::{PodHooks, of as hooks_of},
    lifecycle::{DeleteOptions, Propagation},
    node_restriction::NodeWrite,
    update::{Edit, Place, Replacing, Updated, precondition_failed},
};
use crate::{api::Api, identity::User};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The registry as one caller uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registry<'a> {
    pub(crate) api: &'a Api,
    pub(crate) user: &'a User,
    pub(crate) now: Timestamp,
    /// Nothing is written; the result is what it would be. Deletes have their own option.
    pub(crate) dry_run: bool,
}
