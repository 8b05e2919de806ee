//! The condition `Established`: the resource of a definition is served.
//!
//! Source: `controller/establish/establishing_controller.go`. There is no conversion webhook whose
//! certificates could be invalid, since such definitions are refused.

use jiff::Timestamp;
use serde_json::Value;

use super::conditions::{self, Condition, ESTABLISHED, NAMES_ACCEPTED};

/// Establishes a definition whose names are accepted.
pub(crate) fn decide(definition: &mut Value, now: Timestamp) -> bool {
    if !conditions::is_true(definition, NAMES_ACCEPTED)
        || conditions::is_true(definition, ESTABLISHED)
    {
        return false;
    }
    let established = Condition {
        type_: ESTABLISHED,
        status: "True",
        reason: "InitialNamesAccepted",
        message: "the initial names have been accepted".to_owned(),
    };
    conditions::set(definition, &established, now)
}
