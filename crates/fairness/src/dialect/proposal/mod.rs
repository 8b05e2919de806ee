//! The proposal's dialect: `RequestPriority` and `FlowSchema`, with the boolean tests and the regex
//! transformation that Kubernetes left out. `evenkeel.dev/v1alpha1` in the usual form of objects;
//! the form in which the proposal prints them is read as well.

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
