//! Whether a scenario makes sense.

use std::collections::BTreeSet;

use evenkeel_fairness::simulate::Draw;

use super::form::{ArrivalsForm, DrawForm, FlowForm, ScenarioForm};

const MAX_SEATS: u32 = 1_000_000;

/// The field, and what is wrong with it.
pub(super) type Wrong = (String, String);

impl ScenarioForm {
    pub(super) fn check(&self) -> Result<(), Wrong> {
        seats("server.concurrencyLimit", self.server.concurrency_limit)?;
        ensure(!self.duration.0.is_zero(), "duration", "is 0; nothing would happen")?;
        ensure(self.warmup.0 < self.duration.0, "warmup", "is not shorter than the duration")?;
        ensure(!self.flows.is_empty(), "flows", "is empty; nothing would happen")?;
        let mut names = BTreeSet::new();
        for (number, flow) in self.flows.iter().enumerate() {
            let field = |name: &str| format!("flows[{number}].{name}");
            ensure(names.insert(&flow.name), &field("name"), "is that of another flow")?;
            flow.check(&field)?;
        }
        let mut names = BTreeSet::new();
        for (number, configuration) in self.configurations.iter().enumerate() {
            let field = |name: &str| format!("configurations[{number}].{name}");
            let is_new = names.insert(&configuration.name);
            ensure(is_new, &field("name"), "is that of another configuration")?;
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

impl FlowForm {
    fn check(&self, field: &dyn Fn(&str) -> String) -> Result<(), Wrong> {
        ensure(!self.name.is_empty(), &field("name"), "is empty")?;
        ensure(self.clients > 0, &field("clients"), "is 0; nobody would send")?;
        if let ArrivalsForm::Closed { outstanding, think } = self.arrivals {
            let outstanding_field = field("arrivals.closed.outstanding");
            ensure(outstanding > 0, &outstanding_field, "is 0; nobody would send")?;
            think.check(&field("arrivals.closed.think"))?;
        }
        self.service.check(&field("service"))?;
        if let ArrivalsForm::Closed { think, .. } = self.arrivals {
            let takes_time = !(self.service.is_zero() && think.is_zero());
            let problem = "is 0, and so is `think`; time would stand still";
            ensure(takes_time, &field("service"), problem)?;
        }
        let width = self.seats.width();
        ensure(width.max_seats() > 0, &field("seats"), "is 0; a request takes at least one")?;
        let most = format!("is above {MAX_SEATS}");
        ensure(width.max_seats() <= MAX_SEATS, &field("seats"), &most)?;
        let ends_later = self.until.is_none_or(|until| until.0 > self.from.0);
        ensure(ends_later, &field("until"), "is not after `from`")?;
        let sends = self.burst.is_none_or(|burst| !burst.on.0.is_zero());
        ensure(sends, &field("burst.on"), "is 0; nobody would send")
    }
}

impl DrawForm {
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
            Draw::Uniform { min, max } => ensure(min <= max, field, "min is above max"),
            Draw::LogNormal { sigma, .. } => {
                ensure((0.0..=10.0).contains(&sigma), field, "sigma is not from 0 to 10")
            }
            Draw::Pareto { shape, .. } => {
                ensure((0.1..=100.0).contains(&shape), field, "shape is not from 0.1 to 100")
            }
        }
    }
}

fn ensure(holds: bool, field: &str, problem: &str) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err((field.to_owned(), problem.to_owned())) }
}

fn seats(field: &str, seats: u32) -> Result<(), Wrong> {
    let problem = format!("{seats} is not from 1 to {MAX_SEATS}");
    ensure((1..=MAX_SEATS).contains(&seats), field, &problem)
}
