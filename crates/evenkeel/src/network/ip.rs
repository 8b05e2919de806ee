//! The command `ip`, with many lines at once.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use crate::error::Error;

/// Runs lines of `ip`, in a namespace if one is named. The first that fails is the last.
pub(crate) fn ip(namespace: Option<&str>, lines: &str) -> Result<(), Error> {
    run(namespace, &["-batch", "-"], lines)
}

/// Runs all lines, whatever fails: what is to be removed may be gone.
pub(crate) fn ip_anyway(namespace: Option<&str>, lines: &str) {
    if let Err(error) = run(namespace, &["-force", "-batch", "-"], lines) {
        tracing::debug!(%error, "removing network interfaces failed");
    }
}

fn run(namespace: Option<&str>, args: &[&str], lines: &str) -> Result<(), Error> {
    let mut command = Command::new("ip");
    command.args(namespace.map(|name| ["-n", name]).iter().flatten()).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let failed = |source| Error::NoIp { source };
    let mut child = command.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that ends early says why.
        let _ = stdin.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::Network { problem: one_line(&output.stderr) }),
    }
}

/// What `ip` says, without the number of the line.
fn one_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("Command failed"));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line() {
        let said = b"RTNETLINK answers: Operation not permitted\nCommand failed -:1\n";
        assert_eq!(one_line(said), "RTNETLINK answers: Operation not permitted");
    }
}
