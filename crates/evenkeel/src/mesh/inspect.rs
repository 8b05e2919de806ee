//! `evenkeel mesh inspect`.

use std::path::Path;

use evenkeel_locality::{inspect::inspect, view::ProxyKey};
use serde_json::{Value, json};

use super::{
    admin,
    args::{InspectArgs, RulesArgs},
    inspect_text, names, resources,
};
use crate::{analyze::Format, error::Error, output, printer};

/// The most Dataplanes that are named instead of one that is not there.
const NAMED: usize = 10;

pub(super) fn run(args: &InspectArgs) -> Result<(), Error> {
    let (mesh, name) = args.dataplane.split_once('/').unwrap_or((&args.mesh, &args.dataplane));
    let proxy = ProxyKey::new(mesh, name);
    let url = &admin::url(args.live.control_plane_admin.as_deref());
    let inspection = match &args.resources {
        Some(folder) => from_files(folder, &args.rules, &proxy)?,
        None => from_control_plane(url, &proxy)?,
    };
    printer::data(&match args.live.output {
        Format::Text => inspect_text::render(&admin::decoded(url, &inspection)?),
        Format::Json => output::json(&inspection)?,
        Format::Yaml => output::yaml(&inspection)?,
    })
}

fn from_files(folder: &Path, rules: &RulesArgs, proxy: &ProxyKey) -> Result<Value, Error> {
    let mut view = resources::view(&resources::valid_in(folder, rules)?, rules);
    match inspect(&mut view, proxy) {
        Some(inspection) => Ok(json!(inspection)),
        None => Err(missing(proxy, &Vec::from_iter(view.proxies()))),
    }
}

fn from_control_plane(admin: &str, proxy: &ProxyKey) -> Result<Value, Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '.', '_'].contains(&c);
    let can_be = [&proxy.mesh, &proxy.name].iter().all(|name| name.chars().all(is_plain));
    let found = match can_be {
        true => admin::ask(admin, &format!("/mesh/inspect?dataplane={proxy}"))?,
        false => None,
    };
    match found {
        Some(inspection) => Ok(inspection),
        None => Err(missing(proxy, &names::known_to(admin)?)),
    }
}

fn missing(proxy: &ProxyKey, known: &[ProxyKey]) -> Error {
    let mut known: Vec<String> = known.iter().map(names::short).collect();
    let more = known.len().saturating_sub(NAMED);
    known.truncate(NAMED);
    if more > 0 {
        known.push(format!("and {more} more"));
    }
    Error::NoDataplane { name: proxy.name.to_string(), mesh: proxy.mesh.to_string(), known }
}
