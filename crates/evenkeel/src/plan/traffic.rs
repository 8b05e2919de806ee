//! The traffic file: read, checked, and its names compared with what is there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use evenkeel_topology::{nearest::nearest, whatif::TrafficProfile};

use crate::{cli::PlanArgs, error::Error, input::Input};

/// What is known of traffic: what a file says, if one is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    pub file: Option<TrafficFile>,
}

#[derive(Clone, Debug)]
pub(crate) struct TrafficFile {
    pub path: PathBuf,
    pub profile: TrafficProfile,
}

pub(super) fn read(path: Option<&Path>) -> Result<Traffic, Error> {
    let Some(path) = path else {
        return Ok(Traffic::default());
    };
    let read = fs::read_to_string(path);
    let text = read.map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let profile: TrafficProfile =
        serde_saphyr::from_str(&text).map_err(|error| Error::Traffic {
            path: path.to_owned(),
            field: "the traffic file".to_owned(),
            problem: error.to_string(),
        })?;
    profile.validate().map_err(|error| Error::traffic(path.to_owned(), &error))?;
    Ok(Traffic { file: Some(TrafficFile { path: path.to_owned(), profile }) })
}

/// Refuses Services and zones that are not there: a typo would silently change the figures.
pub(super) fn check_names(
    args: &PlanArgs,
    input: &Input,
    names: &[String],
    traffic: &Traffic,
) -> Result<(), Error> {
    let Some(TrafficFile { path, profile }) = &traffic.file else {
        return Ok(());
    };
    let mut unknown = unknown_zones(input, profile);
    unknown.extend(unknown_services(args, input, names, profile));
    if unknown.is_empty() {
        return Ok(());
    }
    Err(Error::TrafficNames { path: path.clone(), unknown })
}

/// `zone "zone-x" (did you mean "zone-a"?)` for each zone that no node is in. Without any node,
/// zones can't be checked.
fn unknown_zones(input: &Input, profile: &TrafficProfile) -> Vec<String> {
    let nodes = &input.snapshot.nodes;
    if nodes.is_empty() {
        return Vec::new();
    }
    let names = &input.snapshot.topology.zones;
    let known = || nodes.iter().filter_map(|node| Some(&**names.name(node.zone?)));
    let unknown = profile.unknown_zones(&input.snapshot).into_iter();
    unknown.map(|zone| described("zone", zone, nearest(zone, known()))).collect()
}

fn unknown_services(
    args: &PlanArgs,
    input: &Input,
    names: &[String],
    profile: &TrafficProfile,
) -> Vec<String> {
    // Of a cluster, only what is wanted was read. A name without namespace is never right.
    let is_read = |given: &&str| {
        let namespace = given.split_once('/').map(|(namespace, _)| namespace);
        args.all_namespaces
            || !args.input.filename.is_empty()
            || namespace.is_none()
            || (namespace == Some(&*input.namespace) && names.len() != 1)
    };
    let keys: Vec<String> =
        input.snapshot.services.iter().map(|s| s.service.key.to_string()).collect();
    let unknown = profile.unknown_services(&input.snapshot).into_iter().filter(is_read);
    unknown.map(|given| described("Service", given, nearest_service(given, &keys))).collect()
}

/// A name without namespace means the Service of that name in any.
fn nearest_service<'a>(given: &str, keys: &'a [String]) -> Option<&'a str> {
    let keys = || keys.iter().map(String::as_str);
    if given.contains('/') {
        return nearest(given, keys());
    }
    let bare = |key: &'a str| key.split_once('/').map_or(key, |(_, name)| name);
    let meant = nearest(given, keys().map(bare))?;
    keys().find(|key| bare(key) == meant)
}

fn described(what: &str, given: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("{what} {given:?} (did you mean {near:?}?)"),
        None => format!("{what} {given:?}"),
    }
}
