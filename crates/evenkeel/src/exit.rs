//! How commands that look for findings end: `analyze`, `status`, `fairness lint` and `plan --diff`.

use std::process::ExitCode;

use clap::ValueEnum;

/// The outcome of such a command, the same with every `-o`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing at or above `--fail-on`.
    Clean,
    /// Findings at or above `--fail-on`.
    Findings,
    /// Wrong usage, or input that can't be read.
    BadInput,
    /// The cluster can't be reached, or refuses to be read.
    CouldNotLook,
}

/// How serious a finding is, and with `--fail-on` from which on a command fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Severity {
    Info,
    Warning,
    Error,
}

// === impl Exit ===

impl Exit {
    /// The outcome of a look that succeeded.
    pub(crate) fn of(found: impl IntoIterator<Item = Severity>, fail_on: Severity) -> Self {
        if found.into_iter().any(|severity| severity >= fail_on) {
            Exit::Findings
        } else {
            Exit::Clean
        }
    }

    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Clean => 0,
            Exit::Findings => 1,
            Exit::BadInput => 2,
            Exit::CouldNotLook => 3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_findings_at_or_above_the_limit_fail() {
        use Severity::{Error, Info, Warning};
        for (found, fail_on, exit) in [
            (vec![], Info, Exit::Clean),
            (vec![Info, Warning], Error, Exit::Clean),
            (vec![Info, Warning], Warning, Exit::Findings),
            (vec![Info], Info, Exit::Findings),
            (vec![Error], Error, Exit::Findings),
        ] {
            assert_eq!(Exit::of(found.clone(), fail_on), exit, "{found:?} at {fail_on:?}");
        }
    }
}
