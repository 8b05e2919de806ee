//! `evenkeel mesh diff`: what new resources would change, before they are applied.

use evenkeel_locality::{
    inspect::{Difference, diff},
    resource::{Key, Resource},
};
use serde::Serialize;

use super::{args::DiffArgs, diff_text, new_files, resources};
use crate::{analyze::Format, error::Error, exit::Exit, output, printer};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// The resources that were given.
    pub(super) resources: Vec<Key>,
    /// The resources that would be deleted.
    pub(super) deleted: Vec<Key>,
    /// How many proxies there are, before and after together.
    pub(super) proxies: usize,
    pub(super) proxies_changed: usize,
    pub(super) differences: Vec<Difference>,
}

pub(super) fn run(args: &DiffArgs) -> Result<Exit, Error> {
    // What is given must be valid; what is in force already may be invalid in part.
    let new = new_files::read(&args.filename, args.rules.compat.into())?;
    let old = resources::valid(&args.source, &args.rules)?;
    let mut before = resources::view(&old, &args.rules);
    let mut after = resources::view(&old, &args.rules);
    for resource in &new {
        after.apply(resource.clone());
    }
    let deleted = deleted(args, &old, &new)?;
    for key in &deleted {
        after.delete(key);
    }
    let differences = diff(&mut before, &mut after);
    let proxies: std::collections::BTreeSet<_> = before.proxies().chain(after.proxies()).collect();
    let report = Report {
        resources: new.into_iter().map(|resource| resource.key).collect(),
        deleted,
        proxies: proxies.len(),
        proxies_changed: differences.iter().map(|difference| difference.n_proxies).sum(),
        differences,
    };
    printer::data(&match args.output {
        Format::Text => diff_text::render(&report),
        Format::Json => output::json(&report)?,
        Format::Yaml => output::yaml(&report)?,
    })?;
    Ok(if report.differences.is_empty() { Exit::Clean } else { Exit::Findings })
}

/// Each of them must be in force, and not be given too.
fn deleted(args: &DiffArgs, old: &[Resource], new: &[Resource]) -> Result<Vec<Key>, Error> {
    let is_in = |resources: &[Resource], key: &Key| resources.iter().any(|r| r.key == *key);
    let mut keys: Vec<Key> = args.delete.iter().map(|named| named.0.clone()).collect();
    keys.sort();
    keys.dedup();
    for key in &keys {
        let problem = if !is_in(old, key) {
            let folder = args.source.resources.as_deref();
            let place = folder.map_or("the cluster".to_owned(), |path| path.display().to_string());
            format!("no {key} in {place}")
        } else if is_in(new, key) {
            format!("{key} is given with -f too")
        } else {
            continue;
        };
        return Err(Error::Flag { flag: "--delete", problem });
    }
    Ok(keys)
}
