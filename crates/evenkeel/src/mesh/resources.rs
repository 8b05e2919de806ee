//! The resources of a folder, or of a cluster.

use std::{path::Path, sync::Arc};

use evenkeel_k8s::watched::MeshKind;
use evenkeel_locality::{
    resource::Resource,
    view::{Settings, View},
};
use evenkeel_xds_server::source::{Problem, folder};

use super::{
    args::{RulesArgs, SourceArgs},
    cluster,
};
use crate::{error::Error, printer};

/// Of so many invalid objects one is told.
const TOLD: usize = 3;

/// What there is, and what of it is invalid.
type Read = (Vec<Resource>, Vec<Problem>);

pub(super) fn read(source: &SourceArgs, rules: &RulesArgs) -> Result<Read, Error> {
    match &source.resources {
        Some(folder) => read_folder(folder, rules),
        None => cluster::read(&source.cluster, &MeshKind::ALL, rules.compat.into()),
    }
}

/// What there is; notes tell what is left out.
pub(super) fn valid(source: &SourceArgs, rules: &RulesArgs) -> Result<Vec<Resource>, Error> {
    match &source.resources {
        Some(folder) => valid_in(folder, rules),
        None => Ok(noted(read(source, rules)?, "")),
    }
}

/// The same, of a folder.
pub(super) fn valid_in(folder: &Path, rules: &RulesArgs) -> Result<Vec<Resource>, Error> {
    let flag = format!(" --resources {}", folder.display());
    Ok(noted(read_folder(folder, rules)?, &flag))
}

fn read_folder(path: &Path, rules: &RulesArgs) -> Result<Read, Error> {
    folder::resources(path, rules.compat.into())
        .map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// `flag`: how `evenkeel mesh lint` finds them.
fn noted((resources, problems): Read, flag: &str) -> Vec<Resource> {
    for problem in problems.iter().take(TOLD) {
        let (place, message) = (place(problem), &problem.message);
        printer::note(format_args!("ignoring invalid object: {place}: {message}"));
    }
    if problems.len() > TOLD {
        let more = problems.len() - TOLD;
        printer::note(format_args!("{more} more; `evenkeel mesh lint{flag}` shows all"));
    }
    resources
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
