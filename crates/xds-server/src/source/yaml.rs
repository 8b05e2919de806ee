//! A file with YAML documents to JSON values, within bounds.

use evenkeel_model::harmless;
use serde_json::Value;
use serde_saphyr::{
    Budget, Error, MessageFormatter, NonFiniteFloatPolicy, Options, UserMessageFormatter,
};

/// Resources are a dozen deep; what is deeper than 64 is refused later with its name.
const DEEPEST: usize = 96;

/// How many bytes and how many nodes aliases may add in one text.
const ALIAS_ALLOWANCE: usize = 1_000_000;

/// The longest part of a message of the parser that is repeated, in bytes.
const MESSAGE: usize = 300;

/// All documents, in their order; `null` for an empty one.
pub fn documents(text: &str) -> Result<Vec<Value>, String> {
    serde_saphyr::from_str_multiple_with_options(text, options(text.len()))
        .map_err(|error| message(&error))
}

/// Bounds that grow with the text: only aliases can make more out of it, and only by a fixed amount.
fn options(len: usize) -> Options {
    let mut budget = Budget::default();
    budget.max_depth = DEEPEST;
    budget.flow_nesting_limit = 2 * DEEPEST;
    budget.max_events = 4 * len + ALIAS_ALLOWANCE;
    budget.max_nodes = 2 * len + ALIAS_ALLOWANCE;
    budget.max_total_scalar_bytes = len + ALIAS_ALLOWANCE;
    budget.max_documents = len + 1;
    budget.enforce_alias_anchor_ratio = false;

    let mut options = Options::default();
    options.budget = Some(budget);
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    // A snippet would quote lines of any length.
    options.with_snippet = false;
    options
}

fn message(error: &Error) -> String {
    let text = UserMessageFormatter.format_message(error);
    let text = harmless(&text[..text.floor_char_boundary(MESSAGE)]).into_owned();
    match error.location() {
        Some(at) => format!("not YAML: {text} at line {}, column {}", at.line(), at.column()),
        None => format!("not YAML: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_documents_are_read() {
        let read = documents("a: 1\n---\n---\nb: [x, z]\n").unwrap();
        let read: Vec<&Value> = read.iter().filter(|value| !value.is_null()).collect();
        assert_eq!(read, [&serde_json::json!({"a": 1}), &serde_json::json!({"b": ["x", "z"]})]);
        assert!(documents("").unwrap().iter().all(Value::is_null));
        assert_eq!(documents("{\"a\": 1.5}").unwrap()[0]["a"], 1.5);
    }

    #[test]
    fn hostile_texts_are_refused_with_a_short_message() {
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned()
            + &('b'..'m').fold(String::new(), |text, c| {
                let before = (c as u8 - 1) as char;
                let nine = [format!("*{before}").as_str(); 9].join(",");
                format!("{text}{c}: &{c} [{nine}]\n")
            });
        let texts = ["[".repeat(100_000), "{a: ".repeat(100_000), bomb, "a: [b\nc: d".to_owned()];
        for text in texts {
            let message = documents(&text).unwrap_err();
            assert!(message.len() < 500 && message.contains("not YAML"), "{message}");
        }
    }
}
