//! The commands that developers and CI run.
//!
//! `cargo xtask test` is the only one that decides whether a change is good; `bench`, `fuzz` and
//! `load` are recipes. What each runs is a table: [`test::STEPS`], [`prerequisites::TABLE`],
//! [`bench::BENCHES`].

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool")]

mod bench;
mod crds;
mod dist;
mod failure;
mod fuzz;
mod load;
mod prerequisites;
mod program;
mod reference;
mod test;

use std::process::ExitCode;

use clap::Parser;

use crate::failure::Failure;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "The commands of this workspace")]
enum Xtask {
    /// Check everything: format, lints, tests, documentation, conformance
    Test(test::Args),
    /// Run benchmarks
    Bench(bench::Args),
    /// Feed mutated example files to a parser
    #[command(disable_help_flag = true)]
    Fuzz(fuzz::Args),
    /// Run a scenario over real sockets, for a minute or so
    Load(load::Args),
    /// Write docs/reference from the code
    Reference(reference::Args),
    /// Write deploy/crds from the types of custom resources
    Crds(crds::Args),
    /// Build a static Linux binary with completions and a checksum into target/dist
    Dist,
}

fn main() -> ExitCode {
    let result = match Xtask::parse() {
        Xtask::Test(args) => test::run(&args),
        Xtask::Bench(args) => bench::run(&args),
        Xtask::Fuzz(args) => fuzz::run(&args),
        Xtask::Load(args) => load::run(&args),
        Xtask::Reference(args) => reference::run(&args),
        Xtask::Crds(args) => crds::run(&args),
        Xtask::Dist => dist::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nerror: {failure}");
            ExitCode::FAILURE
        }
    }
}
