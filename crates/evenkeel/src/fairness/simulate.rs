//! `evenkeel fairness simulate`.

mod svg;
mod text;

use std::fs;

use evenkeel_fairness::{
    Time,
    simulate::{Report, simulate},
};
use serde::Serialize;

use self::svg::Picture;
use super::{
    args::SimulateArgs,
    scenario::{self, Comparison, Overrides},
};
use crate::{cli::ReportOutput, error::Error, input, output, printer, progress::Progress};

/// The result of one configuration.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    configuration: String,
    profile: &'static str,
    #[serde(flatten)]
    report: Report,
}

pub(crate) fn run(args: &SimulateArgs) -> Result<(), Error> {
    let (_, text) = input::read_text(&args.scenario)?;
    let overrides = Overrides { seed: args.seed, duration: args.duration };
    let comparison = scenario::read(&args.scenario, &text, overrides)?;
    let outcomes = outcomes(&comparison)?;
    if let Some(path) = &args.svg {
        let picture = Picture {
            title: &comparison.name,
            seed: comparison.scenario.seed,
            warmup: comparison.scenario.warmup.as_secs_f64(),
            outcomes: &outcomes,
        };
        fs::write(path, svg::render(picture))
            .map_err(|source| Error::Write { path: path.clone(), source })?;
    }
    let text = match args.output {
        ReportOutput::Table => text::render(&outcomes),
        ReportOutput::Json => output::json(&outcomes)?,
    };
    printer::data(&text)
}

fn outcomes(comparison: &Comparison) -> Result<Vec<Outcome>, Error> {
    let Comparison { scenario, configurations, .. } = comparison;
    let millis = u64::try_from(scenario.duration.as_millis()).unwrap_or(u64::MAX);
    let total = millis.saturating_mul(configurations.len() as u64);
    let progress = Progress::new(Some(total), "simulating milliseconds");
    let of = |(number, (name, profile, setup)): (u64, &(String, &'static str, _))| {
        let before = number.saturating_mul(millis);
        let mut tell = |at: Time| progress.at(before + at.0 / 1_000_000);
        let failed = |source| Error::Simulation { name: name.clone(), source };
        let report = simulate(scenario, setup, &mut tell).map_err(failed)?;
        Ok(Outcome { configuration: name.clone(), profile, report })
    };
    (0..).zip(configurations).map(of).collect()
}
