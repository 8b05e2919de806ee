//! The logging flags of the commands that run until a signal.

use clap::{ArgAction, Args};
use evenkeel_admin::logs;
use tracing::Level;

use crate::apiserver::{LogFormat, LogLevel};

#[derive(Debug, Args)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LogArgs {
    #[arg(long, value_enum, default_value_t, help = "Log format")]
    pub log_format: LogFormat,
    /// Minimum log level [default: info; `evenkeel up`: warn]
    #[arg(long, value_enum)]
    pub log_level: Option<LogLevel>,
    /// Log more: -v is debug, -vv trace
    #[arg(short, action = ArgAction::Count, conflicts_with = "log_level")]
    pub verbose: u8,
}

/// What a process says at the first signal.
pub(crate) const SHUTTING_DOWN: &str = "Shutting down; press Ctrl-C again to force";

/// Starts logging for the whole process.
pub(crate) fn start(args: &LogArgs, default: Level) {
    logs::start(args.log_format.into(), level(args, default));
}

fn level(args: &LogArgs, default: Level) -> Level {
    match (args.verbose, args.log_level) {
        (1, _) => Level::DEBUG,
        (2.., _) => Level::TRACE,
        (0, None) => default,
        (0, Some(LogLevel::Error)) => Level::ERROR,
        (0, Some(LogLevel::Warn)) => Level::WARN,
        (0, Some(LogLevel::Info)) => Level::INFO,
        (0, Some(LogLevel::Debug)) => Level::DEBUG,
        (0, Some(LogLevel::Trace)) => Level::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_set_the_minimum_level() {
        let cases = [
            (0, None, Level::WARN),
            (0, Some(LogLevel::Info), Level::INFO),
            (1, None, Level::DEBUG),
            (3, None, Level::TRACE),
        ];
        for (verbose, log_level, expected) in cases {
            let args = LogArgs { log_format: LogFormat::Text, log_level, verbose };
            assert_eq!(level(&args, Level::WARN), expected, "{args:?}");
        }
    }
}
