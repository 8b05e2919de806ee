//! Who may do what: Kubernetes' RBAC and its Node authorizer, as functions on values.
//!
//! ```text
//! Role, ClusterRole ─┐ set_role                 user, attributes
//!                    ├────────► rbac::Policy ◄──────────┤
//! bindings ──────────┘ set_binding    │                 │
//!                                     ▼                 ▼
//!                         allowed, and by what   node::authorize ◄── node::Graph ◄── Pods
//! ```
//!
//! Roles and bindings come as the JSON that is stored; what is malformed in it grants nothing. This
//! crate knows neither HTTP nor a store: who the user is, when a change is published, and what a
//! refusal looks like on the wire is decided elsewhere.

mod attributes;
pub mod node;
pub mod quote;
pub mod rbac;
mod user;

pub use self::{
    attributes::{Attributes, On, forbidden, reasons},
    user::{
        ANONYMOUS, AUTHENTICATED, MASTERS, NODES, SERVICE_ACCOUNT, SERVICE_ACCOUNTS,
        UNAUTHENTICATED, User,
    },
};
