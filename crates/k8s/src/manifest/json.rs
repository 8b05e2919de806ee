//! JSON text to documents. Objects may follow one another, as `jq` and shell pipelines leave them.

use serde_json::{Deserializer, Error};

use super::{Document, Placed, Problem};
use crate::excerpt;

pub(super) fn documents(text: &str) -> Result<Vec<Placed>, Problem> {
    let documents = Deserializer::from_str(text).into_iter::<Document>();
    documents
        .map(|document| match document {
            Ok(document) => Ok((None, document)),
            Err(error) => Err(problem(&error)),
        })
        .collect()
}

fn problem(error: &Error) -> Problem {
    let (line, column) = (error.line() as u64, error.column() as u64);
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    let message = excerpt::message(&message[..end]);
    if message.starts_with("recursion limit") {
        let message = "nested too deep".to_owned();
        return Problem::TooMuch { line, column, message };
    }
    Problem::Syntax { format: "JSON", line, column, message }
}
