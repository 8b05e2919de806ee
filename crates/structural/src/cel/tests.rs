//! Facts of Kubernetes: rules that hold, what they cost, and the cost that is estimated for them.
//!
//! `kubernetes.jsonl` has the tables of `celcoststability_test.go`. Rules that this server does not
//! support, or whose cost differs, are listed here.

use serde_json::Value as Json;

use super::{
    check::{OldSelf, check},
    declaration::declare,
    eval::{Meter, Variables, evaluate},
    value::{Value, of_data},
};
use crate::schema::Schema;

/// `%e` reads `3.14e+00` here, and has digits of a locale there.
const OTHER_RESULTS: [&str; 1] = ["'%e'.format([3.14]) == '3.140000×10⁰⁰'"];

fn cases() -> Vec<Json> {
    let lines = include_str!("tests/kubernetes.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn rules_hold_at_the_cost_that_they_have_in_kubernetes() {
    let (mut differences, mut unsupported) = (Vec::new(), 0);
    for case in cases() {
        let declaration = declare(&Schema::parse(&case["schema"]).unwrap(), true).unwrap();
        let this = of_data(&case["object"], &declaration).unwrap();
        for (rule, cost) in case["costs"].as_object().unwrap() {
            let program = match check(rule, &declaration, OldSelf::Plain) {
                Ok((program, _)) => program,
                Err(error) if error.contains("is not supported by this server") => {
                    unsupported += 1;
                    continue;
                }
                Err(error) => {
                    differences.push(error);
                    continue;
                }
            };
            let variables = Variables { this: this.clone(), old_this: None };
            let mut meter = Meter::new();
            let holds = match evaluate(&program, &variables, &mut meter) {
                Ok(Value::Bool(holds)) => holds,
                _ => false,
            };
            if !holds && !OTHER_RESULTS.contains(&rule.as_str()) {
                differences.push(format!("{rule}: does not hold"));
            }
            if *cost != meter.cost() {
                differences.push(format!("{rule}: costs {}, not {cost}", meter.cost()));
            }
        }
    }
    assert_eq!(differences.join("\n"), "");
    assert_eq!(unsupported, 25);
}

#[test]
fn costs_are_estimated_as_kubernetes_estimates_them() {
    let mut differences = Vec::new();
    for case in cases() {
        let declaration = declare(&Schema::parse(&case["schema"]).unwrap(), true).unwrap();
        for (rule, cost) in case["estimates"].as_object().unwrap() {
            match check(rule, &declaration, OldSelf::Plain) {
                Ok((program, _)) if *cost == program.most_cost => {}
                Ok((program, _)) => {
                    differences.push(format!("{rule}: costs {}, not {cost}", program.most_cost));
                }
                Err(error) if error.contains("is not supported by this server") => {}
                Err(error) => differences.push(error),
            }
        }
    }
    assert_eq!(differences.join("\n"), "");
}
