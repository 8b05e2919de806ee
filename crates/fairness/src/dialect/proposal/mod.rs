//! The proposal's dialect: `RequestPriority` and `FlowSchema`, with the boolean tests and the regex
//! transformation that Kubernetes left out. `evenkeel.dev/v1alpha1` in the usual form of objects;
//! the form in which the proposal prints them is read as well.
//!
//! An object that is wrong by itself is ignored, and a [`Problem`](super::Problem) says why. The
//! proposal's rules about several objects are [conditions](super::Condition): objects are written
//! one by one, by several people, and none of them should be able to switch off what another wrote.
//!
//! | the proposal | here, while it is not so |
//! |---|---|
//! | a schema refers to a level | the schema is not in force: `Dangling`, as in Kubernetes; levels that are implied count |
//! | no distinguisher for a level that is exempt or has one queue | the schema is in force, its distinguisher is left out: `DistinguisherIgnored` |
//! | at most one level is exempt | all of them are exempt: `ExemptConflict` of all but the first by name |
//! | a schema matches every request | backstops match the rest: `Backstop` of the level they refer to |
//!
//! A second exempt level stays exempt because the alternatives lock people out: an exempt object
//! has no shares, so as a level with limits it would get no seats; and if it were ignored, a level
//! that somebody adds would take the exemption away from one that is in use. Nothing is exempt that
//! no object declares exempt. Backstops refer to the first exempt level by name.

mod atomic;
mod backstop;
mod compile;
mod exhibited;
mod fault;
mod level;
mod object;
mod pattern;
mod schema;

pub use self::{
    atomic::{AtomicTest, Operand},
    compile::compile,
    exhibited::{Exhibited, exhibited, missing},
    fault::{Fault, NoEffect, PatternFault},
    object::{
        And, Distinguishing, FlowSchema, FlowSchemaSpec, LevelReference, Metadata, Prose,
        RequestPriority, RequestPrioritySpec, Transformation,
    },
};
use super::Located;

pub const API_VERSION: &str = "evenkeel.dev/v1alpha1";

/// Objects of this dialect, each with its location.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub levels: Vec<Located<RequestPriority>>,
    pub schemas: Vec<Located<FlowSchema>>,
}

impl Objects {
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty() && self.schemas.is_empty()
    }
}
