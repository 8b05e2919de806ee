//! Locality-aware load balancing: what MeshLoadBalancingStrategy makes of the endpoints of a service.
//!
//! Synchronous and without effects: policies, clients and endpoints in; groups with priorities and
//! weights out, together with the reasons. What does *not* live here: encoding for Envoy (crate
//! `xds`), streams and watches (crate `xds-server`).
//!
//! ```text
//!   JSON ──decode──► Spec ──validate──► Strategy ──┐
//!                                                  ├─assign──► LoadAssignment + reasons
//!                         client, endpoints ───────┘
//! ```

mod assign;
pub mod decode;
mod field_error;
pub mod inspect;
mod lint;
pub mod predict;
pub mod resource;
pub mod strategy;
mod target_ref;
pub mod view;

pub use crate::{
    assign::{AssignReason, Assigned, Client, Place, assign, assign_at},
    field_error::{Errors, FieldError, FieldPath},
    lint::{
        Finding, FoundIn, FoundInPlans, ListOfZones, Severity, Strategies, lint, lint_plans,
        lint_resources,
    },
    strategy::{Conf, Spec, Strategy},
    target_ref::{ProxyType, TargetKind, TargetRef},
};

/// Whose behaviour counts where Kuma departs from its own decision record.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Compat {
    /// The decision record, read literally.
    #[default]
    Record,
    /// What Kuma does, for those who migrate from it.
    Kuma,
}
