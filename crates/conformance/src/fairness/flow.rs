//! The hash of a flow.

use evenkeel_fairness::flow::flow_hash;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{Outcome, diff};

#[derive(Deserialize)]
struct Case {
    flow_schema: String,
    distinguisher: String,
    /// A decimal number: it may be more than JSON's numbers hold.
    hash: Value,
}

pub(super) fn hashes(case: Value) -> Outcome {
    let Case { flow_schema, distinguisher, hash } = serde_json::from_value(case)?;
    let got = flow_hash(&flow_schema, &distinguisher).to_string();
    Ok(diff(".hash", &hash, &json!(got)))
}
