//! The resources of a folder.

use std::{path::Path, sync::Arc};

use evenkeel_locality::{
    resource::Resource,
    view::{Settings, View},
};
use evenkeel_xds_server::source::{Problem, folder};

use super::args::RulesArgs;
use crate::{error::Error, printer};

/// Of so many invalid objects one is told.
const TOLD: usize = 3;

/// What is in a folder, and what of it is invalid.
pub(super) fn read(path: &Path, rules: &RulesArgs) -> Result<(Vec<Resource>, Vec<Problem>), Error> {
    folder::resources(path, rules.compat.into())
        .map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// What is in a folder; notes tell what is left out.
pub(super) fn valid(path: &Path, rules: &RulesArgs) -> Result<Vec<Resource>, Error> {
    let (resources, problems) = read(path, rules)?;
    for problem in problems.iter().take(TOLD) {
        let (place, message) = (place(problem), &problem.message);
        printer::note(format_args!("ignoring invalid object: {place}: {message}"));
    }
    if problems.len() > TOLD {
        let (more, path) = (problems.len() - TOLD, path.display());
        let rest = format_args!("{more} more; `evenkeel mesh lint --resources {path}` shows all");
        printer::note(rest);
    }
    Ok(resources)
}

pub(super) fn view(resources: &[Resource], rules: &RulesArgs) -> View {
    let zone: Option<Arc<str>> = rules.zone.as_deref().map(Arc::from);
    let mut view = View::first_read(Settings { zone, compat: rules.compat.into() });
    for resource in resources {
        view.apply(resource.clone());
    }
    view
}

/// File, document, resource and field, as far as they are known.
pub(super) fn place(problem: &Problem) -> String {
    let document = problem.document.map(|n| format!("document {n}"));
    let resource = problem.resource.as_ref().map(ToString::to_string);
    let parts = [Some(problem.origin.to_string()), document, resource, problem.field.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
}
