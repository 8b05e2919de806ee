//! `evenkeel`: keeps traffic near and requests fair.
//!
//! The command line, settings and wiring; every decision is made in the crates below. Data goes to
//! stdout, all else to stderr, both through [`printer`]. Exit codes: 0 success, 1 findings or another
//! failure, 2 wrong usage or bad input, 3 a cluster can't be read.

mod access;
mod analyze;
mod apiserver;
mod cli;
mod complete;
mod controller;
mod curl;
mod dashboard;
mod duration;
mod error;
mod exit;
mod explain;
mod fairness;
mod find;
mod input;
mod logging;
mod mesh;
mod migrate;
mod network;
mod output;
mod plan;
mod printer;
mod progress;
mod proxy;
mod reference;
mod sample;
mod service_patch;
mod settings;
mod status;
mod table;
mod up;
mod xds;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    cli::{Cli, Command},
    error::Error,
    exit::Exit,
};

fn main() -> ExitCode {
    complete::answer();
    let Cli { command } = Cli::parse();
    let outcome = match command {
        Command::Up(args) => clean(up::run(&args)),
        Command::Status(args) => status::run(&args),
        Command::Curl(args) => curl::run(&args),
        Command::Explain(args) => clean(explain::run(&args)),
        Command::Analyze(args) => analyze::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Migrate(args) => clean(migrate::run(&args)),
        Command::Fairness { command } => fairness::run(&command),
        Command::Controller(args) => clean(controller::run(&args)),
        Command::Proxy(args) => clean(proxy::run(&args)),
        Command::Dashboard(args) => clean(dashboard::run(&args)),
        Command::Apiserver(args) => clean(apiserver::run(&args)),
        Command::Xds(args) => clean(xds::run(&args)),
        Command::Mesh { command } => mesh::run(&command),
        Command::Completion { shell } => clean(complete::script(shell)),
        Command::Reference => clean(reference::run()),
    };
    match outcome {
        Ok(exit) => exit.code(),
        Err(error) => {
            printer::error(&error);
            error.exit_code()
        }
    }
}

/// Commands that look for no findings.
fn clean(done: Result<(), Error>) -> Result<Exit, Error> {
    done.map(|()| Exit::Clean)
}
