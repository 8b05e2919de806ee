//! The command `ip`, with many lines at once, and other commands with input.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

/// Runs a batch, in a namespace if one is named. Panics with what `ip` said.
pub(super) fn ip(namespace: Option<&str>, batch: &str) {
    if let Err(problem) = try_ip(namespace, false, batch) {
        panic!("ip failed in {namespace:?}: {problem}\n{batch}");
    }
}

/// Runs a batch to its end, whatever fails in it.
pub(super) fn ip_anyway(namespace: Option<&str>, batch: &str) {
    let _ = try_ip(namespace, true, batch);
}

fn try_ip(namespace: Option<&str>, force: bool, batch: &str) -> Result<(), String> {
    let mut command = Command::new("ip");
    command.args(namespace.map(|name| ["-n", name]).iter().flatten());
    command.args(force.then_some("-force")).args(["-batch", "-"]);
    run(command, batch)
}

/// Runs a command with this input.
pub(super) fn run(mut command: Command, input: &str) -> Result<(), String> {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A command that ends early says why.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
