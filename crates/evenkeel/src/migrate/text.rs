//! Migrations as text for people.

use std::fmt::{Display, Write};

use evenkeel_model::{ServiceKey, harmless};
use evenkeel_topology::migrate::{Effect, Migration, Outcome, Setting};

use super::{Report, Summary};
use crate::{
    cli::InputArgs,
    error::{Error, counted},
    printer::{CARE, DIM, GOOD, HEADING, styled},
    service_patch,
};

pub(super) fn render(report: &Report, input: &InputArgs) -> Result<String, Error> {
    if report.services.is_empty() {
        return Ok("No Services found.\n".to_owned());
    }
    let mut text = String::new();
    for migration in report.services.iter().filter(|m| m.outcome != Outcome::UpToDate) {
        block(migration, input, &mut text)?;
        text.push('\n');
    }
    let Summary { services, to_change, left_alone, up_to_date } = report.summary;
    let services = counted(services, "Service");
    let _ = writeln!(
        text,
        "{services} for {}: {to_change} to change, {left_alone} left alone, {up_to_date} up to date",
        report.server
    );
    if to_change > 0 {
        text.push_str("Apply with these commands, or with -o yaml | kubectl replace -f -\n");
    }
    Ok(text)
}

/// One Service: what it has, what it gets, what that means, and the command.
fn block(migration: &Migration, input: &InputArgs, text: &mut String) -> Result<(), Error> {
    let key = ServiceKey::new(&*migration.namespace, &*migration.service);
    let _ = writeln!(text, "{}", styled(HEADING, harmless(&key.to_string())));
    for Setting { place, value } in &migration.from {
        line("from", harmless(&format!("{place}: {value}")), text);
    }
    for Setting { place, value } in &migration.to {
        line("to", format_args!("{place}: {value}"), text);
    }
    if migration.to.is_empty() && !migration.patch.is_empty() {
        line("to", "no setting", text);
    }
    for note in &migration.notes {
        let style = match note.effect {
            Effect::Same => GOOD,
            Effect::Changes => CARE,
            Effect::LeftAlone => DIM,
        };
        line(styled(style, format_args!("{:<10}", note.effect)), &note.because.message, text);
    }
    if !migration.patch.is_empty() {
        line("apply", service_patch::command(&key, &migration.patch, input)?.trim_end(), text);
    }
    Ok(())
}

fn line(head: impl Display, rest: impl Display, text: &mut String) {
    let _ = writeln!(text, "  {head:<10}  {rest}");
}
