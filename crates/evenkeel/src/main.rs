//! `evenkeel`: keeps traffic near and requests fair.
//!
//! The command line, settings and wiring; every decision is made in the crates below. Data goes to
//! stdout, all else to stderr, both through [`printer`]. Exit codes: 0 done, 1 failed, 2 wrong
//! usage or bad input.

mod analyze;
mod apiserver;
mod cli;
mod controller;
mod duration;
mod error;
mod exit;
mod explain;
mod fairness;
mod find;
mod input;
mod logging;
mod output;
mod plan;
mod printer;
mod progress;
mod sample;
mod settings;
mod status;
mod table;
mod up;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::{
    cli::{Cli, Command},
    error::Error,
    exit::Exit,
};

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let outcome = match command {
        Command::Up(args) => up::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Analyze(args) => return ended(analyze::run(&args)),
        Command::Plan(args) if args.diff => return ended(plan::run(&args)),
        Command::Plan(args) => plan::run(&args).map(|_| ()),
        Command::Fairness { command } => fairness::run(&command),
        Command::Controller(args) => controller::run(&args),
        Command::Apiserver(args) => apiserver::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "evenkeel", &mut script);
            printer::data(&String::from_utf8_lossy(&script))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            printer::error(&error);
            error.exit_code()
        }
    }
}

/// How a command with findings ends.
fn ended(outcome: Result<Exit, Error>) -> ExitCode {
    match outcome {
        Ok(exit) => exit.code(),
        Err(error) => {
            printer::error(&error);
            analyze::exit_of(&error).map_or_else(|| error.exit_code(), Exit::code)
        }
    }
}
