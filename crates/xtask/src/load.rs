//! `cargo xtask load`: scenarios over real sockets that take too long for the tests.

use clap::builder::PossibleValuesParser;

use crate::{
    Failure,
    program::{program, status},
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which scenario
    #[arg(value_parser = PossibleValuesParser::new(SCENARIOS.iter().map(|(name, _)| *name)))]
    name: String,
}

/// By name: what cargo runs, which fails if the outcome is not as it should be.
const SCENARIOS: &[(&str, &str)] = &[
    ("kill", "test --locked --release -q -p evenkeel --test apiserver kill:: -- --nocapture"),
    ("spike", "run --locked --release -q -p tower-fairness --example spike"),
];

/// So many times the server is killed, unless the environment says otherwise.
const ROUNDS: (&str, &str) = ("EVENKEEL_ROUNDS", "200");

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let scenario = SCENARIOS.iter().find(|(name, _)| *name == args.name);
    let (name, words) = scenario.expect("clap lets only known names through");
    let mut cargo = program("cargo");
    cargo.args(words.split_whitespace());
    if std::env::var_os(ROUNDS.0).is_none() {
        cargo.env(ROUNDS.0, ROUNDS.1);
    }
    if status(cargo)?.success() {
        return Ok(());
    }
    Err(Failure::Step { name: format!("load {name}"), alone: format!("cargo {words}") })
}
