//! YAML text to documents, within bounds.

use serde_saphyr::{
    Budget, Error, MessageFormatter, NonFiniteFloatPolicy, Options, Spanned, UserMessageFormatter,
    budget::BudgetBreach,
};

use super::{Document, Placed, Problem};
use crate::excerpt;

/// Custom resource definitions nest some sixty deep; JSON text is cut off at this depth too.
const MAX_DEPTH: usize = 128;

/// How many bytes and how many nodes aliases may add in one text.
const ALIAS_ALLOWANCE: usize = 1_000_000;

pub(super) fn documents(text: &str) -> Result<Vec<Placed>, Problem> {
    let parsed: Result<Vec<Spanned<Document>>, Error> =
        serde_saphyr::from_str_multiple_with_options(text, options(text.len()));
    let documents = parsed.map_err(|error| problem(&error))?;
    Ok(documents
        .into_iter()
        .map(|document| (Some(document.referenced.line()), document.value))
        .collect())
}

/// Bounds that grow with the text. A node takes at least a byte, so honest text of any size is
/// within them; only aliases can make more out of it, and they may do so by a fixed amount.
fn options(len: usize) -> Options {
    let mut budget = Budget::default();
    budget.max_depth = MAX_DEPTH;
    budget.flow_nesting_limit = 2 * MAX_DEPTH;
    budget.max_events = 4 * len + ALIAS_ALLOWANCE;
    budget.max_nodes = 2 * len + ALIAS_ALLOWANCE;
    budget.max_total_scalar_bytes = len + ALIAS_ALLOWANCE;
    budget.max_documents = len + 1;
    budget.enforce_alias_anchor_ratio = false;

    let mut options = Options::default();
    options.budget = Some(budget);
    options.emit_comments = false;
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    // A snippet would quote lines of any length.
    options.with_snippet = false;
    options
}

fn problem(error: &Error) -> Problem {
    let root = root(error);
    let place = root.location().or_else(|| error.location());
    let (line, column) = place.map_or((0, 0), |at| (at.line(), at.column()));
    let message = UserMessageFormatter.format_message(root);
    if let Some(excess) = excess(root, &message) {
        return Problem::TooMuch { line, column, message: excess.to_owned() };
    }
    Problem::Syntax { format: "YAML", line, column, message: excerpt::message(&message) }
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
