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
    /// How often `kill` kills the server
    #[arg(long, env = "EVENKEEL_ROUNDS", default_value_t = 200)]
    rounds: u64,
    /// How long `soak` runs
    #[arg(long, env = "EVENKEEL_SOAK_SECONDS", default_value_t = 600)]
    seconds: u64,
    /// Run `kill` or `soak` again as it was; each prints its seed
    #[arg(long, env = "EVENKEEL_SEED")]
    seed: Option<u64>,
}

/// By name: what cargo runs, which fails if the outcome is not as it should be.
const SCENARIOS: &[(&str, &str)] = &[
    ("kill", "test --locked --release -q -p evenkeel --test apiserver kill:: -- --nocapture"),
    (
        "soak",
        "test --locked --release -q -p evenkeel --test apiserver soak::everything -- --nocapture",
    ),
    ("spike", "run --locked --release -q -p tower-fairness --example spike"),
];

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let scenario = SCENARIOS.iter().find(|(name, _)| *name == args.name);
    let (name, words) = scenario.expect("clap lets only known names through");
    let mut cargo = program("cargo");
    cargo.args(words.split_whitespace());
    cargo.env("EVENKEEL_ROUNDS", args.rounds.to_string());
    cargo.env("EVENKEEL_SOAK_SECONDS", args.seconds.to_string());
    if let Some(seed) = args.seed {
        cargo.env("EVENKEEL_SEED", seed.to_string());
    }
    if status(cargo)?.success() {
        return Ok(());
    }
    Err(Failure::Step { name: format!("load {name}"), alone: format!("cargo {words}") })
}
