//! Validation of scenarios.

use std::collections::BTreeSet;

use evenkeel_fairness::simulate::Draw;

use super::spec::{ArrivalsSpec, DrawSpec, FlowSpec, ScenarioSpec};

const MAX_SEATS: u32 = 1_000_000;

/// The field, and the problem.
pub(super) type Wrong = (String, String);

impl ScenarioSpec {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        seats("server.concurrencyLimit", self.server.concurrency_limit)?;
        ensure(!self.duration.0.is_zero(), "duration", "must be greater than 0")?;
        ensure(self.warmup.0 < self.duration.0, "warmup", "must be shorter than the duration")?;
        ensure(!self.flows.is_empty(), "flows", "must not be empty")?;
        let mut names = BTreeSet::new();
        for (number, flow) in self.flows.iter().enumerate() {
            let field = |name: &str| format!("flows[{number}].{name}");
            ensure(names.insert(&flow.name), &field("name"), "is used by another flow")?;
            flow.check(&field)?;
        }
        let mut names = BTreeSet::new();
        for (number, configuration) in self.configurations.iter().enumerate() {
            let field = |name: &str| format!("configurations[{number}].{name}");
            let is_new = names.insert(&configuration.name);
            ensure(is_new, &field("name"), "is used by another configuration")?;
            if let Some(limit) = configuration.concurrency_limit {
                seats(&field("concurrencyLimit"), limit)?;
            }
            for (number, change) in configuration.changes.iter().enumerate() {
                if let Some(limit) = change.concurrency_limit {
                    seats(&field(&format!("changes[{number}].concurrencyLimit")), limit)?;
                }
            }
        }
        Ok(())
    }
}

impl FlowSpec {
    fn check(&self, field: &dyn Fn(&str) -> String) -> Result<(), Wrong> {
        ensure(!self.name.is_empty(), &field("name"), "must not be empty")?;
        ensure(self.clients > 0, &field("clients"), "must be greater than 0")?;
        if let ArrivalsSpec::Closed { outstanding, think } = self.arrivals {
            let outstanding_field = field("arrivals.closed.outstanding");
            ensure(outstanding > 0, &outstanding_field, "must be greater than 0")?;
            think.check(&field("arrivals.closed.think"))?;
        }
        self.service.check(&field("service"))?;
        if let ArrivalsSpec::Closed { think, .. } = self.arrivals {
            let takes_time = !(self.service.is_zero() && think.is_zero());
            let problem = "must be greater than 0 if `think` is 0";
            ensure(takes_time, &field("service"), problem)?;
        }
        let width = self.seats.width();
        ensure(width.max_seats() > 0, &field("seats"), "must be greater than 0")?;
        let most = format!("must be at most {MAX_SEATS}");
        ensure(width.max_seats() <= MAX_SEATS, &field("seats"), &most)?;
        let ends_later = self.until.is_none_or(|until| until.0 > self.from.0);
        ensure(ends_later, &field("until"), "must be after `from`")?;
        let sends = self.burst.is_none_or(|burst| !burst.on.0.is_zero());
        ensure(sends, &field("burst.on"), "must be greater than 0")
    }
}

impl DrawSpec {
    fn is_zero(&self) -> bool {
        match self.0 {
            Draw::Constant(longest)
            | Draw::Exponential { mean: longest }
            | Draw::Uniform { max: longest, .. }
            | Draw::LogNormal { median: longest, .. }
            | Draw::Pareto { min: longest, .. } => longest.is_zero(),
        }
    }

    fn check(&self, field: &str) -> Result<(), Wrong> {
        match self.0 {
            Draw::Constant(_) | Draw::Exponential { .. } => Ok(()),
            Draw::Uniform { min, max } => ensure(min <= max, field, "min must not exceed max"),
            Draw::LogNormal { sigma, .. } => {
                ensure((0.0..=10.0).contains(&sigma), field, "sigma must be from 0 to 10")
            }
            Draw::Pareto { shape, .. } => {
                ensure((0.1..=100.0).contains(&shape), field, "shape must be from 0.1 to 100")
            }
        }
    }
}

fn ensure(holds: bool, field: &str, problem: &str) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err((field.to_owned(), problem.to_owned())) }
}

fn seats(field: &str, seats: u32) -> Result<(), Wrong> {
    let problem = format!("must be from 1 to {MAX_SEATS}, not {seats}");
    ensure((1..=MAX_SEATS).contains(&seats), field, &problem)
}
