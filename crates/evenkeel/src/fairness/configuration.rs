//! Reads configurations: files, and default objects.

use std::{path::PathBuf, sync::Arc};

use evenkeel_fairness::{
    config::Config,
    dialect::{Compiled, Located, Location, Objects, Problem, Severity, kubernetes, proposal},
};

use super::args::{ConfigurationArgs, Defaults};
use crate::{error::Error, input, printer};

/// The most notes about one configuration.
const MAX_NOTES: usize = 5;

/// The configuration that the command line names.
pub(super) fn of_args(args: &ConfigurationArgs) -> Result<Compiled, Error> {
    let mut objects = read(&args.filename)?;
    let no_files = args.filename.is_empty();
    if let Some(defaults) = args.defaults.or(no_files.then_some(Defaults::Kubernetes)) {
        add_defaults(&mut objects, defaults);
    }
    compile(objects)
}

pub(super) fn read(given: &[PathBuf]) -> Result<Objects, Error> {
    let mut objects = Objects::default();
    for path in given {
        for path in input::expand(path)? {
            let (name, text) = input::read_text(&path)?;
            objects.load(&name, &text);
        }
    }
    Ok(objects)
}

/// Adds those default objects whose names are not taken.
pub(super) fn add_defaults(objects: &mut Objects, defaults: Defaults) {
    let location = |file: &Arc<str>, kind: &str, name: &str| Location {
        file: file.clone(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        ..Location::default()
    };
    match defaults {
        Defaults::Kubernetes => {
            let file: Arc<str> = "Kubernetes' defaults".into();
            let kubernetes::Defaults { levels, schemas } = kubernetes::defaults();
            add(&mut objects.kubernetes.levels, levels, |level| {
                location(&file, "PriorityLevelConfiguration", &level.metadata.name)
            });
            add(&mut objects.kubernetes.schemas, schemas, |schema| {
                location(&file, "FlowSchema", &schema.metadata.name)
            });
        }
        Defaults::Proposal => {
            let file: Arc<str> = "the proposal".into();
            let proposal::Exhibited { levels, schemas } = proposal::exhibited();
            add(&mut objects.proposal.levels, levels, |level| {
                location(&file, "RequestPriority", &level.metadata.name)
            });
            add(&mut objects.proposal.schemas, schemas, |schema| {
                location(&file, "FlowSchema", &schema.metadata.name)
            });
        }
    }
}

fn add<T: Clone>(to: &mut Vec<Located<T>>, defaults: &[T], location: impl Fn(&T) -> Location) {
    for object in defaults {
        let location = location(object);
        if !to.iter().any(|there| there.location.name == location.name) {
            to.push(Located { location, object: object.clone() });
        }
    }
}

pub(super) fn compile(objects: Objects) -> Result<Compiled, Error> {
    let compiled = objects.compile().map_err(|problems: Vec<Problem>| {
        let more = problems.len().saturating_sub(1);
        let first = problems.into_iter().next().expect("what does not compile has a problem");
        Error::Configuration { first: first.into(), more }
    })?;
    tell(&compiled);
    Ok(compiled)
}

/// Notes about objects that are not in force, or not as they were written. `lint` tells the rest.
pub(super) fn tell(compiled: &Compiled) {
    let conditions = compiled.conditions.iter();
    let conditions = conditions.filter(|c| c.severity() >= Some(Severity::Warning));
    let mut notes: Vec<String> = conditions.map(ToString::to_string).collect();
    // Kubernetes' dialect has findings in place of conditions.
    if compiled.conditions.is_empty() {
        let errors = compiled.findings.iter().filter(|f| f.severity() == Severity::Error);
        notes.extend(errors.map(ToString::to_string));
    }
    for note in notes.iter().take(MAX_NOTES) {
        printer::note(note);
    }
    if let Some(more @ 1..) = notes.len().checked_sub(MAX_NOTES) {
        printer::note(format_args!("{more} more; see `evenkeel fairness lint`"));
    }
}

pub(super) fn config(objects: Objects) -> Result<Config, Error> {
    Ok(compile(objects)?.config)
}
