//! Log lines: to stderr, as text or as JSON.

use std::io::{self, IsTerminal};

use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Starts logging for the whole process. Other crates log errors only, and warnings from
/// [`Level::DEBUG`] on: what they warn of is retried or reported by ours.
///
/// # Panics
/// If the process has started logging before.
pub fn start(format: LogFormat, level: Level) {
    let others = if level >= Level::DEBUG { LevelFilter::WARN } else { LevelFilter::ERROR };
    let wanted = Targets::new().with_target("evenkeel", level).with_default(others);
    let lines = fmt::layer().with_writer(io::stderr);
    let registry = tracing_subscriber::registry();
    let started = match format {
        LogFormat::Text => {
            let is_coloured = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            registry.with(lines.with_ansi(is_coloured).with_filter(wanted)).try_init()
        }
        LogFormat::Json => registry.with(lines.json().with_filter(wanted)).try_init(),
    };
    started.expect("nothing else in this process starts logging");
}
