//! `threshold_cases.jsonl`: from a failover threshold to Envoy's overprovisioning factor.

use evenkeel_locality::{
    Compat,
    strategy::{IntOrText, overprovisioning_factor},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::diff;

#[derive(Deserialize)]
pub(super) struct Case {
    percentage: Value,
    factor_kuma: u32,
    factor_inverse_ceil: Option<u32>,
}

pub(super) fn run(case: &Case) -> Vec<String> {
    let percentage = match &case.percentage {
        Value::Null => None,
        Value::String(text) => Some(IntOrText::Text(text.as_str().into())),
        number => match number.as_i64().and_then(|number| i32::try_from(number).ok()) {
            Some(number) => Some(IntOrText::Int(number)),
            None => return vec![format!("{number} is no percentage")],
        },
    };
    let factor = |compat| overprovisioning_factor(percentage.as_ref(), compat).ok();
    // Without an inverse the record's mode refuses the percentage.
    let expected = json!({"kuma": case.factor_kuma, "record": case.factor_inverse_ceil});
    let got = json!({"kuma": factor(Compat::Kuma), "record": factor(Compat::Record)});
    diff("", &expected, &got)
}
