//! A slice being planned: its role in the plan, and its content, copied only when changed.

use std::borrow::Cow;

use evenkeel_model::{Endpoint, Slice};

/// What will happen to a slice, in the order in which slices give endpoints away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Create,
    Update,
    /// Nothing, so far. A draft whose hints must change becomes an update.
    Unchanged,
}

#[derive(Clone, Debug)]
pub struct Draft<'a> {
    pub role: Role,
    pub slice: Cow<'a, Slice>,
}

/// Takes the hints off all endpoints. Slices that had none and need no write stay unchanged.
pub(crate) fn remove_hints(drafts: &mut [Draft<'_>]) {
    for draft in drafts {
        if draft.slice.endpoints.iter().any(|e| e.hints.is_some()) {
            for endpoint in draft.change() {
                endpoint.hints = None;
            }
        }
    }
}

impl Draft<'_> {
    /// The endpoints, to be changed: the draft becomes a write.
    pub(crate) fn change(&mut self) -> &mut [Endpoint] {
        if self.role == Role::Unchanged {
            self.role = Role::Update;
        }
        &mut self.slice.to_mut().endpoints
    }
}
