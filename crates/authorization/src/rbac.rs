//! Role-based access control, as in `rbac.authorization.k8s.io/v1`.
//!
//! Rights only add up: a user may do what any rule of any role allows that a binding gives to the
//! user or to one of the user's groups. A ClusterRoleBinding gives a ClusterRole everywhere, a
//! RoleBinding gives a Role or ClusterRole within its namespace.

pub mod aggregate;
mod cells;
pub mod defaults;
pub mod escalation;
mod grants;
mod intern;
mod object;
mod policy;
mod reason;
mod rule;
mod rules;
mod single;
mod verbs;
mod wanted;
mod words;

pub use self::{
    escalation::Escalation,
    object::{Binding, Role, RoleRef, Subject},
    policy::Policy,
    reason::{Reason, Unresolved},
    rule::Rule,
    rules::Rules,
};

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";
