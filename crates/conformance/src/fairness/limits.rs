//! `concurrency_allocation.jsonl` and `seed_acv.jsonl`: how seats are divided among levels.

use std::{collections::BTreeMap, time::Duration};

use evenkeel_fairness::{
    config::{Handling, Level, Queuing},
    limits::{
        adjust::{LevelState, adjust},
        allocate::{Class, allocate},
        demand::DemandStats,
        nominal,
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{Outcome, diff};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Case {
    Static(Static),
    Alloc { required_sum: i64, classes: Vec<ClassCase>, expect: Allocated },
    Borrow(Borrow),
}

#[derive(Deserialize)]
struct Static {
    server_concurrency_limit: u32,
    nominal_sum: u64,
    priority_levels: Vec<LevelCase>,
    expect: BTreeMap<String, Value>,
    #[serde(default)]
    near_half: bool,
}

#[derive(Deserialize)]
struct Borrow {
    #[serde(rename = "limits")]
    expect: BTreeMap<String, Value>,
    server_concurrency_limit: u32,
    nominal_sum: u64,
    priority_levels: Vec<LevelCase>,
    steps: Vec<Step>,
    #[serde(default)]
    near_half: bool,
}

#[derive(Deserialize)]
struct LevelCase {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    nominal_concurrency_shares: Option<u32>,
    lendable_percent: Option<u32>,
    borrowing_limit_percent: Option<u32>,
    queues: Option<u32>,
    hand_size: Option<u32>,
    queue_length_limit: Option<u32>,
}

#[derive(Deserialize)]
struct Step {
    demand: BTreeMap<String, DemandCase>,
    expect: BTreeMap<String, StepExpect>,
}

#[derive(Deserialize)]
struct DemandCase {
    duration_s: f64,
    average: f64,
    stdev: f64,
    max: u32,
}

#[derive(Deserialize)]
struct StepExpect {
    current: u32,
    smoothed: f64,
    high_watermark: u32,
}

#[derive(Deserialize)]
struct ClassCase {
    target: f64,
    lower: f64,
    upper: f64,
}

#[derive(Deserialize)]
struct Allocated {
    #[serde(default)]
    error: bool,
    #[serde(default)]
    allocs: Vec<f64>,
    #[serde(default)]
    fair_prop: f64,
}

#[derive(Deserialize)]
struct AcvCase {
    server_concurrency_limit: u32,
    levels: Vec<AcvLevel>,
    #[serde(default)]
    undefined: bool,
    #[serde(default)]
    expect: Value,
}

#[derive(Deserialize)]
struct AcvLevel {
    name: String,
    #[serde(default)]
    exempt: bool,
    #[serde(default)]
    assured_concurrency_shares: u32,
}

pub(super) fn concurrency_allocation(case: Value) -> Outcome {
    Ok(match serde_json::from_value(case)? {
        Case::Static(case) => begin(&case).1,
        Case::Alloc { required_sum, classes, expect } => alloc(required_sum, &classes, &expect),
        Case::Borrow(case) => borrow(case),
    })
}

/// The levels right after loading, and how they differ from what is expected.
fn begin(case: &Static) -> (BTreeMap<String, LevelState>, Vec<String>) {
    let levels = with_implied(&case.priority_levels);
    let limits = match nominal::limits(levels.iter(), case.server_concurrency_limit) {
        Ok(limits) => limits,
        Err(problem) => return (BTreeMap::new(), vec![problem.to_string()]),
    };
    let mut states = BTreeMap::new();
    for (level, limits) in levels.iter().zip(limits) {
        let exempt = level.handling == Handling::Exempt;
        let state = LevelState { exempt, limits, ..LevelState::default() };
        states.insert(level.name.to_string(), state);
    }
    adjust(states.values_mut().map(|state| (state, DemandStats::default())));
    let mut got = BTreeMap::new();
    for (name, LevelState { limits, .. }) in &states {
        let current = near(case.near_half, limits.current, case.expect.get(name));
        let mut value = json!({
            "nominal": limits.nominal, "min": limits.min, "max": limits.max, "current": current,
        });
        if let Some(seats) = limits.max_seats {
            value["max_seats"] = json!(seats);
        }
        got.insert(name, value);
    }
    let sum: u64 = states.values().map(|state| u64::from(state.limits.nominal)).sum();
    let mut diffs = diff("", &json!(case.expect), &json!(got));
    diffs.extend(diff("nominal_sum", &json!(case.nominal_sum), &json!(sum)));
    (states, diffs)
}

fn borrow(case: Borrow) -> Vec<String> {
    let Borrow { expect, server_concurrency_limit, nominal_sum, priority_levels, steps, near_half } =
        case;
    let loaded =
        Static { server_concurrency_limit, nominal_sum, priority_levels, expect, near_half };
    let (mut states, mut diffs) = begin(&loaded);
    for (number, step) in steps.iter().enumerate() {
        let demand = |name: &String| step.demand.get(name).map_or_else(Default::default, stats);
        adjust(states.iter_mut().map(|(name, state)| (state, demand(name))));
        for (name, expect) in &step.expect {
            let at = format!("step {number}.{name}");
            let Some(LevelState { limits, need, .. }) = states.get(name) else {
                diffs.push(format!("{at}: there is no such level"));
                continue;
            };
            let smoothed = (need.smoothed - expect.smoothed).abs() <= 1e-9;
            let smoothed = if smoothed { expect.smoothed } else { need.smoothed };
            let apart = limits.current.abs_diff(expect.current);
            let current = if near_half && apart <= 1 { expect.current } else { limits.current };
            diffs.extend(diff(
                &at,
                &json!([expect.current, expect.high_watermark, expect.smoothed]),
                &json!([current, need.high_watermark, smoothed]),
            ));
        }
    }
    diffs
}

/// What was expected, within a tolerance of one.
fn near(near_half: bool, got: u32, expected: Option<&Value>) -> u32 {
    let expected = expected.and_then(|level| level["current"].as_u64());
    let expected = expected.and_then(|seats| u32::try_from(seats).ok());
    expected.filter(|seats| near_half && got.abs_diff(*seats) <= 1).unwrap_or(got)
}

fn stats(case: &DemandCase) -> DemandStats {
    DemandStats {
        duration: Duration::try_from_secs_f64(case.duration_s).unwrap_or_default(),
        average: case.average,
        stdev: case.stdev,
        high_watermark: case.max,
    }
}

fn with_implied(cases: &[LevelCase]) -> Vec<Level> {
    let mut levels: Vec<Level> = cases.iter().map(level).collect();
    for (name, shares, handling) in
        [("exempt", 0, Handling::Exempt), ("catch-all", 5, Handling::Reject)]
    {
        if !levels.iter().any(|level| &*level.name == name) {
            levels.push(Level { implied: true, ..bare(name, shares, handling) });
        }
    }
    levels
}

fn level(case: &LevelCase) -> Level {
    let handling = match (case.kind.as_str(), case.queues) {
        ("Exempt", _) => Handling::Exempt,
        (_, Some(queues)) => Handling::Queue(Queuing {
            queues,
            hand_size: case.hand_size.unwrap_or_default(),
            queue_length_limit: case.queue_length_limit.unwrap_or_default(),
        }),
        _ => Handling::Reject,
    };
    let shares = case.nominal_concurrency_shares.unwrap_or_default();
    Level {
        lendable_percent: case.lendable_percent.unwrap_or_default(),
        borrowing_limit_percent: case.borrowing_limit_percent,
        ..bare(&case.name, shares, handling)
    }
}

fn bare(name: &str, shares: u32, handling: Handling) -> Level {
    Level {
        name: name.into(),
        uid: "".into(),
        shares,
        lendable_percent: 0,
        borrowing_limit_percent: None,
        handling,
        implied: false,
    }
}

fn alloc(required: i64, classes: &[ClassCase], expect: &Allocated) -> Vec<String> {
    let class = |case: &ClassCase| {
        let ClassCase { target, lower, upper } = *case;
        Class { target, lower, upper }
    };
    let classes: Vec<Class> = classes.iter().map(class).collect();
    // A negative sum can't be asked for, which is as good as an error.
    let got = u64::try_from(required).ok().map(|required| allocate(required, &classes));
    match got {
        Some(Ok(got)) => {
            let close = |a: f64, b: f64| (a - b).abs() <= 1e-6;
            let mut pairs = got.allocations.iter().zip(&expect.allocs);
            let as_expected = !expect.error
                && got.allocations.len() == expect.allocs.len()
                && pairs.all(|(a, b)| close(*a, *b))
                && close(got.fair_proportion, expect.fair_prop);
            if as_expected { Vec::new() } else { vec![format!("got {got:?}")] }
        }
        Some(Err(problem)) if !expect.error => vec![format!("rejected: {problem}")],
        None if !expect.error => vec!["a negative sum".to_owned()],
        _ => Vec::new(),
    }
}

pub(super) fn seed_acv(case: Value) -> Outcome {
    let case: AcvCase = serde_json::from_value(case)?;
    let level = |level: &AcvLevel| {
        let handling = if level.exempt { Handling::Exempt } else { Handling::Reject };
        bare(&level.name, if level.exempt { 0 } else { level.assured_concurrency_shares }, handling)
    };
    let levels: Vec<Level> = case.levels.iter().map(level).collect();
    let undefined = case.undefined || case.expect["undefined"] == true;
    let limits = match nominal::limits(levels.iter(), case.server_concurrency_limit) {
        Ok(limits) => limits,
        Err(_) if undefined => return Ok(Vec::new()),
        Err(problem) => return Ok(vec![problem.to_string()]),
    };
    if undefined {
        return Ok(vec![format!("expected none, got {limits:?}")]);
    }
    let pairs = levels.iter().zip(&limits).filter(|(level, _)| level.handling != Handling::Exempt);
    let acv: BTreeMap<&str, u32> =
        pairs.map(|(level, limits)| (&*level.name, limits.nominal)).collect();
    let sum: u64 = acv.values().map(|seats| u64::from(*seats)).sum();
    Ok(diff("", &case.expect, &json!({ "acv": acv, "sum": sum })))
}
