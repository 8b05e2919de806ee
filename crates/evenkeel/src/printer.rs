//! All output: data to stdout, everything else to stderr. Colours only on a terminal, and never
//! needed to understand the text.

use std::{fmt::Display, io::Write};

use anstyle::{AnsiColor, Style};
use evenkeel_model::harmless;

use crate::error::Error;

pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const CARE: Style = AnsiColor::Yellow.on_default();

/// Writes data. A closed pipe (`| head`) is no error.
pub(crate) fn data(text: &str) -> Result<(), Error> {
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Error::Stdout),
    }
}

/// Writes a note to stderr.
pub(crate) fn note(text: impl Display) {
    // If stderr is gone, there is nowhere to report it.
    let text = text.to_string();
    let _ = writeln!(anstream::stderr(), "{CARE}note{CARE:#}: {}", harmless(&text));
}

pub(crate) fn error(error: &Error) {
    let mut stderr = anstream::stderr();
    let _ = writeln!(stderr, "{BAD}error{BAD:#}: {}", harmless(&error.to_string()));
    if let Some(help) = error.help() {
        let _ = writeln!(stderr, "  {GOOD}help{GOOD:#}: {}", harmless(&help));
    }
}

/// Text in a style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}
