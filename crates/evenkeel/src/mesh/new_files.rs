//! Files with new resources. All of them must be valid.

use std::path::{Path, PathBuf};

use evenkeel_locality::{
    Compat,
    resource::{Form, Resource, parse},
};
use serde_json::Value;
use serde_saphyr::{MessageFormatter, NonFiniteFloatPolicy, Options, UserMessageFormatter};

use crate::{
    error::Error,
    input::{expand, read_text},
};

/// Resources are a dozen deep.
const DEEPEST: usize = 96;

/// In the order of files and documents, so that the last of a name counts.
pub(super) fn read(given: &[PathBuf], compat: Compat) -> Result<Vec<Resource>, Error> {
    let mut resources = Vec::new();
    for path in given {
        for file in expand(path)? {
            read_file(&file, compat, &mut resources)?;
        }
    }
    Ok(resources)
}

fn read_file(file: &Path, compat: Compat, into: &mut Vec<Resource>) -> Result<(), Error> {
    let (name, text) = read_text(file)?;
    let documents = documents(&text).map_err(|problem| invalid(&name, problem))?;
    for (n, document) in (1..).zip(&documents).filter(|(_, document)| !document.is_null()) {
        let resource = parse(document, Form::File, compat).map_err(|errors| {
            let more = errors.len().saturating_sub(1);
            let first = errors.first().map(ToString::to_string).unwrap_or_default();
            let place = format!("{name}: document {n}");
            Error::MeshResource { place, problem: first, more }
        })?;
        into.push(resource);
    }
    Ok(())
}

fn documents(text: &str) -> Result<Vec<Value>, String> {
    let mut options = Options::default();
    if let Some(budget) = &mut options.budget {
        budget.max_depth = DEEPEST;
    }
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    // A snippet would quote lines of any length.
    options.with_snippet = false;
    serde_saphyr::from_str_multiple_with_options(text, options).map_err(|error| {
        let message = UserMessageFormatter.format_message(&error);
        let message: String = message.chars().take(200).collect();
        match error.location() {
            Some(at) => {
                format!("not YAML: {message} at line {}, column {}", at.line(), at.column())
            }
            None => format!("not YAML: {message}"),
        }
    })
}

fn invalid(place: &str, problem: String) -> Error {
    Error::MeshResource { place: place.to_owned(), problem, more: 0 }
}
