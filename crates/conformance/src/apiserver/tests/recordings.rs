//! Every recorded response equals itself with generated values, and no longer does when one leaf is
//! changed.

use std::fs;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    apiserver::{
        bind::{Bindings, Kind, Piece, Placeholder, pieces},
        compare::compare,
        later::{Later, later},
        scenario::{Scenario, Step},
    },
    report::case_files,
    vectors,
};

fn each_scenario(mut check: impl FnMut(&str, &Scenario)) {
    let dir = vectors().join("apiserver");
    for file in case_files(&dir).unwrap() {
        if file.starts_with("kubectl") || file.starts_with("openapi") {
            continue;
        }
        for line in fs::read_to_string(dir.join(&file)).unwrap().lines() {
            check(&file, &serde_json::from_str(line).unwrap());
        }
    }
}

/// The values compared as a whole, in the order of the steps.
fn answers(scenario: &Scenario) -> Vec<Value> {
    let answer = |step: &Step| match step {
        Step::Request(e) | Step::WatchStart { exchange: e, .. } => {
            Some(json!({"body": e.response.body, "headers": e.response.headers}))
        }
        Step::WatchCollect { events, closed, .. } => {
            Some(json!({"events": events, "closed": closed}))
        }
        Step::Setup(_) | Step::Cleanup | Step::Sleep(_) | Step::Compact => None,
    };
    scenario.steps.iter().filter_map(answer).collect()
}

fn made_up(value: &Value, order: &[u32]) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(k, v)| (k.clone(), made_up(v, order))).collect()
        }
        Value::Array(elements) => elements.iter().map(|e| made_up(e, order)).collect(),
        Value::String(text) => made_up_text(text, order),
        other => other.clone(),
    }
}

fn made_up_text(text: &str, order: &[u32]) -> Value {
    let pieces = pieces(text);
    if let [Piece::Placeholder(Placeholder { kind: Kind::Port, number })] = pieces[..] {
        return (30000 + number.unwrap()).into();
    }
    let of = |piece: &Piece<'_>| match piece {
        Piece::Text(text) => (*text).to_owned(),
        Piece::Placeholder(placeholder) => real(*placeholder, order),
    };
    pieces.iter().map(of).collect::<String>().into()
}

fn real(placeholder: Placeholder, order: &[u32]) -> String {
    let n = placeholder.number.unwrap_or(0);
    let rank = || order.iter().position(|number| *number == n).unwrap_or(n as usize);
    match placeholder.kind {
        Kind::Uid => format!("{n:08x}-0000-4000-8000-000000000000"),
        Kind::Rv => (1000 + rank()).to_string(),
        Kind::Ip => format!("10.96.1.{n}"),
        Kind::Time => Timestamp::now().to_string(),
        Kind::Age => "5s".to_owned(),
        Kind::ListRv | Kind::Port | Kind::Seconds => format!("7{n}"),
        Kind::Continue | Kind::Rand | Kind::Object | Kind::Hash | Kind::Masked => format!("x{n}"),
    }
}

#[test]
fn every_recorded_answer_equals_itself() {
    each_scenario(|file, scenario| {
        let order = scenario.rv_order.as_deref().unwrap_or_default();
        let mut bindings = Bindings::default();
        for answer in answers(scenario) {
            let got = compare("", &answer, &made_up(&answer, order), &mut bindings);
            assert!(got.is_empty(), "{file} {}: {got:?}", scenario.id);
        }
        if scenario.rv_order.is_some() {
            bindings.check_order(order).unwrap();
        }
    });
}

#[test]
fn no_changed_answer_is_taken_for_the_recorded_one() {
    let mut n_mutants = 0;
    each_scenario(|file, scenario| {
        let order = scenario.rv_order.as_deref().unwrap_or_default();
        let mut bindings = Bindings::default();
        for answer in answers(scenario) {
            let real = made_up(&answer, order);
            for (at, mutant) in mutants(&answer, &real) {
                let found = compare("", &answer, &mutant, &mut bindings.clone());
                assert!(!found.is_empty(), "{file} {}: {at} changed", scenario.id);
                n_mutants += 1;
            }
            compare("", &answer, &real, &mut bindings);
        }
    });
    assert!(n_mutants > 10_000, "{n_mutants}");
}

/// All values that differ from the real one in one place, with its path.
fn mutants(recorded: &Value, real: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for pointer in pointers(recorded, "") {
        let old = real.pointer(&pointer).unwrap();
        let is_free = recorded.pointer(&pointer).is_some_and(is_free);
        let changed = match old {
            Value::String(_) if is_free => continue,
            Value::String(text) => json!(format!("{text}x")),
            // Large ones differ from their successors by more than one.
            Value::Number(number) => json!(number.as_f64().unwrap() * 2.0 + 1.0),
            Value::Bool(value) => json!(!value),
            Value::Null => json!({}),
            Value::Object(fields) => {
                let mut more = fields.clone();
                more.insert("zzz".to_owned(), Value::Null);
                json!(more)
            }
            Value::Array(elements) => {
                json!(elements.iter().chain([&Value::Null]).collect::<Vec<_>>())
            }
        };
        let mut mutant = real.clone();
        *mutant.pointer_mut(&pointer).unwrap() = changed;
        found.push((pointer.clone(), mutant));
        if let Some(mutant) = without(real, &pointer) {
            found.push((format!("{pointer} removed"), mutant));
        }
    }
    found
}

/// Whether any text may end here.
fn is_free(recorded: &Value) -> bool {
    let Value::String(text) = recorded else { return false };
    let free = [Kind::Continue, Kind::Rand, Kind::Object, Kind::Hash, Kind::Masked];
    matches!(pieces(text).last(), Some(Piece::Placeholder(p)) if free.contains(&p.kind))
}

fn pointers(value: &Value, at: &str) -> Vec<String> {
    let mut found = vec![at.to_owned()];
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                found.extend(pointers(value, &format!("{at}/{key}")));
            }
        }
        Value::Array(elements) => {
            for (i, value) in elements.iter().enumerate() {
                found.extend(pointers(value, &format!("{at}/{i}")));
            }
        }
        _ => {}
    }
    found
}

fn without(real: &Value, pointer: &str) -> Option<Value> {
    let (parent, key) = pointer.rsplit_once('/')?;
    let mut mutant = real.clone();
    match mutant.pointer_mut(parent)? {
        Value::Object(fields) => fields.remove(&key.replace("~1", "/").replace("~0", "~")),
        Value::Array(elements) => Some(elements.remove(key.parse().ok()?)),
        _ => None,
    }?;
    Some(mutant)
}

#[test]
fn most_scenarios_are_not_for_later() {
    let (mut now, mut partly, mut all) = (0, 0, 0);
    each_scenario(|file, scenario| match later(file, scenario) {
        Later::Nothing => now += 1,
        Later::Steps => partly += 1,
        Later::All => all += 1,
    });
    assert!(now > all + partly, "{now} now, {partly} in part, {all} later");
}
