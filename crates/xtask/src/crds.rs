//! `cargo xtask crds`: writes `deploy/crds`. An example does it, which knows the types.

use crate::{
    Failure,
    program::{program, status},
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compare instead of writing; fails where a file is out of date
    #[arg(long)]
    check: bool,
}

const RUN: &str = "run --locked -q -p evenkeel-xtask --example crds --";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut cargo = program("cargo");
    cargo.args(RUN.split_whitespace()).args(args.check.then_some("--check"));
    let alone = if args.check { "cargo xtask crds --check" } else { "cargo xtask crds" }.to_owned();
    match status(cargo)?.code() {
        Some(0) => Ok(()),
        Some(_) => Err(Failure::Step { name: "crds".to_owned(), alone }),
        None => Err(Failure::Killed { command: alone }),
    }
}
