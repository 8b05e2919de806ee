//! `evenkeel mesh`: what the proxies of a mesh are told and why, what a change would do, and who has it.

mod admin;
mod args;
pub(crate) mod cluster;
mod diff;
mod diff_text;
mod inspect;
mod inspect_text;
mod lint;
pub(crate) mod names;
mod new_files;
mod propagation;
pub(crate) mod proxies;
mod resources;

pub(crate) use self::args::MeshCommand;
use crate::{error::Error, exit::Exit};

pub(crate) fn run(command: &MeshCommand) -> Result<Exit, Error> {
    match command {
        MeshCommand::Inspect(args) => inspect::run(args)?,
        MeshCommand::Diff(args) => return diff::run(args),
        MeshCommand::Proxies(args) => proxies::run(args)?,
        MeshCommand::Propagation(args) => propagation::run(args)?,
        MeshCommand::Lint(args) => return lint::run(args),
    }
    Ok(Exit::Clean)
}
