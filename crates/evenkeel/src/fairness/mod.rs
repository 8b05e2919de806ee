//! `evenkeel fairness`.

mod args;
mod attributes;
mod collisions;
mod configuration;
mod lint;
mod matching;
mod scenario;
mod simulate;
mod units;

pub(crate) use self::args::FairnessCommand;
use crate::error::Error;

pub(crate) fn run(command: &FairnessCommand) -> Result<(), Error> {
    match command {
        FairnessCommand::Simulate(args) => simulate::run(args),
        FairnessCommand::Match(args) => matching::run(args),
        FairnessCommand::Lint(args) => lint::run(args),
        FairnessCommand::Collisions(args) => collisions::run(args),
    }
}
