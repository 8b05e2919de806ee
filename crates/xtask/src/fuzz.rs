//! `cargo xtask fuzz`: builds and starts the fuzzer, which knows its own options.
//!
//! It is built without optimisation of our own crates, because that build has overflow checks and
//! debug assertions, and the tests have made it already.

use crate::{
    Failure,
    program::{program, status},
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// See `cargo xtask fuzz --help`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

const RUN: &str = "run --locked -q -p evenkeel-xtask --example fuzz --";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut cargo = program("cargo");
    cargo.args(RUN.split_whitespace()).args(&args.args);
    let status = status(cargo)?;
    let alone = format!("cargo xtask fuzz {}", args.args.join(" "));
    match status.code() {
        Some(0) => Ok(()),
        Some(_) => Err(Failure::Step { name: "fuzz".to_owned(), alone }),
        // Cargo becomes the program it runs, so a signal that ends that one shows here.
        None => Err(Failure::Killed { command: alone }),
    }
}
