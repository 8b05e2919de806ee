//! Reasons with their sentences.

use evenkeel_model::{Reason, harmless};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// Serialises with the reason's code and fields, and its sentence as `message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained<R>(pub R);

impl<R: Reason> Serialize for Explained<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = json!(self.0);
        if let Value::Object(fields) = &mut value {
            // A field of this name is part of the sentence.
            fields.insert("message".to_owned(), json!(harmless(&self.0.to_string())));
        }
        value.serialize(serializer)
    }
}
