//! Starting other programs, above all cargo, from the workspace root.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use crate::Failure;

/// The root of the checkout we were started in. Cargo tells it when it starts us: what was compiled
/// in may name another checkout that shares the target folder.
pub(crate) fn root() -> PathBuf {
    let told = env::var_os("CARGO_MANIFEST_DIR");
    let here = told.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&here).join("../..")
}

/// A program by name; `cargo` is the one that started us.
///
/// The variables that `cargo run` sets for this process are taken away: build scripts of
/// dependencies watch some of them, and would build again at every change between a cargo started
/// by hand and one started by us.
pub(crate) fn program(name: &str) -> Command {
    let cargo = env::var_os("CARGO").filter(|_| name == "cargo");
    let mut command = Command::new(cargo.unwrap_or_else(|| name.into()));
    command.current_dir(root());
    for (key, _) in env::vars_os() {
        let name = key.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&key);
        }
    }
    command
}

/// Runs to the end with our own input and output.
pub(crate) fn status(mut command: Command) -> Result<ExitStatus, Failure> {
    command.status().map_err(|error| Failure::NotStarted {
        command: command.get_program().to_string_lossy().into_owned(),
        cause: error.to_string(),
    })
}

/// What it prints, if it succeeds.
pub(crate) fn output(mut command: Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let not_started = |cause: String| Failure::NotStarted { command: name.clone(), cause };
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| not_started(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(not_started(format!("it ended with {}", output.status)))
}

/// Whether `words` runs and succeeds, in silence.
pub(crate) fn succeeds(words: &[&str]) -> bool {
    let Some((name, args)) = words.split_first() else {
        return false;
    };
    let mut command = program(name);
    command.args(args).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
