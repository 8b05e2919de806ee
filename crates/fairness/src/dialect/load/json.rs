//! JSON text to documents. Objects may follow one another; after one that can't be read, none can.

use serde_json::{Deserializer, Value};

use crate::dialect::{Fault, problem::excerpt};

/// Whether `text` starts like JSON. YAML may start with a brace too, but then a bare word tends to
/// follow; and only YAML knows separators between documents.
pub(super) fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    let starts = match text.strip_prefix('{') {
        Some(rest) => rest.trim_start().starts_with(['"', '}']),
        None => text.starts_with('['),
    };
    starts && !text.contains("\n---")
}

pub(super) fn documents(text: &str) -> impl Iterator<Item = Result<Value, Fault>> {
    Deserializer::from_str(text).into_iter().map(|document| document.map_err(|e| fault(&e)))
}

fn fault(error: &serde_json::Error) -> Fault {
    let (line, column) = (error.line() as u64, error.column() as u64);
    let message = error.to_string();
    if message.starts_with("recursion limit") {
        return Fault::TooMuch { line, message: "nested too deep" };
    }
    let end = message.rfind(" at line ").unwrap_or(message.len());
    Fault::Syntax { line, column, message: excerpt(&message[..end]) }
}
