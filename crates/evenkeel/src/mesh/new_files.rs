//! Files with new resources. All of them must be valid.

use std::path::{Path, PathBuf};

use evenkeel_locality::{
    Compat,
    resource::{Form, Resource, parse},
};
use evenkeel_xds_server::source::documents;

use crate::{
    error::Error,
    input::{expand, read_text},
};

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
    let invalid = |problem| Error::MeshResource { place: name.clone(), problem, more: 0 };
    let documents = documents(&text).map_err(invalid)?;
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
