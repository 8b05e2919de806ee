//! `retry_after.jsonl`: what clients are advised as requests are dropped.

use std::time::Duration;

use evenkeel_fairness::{Time, retry_after::RetryAfter};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{Outcome, diff};

#[derive(Deserialize)]
struct Case {
    seconds: Vec<Second>,
}

#[derive(Deserialize)]
struct Second {
    second: u64,
    drops: u32,
    retry_after: Value,
}

pub(super) fn retry_after(case: Value) -> Outcome {
    let case: Case = serde_json::from_value(case)?;
    let mut advice = RetryAfter::default();
    let after = |Second { second, drops, retry_after }: Second| {
        let now = Time::default() + Duration::from_secs(second);
        let got = (0..drops).map(|_| advice.on_drop(now)).last();
        diff(&format!("second {second}"), &retry_after, &json!(got.unwrap_or(advice.seconds())))
    };
    Ok(case.seconds.into_iter().flat_map(after).collect())
}
