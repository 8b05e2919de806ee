//! `evenkeel reference`: `docs/reference/commands.md`, from the command line as it is defined.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

use crate::{cli::Cli, error::Error, printer};

const HEAD: &str = "\
<!-- Written by `cargo xtask reference`. Change the code instead. -->
# Commands

Data goes to stdout, everything else to stderr. Exit codes: 0 success, 1 failure, or findings of `analyze`,
`status`, `fairness lint`, `mesh lint`, `mesh diff` and `plan --diff`, 2 wrong usage or bad input, 3 the cluster
or the control plane can't be read.
";

pub(crate) fn run() -> Result<(), Error> {
    let mut text = HEAD.to_owned();
    // Global flags and inherited headings are known once it is built.
    let mut command = Cli::command();
    command.build();
    for command in command.get_subcommands() {
        section(command, "evenkeel", &mut text);
    }
    printer::data(&text)
}

fn section(command: &Command, parent: &str, text: &mut String) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let path = format!("{parent} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = write!(text, "\n## {path}\n\n{about}.\n");
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    let args: Vec<&Arg> = command.get_arguments().filter(shown).collect();
    if !args.is_empty() {
        text.push_str("\n| argument | default | meaning |\n|---|---|---|\n");
    }
    for arg in args {
        let (name, default, help) = (name(arg), default(arg), cell(&help(arg)));
        let _ = writeln!(text, "| {name} | {default} | {help} |");
    }
    for command in command.get_subcommands() {
        section(command, &path, text);
    }
}

/// As one would type it.
fn name(arg: &Arg) -> String {
    let value = || {
        let names = arg.get_value_names().unwrap_or_default();
        let takes = arg.get_action().takes_values();
        names.first().filter(|_| takes).map(ToString::to_string)
    };
    match (arg.get_long(), arg.get_short(), value()) {
        (None, None, value) => format!("`{}`", value.unwrap_or_default()),
        (long, short, value) => {
            let short = short.map(|short| format!("-{short}"));
            let long = long.map(|long| format!("--{long}"));
            let flags: Vec<String> = short.into_iter().chain(long).collect();
            // A bar would end the cell of the table.
            let value = value.map(|value| format!(" {}", value.replace('|', "\\|")));
            let value = value.unwrap_or_default();
            format!("`{}{value}`", flags.join("`, `"))
        }
    }
}

fn default(arg: &Arg) -> String {
    let values: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
    let is_switch = !arg.get_action().takes_values();
    if is_switch || values.is_empty() { String::new() } else { format!("`{}`", values.join(",")) }
}

fn help(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let possible = arg.get_possible_values();
    let names: Vec<_> = possible.iter().filter(|value| !value.is_hide_set()).collect();
    if names.is_empty() || !arg.get_action().takes_values() {
        return help;
    }
    let names: Vec<_> = names.iter().map(|value| format!("`{}`", value.get_name())).collect();
    format!("{help}: {}", names.join(", "))
}

/// One line that a table can hold.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
