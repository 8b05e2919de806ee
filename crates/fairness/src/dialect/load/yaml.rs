//! YAML text to documents, each read by itself, so that a slip in one does not hide the others.
//!
//! A line that begins with `---` separates documents wherever it stands, even inside a text: the
//! language forbids it there. So the text can be cut without being parsed.

use serde_json::Value;
use serde_saphyr::{
    Budget, Error, MessageFormatter, NonFiniteFloatPolicy, Options, UserMessageFormatter,
    budget::BudgetBreach,
};

use crate::dialect::{Fault, problem::excerpt};

/// More than any schema has, and within the stack of any thread, also without optimisation.
const MAX_DEPTH: usize = 64;

pub(super) fn documents(text: &str) -> impl Iterator<Item = Result<Value, Fault>> {
    let mut rest = text;
    let mut line = 0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (document, after) = rest.split_at(end(rest));
        let outcome = document_of(document, line);
        line += document.bytes().filter(|byte| *byte == b'\n').count() as u64;
        rest = after;
        Some(outcome)
    })
}

/// Where the first document ends: at the second marker, or at the first that something other than
/// comments and directives precedes.
fn end(text: &str) -> usize {
    let mut begun = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_marker(line) {
            if begun {
                return at;
            }
            begun = true;
        } else if !(line.trim().is_empty() || line.starts_with(['#', '%'])) {
            begun = true;
        }
        at += line.len();
    }
    at
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn document_of(text: &str, first_line: u64) -> Result<Value, Fault> {
    serde_saphyr::from_str_with_options::<Option<Value>>(text, options(text.len()))
        .map(Option::unwrap_or_default)
        .map_err(|error| fault(&error, first_line))
}

/// Bounds that grow with the text. A node takes at least a byte, so honest text is within them;
/// only aliases can make more out of it, and they may do so by a constant factor.
fn options(len: usize) -> Options {
    let mut budget = Budget::default();
    budget.max_depth = MAX_DEPTH;
    budget.flow_nesting_limit = 2 * MAX_DEPTH;
    budget.max_events = 8 * len + 1024;
    budget.max_nodes = 4 * len + 1024;
    budget.max_total_scalar_bytes = 4 * len + 1024;
    budget.max_documents = 2;
    budget.enforce_alias_anchor_ratio = false;

    let mut options = Options::default();
    options.budget = Some(budget);
    // So that the error for `.nan` names it, where a number is expected.
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    options.with_snippet = false;
    options
}

fn fault(error: &Error, first_line: u64) -> Fault {
    let root = root(error);
    let location = root.location().or_else(|| error.location());
    let (line, column) = location.map_or((0, 0), |at| (at.line(), at.column()));
    let line = first_line + line;
    let message = UserMessageFormatter.format_message(root);
    match excess(root, &message) {
        Some(message) => Fault::TooMuch { line, message },
        None => Fault::Syntax { line, column, message: excerpt(&message) },
    }
}

fn root(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } =
        error
    {
        error = inner;
    }
    error
}

/// What a text has too much of, if that is the problem. The scanner runs ahead of the budget, and
/// tells of its own limit for `[[[[` only in words.
fn excess(error: &Error, message: &str) -> Option<&'static str> {
    match error {
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => Some("nested too deep"),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. } => Some("aliases multiply the text too much"),
        _ if message.starts_with("recursion limit") => Some("nested too deep"),
        _ => None,
    }
}
