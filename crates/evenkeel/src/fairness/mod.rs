//! `evenkeel fairness`.

mod args;
mod collisions;
mod configuration;
mod lint;
mod live;
mod matching;
mod scenario;
mod simulate;
mod units;

pub(crate) use self::args::FairnessCommand;
use crate::{error::Error, exit::Exit};

pub(crate) fn run(command: &FairnessCommand) -> Result<Exit, Error> {
    match command {
        FairnessCommand::Simulate(args) => simulate::run(args)?,
        FairnessCommand::Match(args) => matching::run(args)?,
        FairnessCommand::Lint(args) => return lint::run(args),
        FairnessCommand::Collisions(args) => collisions::run(args)?,
    }
    Ok(Exit::Clean)
}
