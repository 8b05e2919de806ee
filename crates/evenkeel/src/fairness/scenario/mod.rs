//! Scenario files: YAML to what is simulated.

mod check;
mod spec;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use evenkeel_fairness::{
    config::Config,
    dialect::Objects,
    simulate::{Change, Scenario, Setup},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::NonFiniteFloatPolicy;

use self::spec::{FlowSpec, ScenarioSpec, Source};
use super::{args::Defaults, configuration, units::Span};
use crate::error::Error;

/// A scenario, and the configurations to compare.
#[derive(Debug)]
pub(super) struct Comparison {
    pub name: String,
    pub scenario: Scenario,
    pub configurations: Vec<(String, &'static str, Setup)>,
}

/// What the command line overrides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overrides {
    pub seed: Option<u64>,
    pub duration: Option<Duration>,
}

/// Decodes YAML; an error names the field and the problem.
pub(super) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, (String, String)> {
    let mut options = serde_saphyr::Options::default();
    // A flow named `y` or a namespace `n` is not a boolean.
    options.strict_booleans = true;
    // So that the error for `.nan` names it, where a number is expected.
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    let value = serde_saphyr::from_str_with_options(text, options);
    let value: Value = value.map_err(|error| {
        let problem = error.to_string();
        let problem = problem.lines().next().unwrap_or_default();
        let problem = problem.trim_start_matches("error: ").to_owned();
        ("invalid YAML".to_owned(), problem)
    })?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = error.path().to_string();
        let field = if field == "." { "top level".to_owned() } else { field };
        (field, error.into_inner().to_string())
    })
}

/// Files that the scenario names are relative to its own folder.
pub(super) fn read(path: &Path, text: &str, overrides: Overrides) -> Result<Comparison, Error> {
    let decoded = decode(text);
    let mut spec: ScenarioSpec =
        decoded.map_err(|(field, problem)| wrong(path, &field, problem))?;
    spec.seed = overrides.seed.unwrap_or(spec.seed);
    spec.duration = overrides.duration.map_or(spec.duration, Span);
    spec.check().map_err(|(field, problem)| wrong(path, &field, problem))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut configurations = Vec::new();
    for (number, configuration) in spec.configurations().iter().enumerate() {
        let field = format!("configurations[{number}]");
        let seats = configuration.concurrency_limit.unwrap_or(spec.server.concurrency_limit);
        let config = configuration.source().config(path, folder, &field)?;
        let mut changes: Vec<Change> = Vec::new();
        for (number, change) in configuration.changes.iter().enumerate() {
            let field = format!("{field}.changes[{number}]");
            let (before, limit) = changes
                .last()
                .map_or((&config, seats), |change| (&change.config, change.server_limit));
            let config = match change.source() {
                source if source.is_empty() => before.clone(),
                source => source.config(path, folder, &field)?,
            };
            let server_limit = change.concurrency_limit.unwrap_or(limit);
            changes.push(Change { at: change.at.0, config, server_limit });
        }
        let (profile, settings) = configuration.profile.settings();
        let setup = Setup { config, server_limit: seats, settings, changes };
        configurations.push((configuration.name.clone(), profile, setup));
    }
    let scenario = Scenario {
        duration: spec.duration.0,
        warmup: spec.warmup.0,
        seed: spec.seed,
        flows: spec.flows.iter().map(FlowSpec::flow).collect(),
    };
    let name = spec.name.unwrap_or_else(|| name_of(path));
    Ok(Comparison { name, scenario, configurations })
}

/// The default name of a scenario.
fn name_of(path: &Path) -> String {
    let stem = path.file_stem().filter(|_| path != Path::new("-"));
    stem.map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn wrong(path: &Path, field: &str, problem: String) -> Error {
    Error::Scenario { path: path.to_owned(), field: field.to_owned(), problem }
}

impl Source<'_> {
    fn is_empty(&self) -> bool {
        self.defaults.is_none() && self.files.is_empty() && self.objects.is_empty()
    }

    /// `field` is where this is in the file at `path`.
    fn config(&self, path: &Path, folder: &Path, field: &str) -> Result<Config, Error> {
        let files: Vec<PathBuf> = self.files.iter().map(|file| folder.join(file)).collect();
        let mut objects: Objects = configuration::read(&files)?;
        for (number, object) in self.objects.iter().enumerate() {
            let name = format!("{}, {field}.objects[{number}]", path.display());
            objects.load(&name, &object.to_string());
        }
        if let Some(defaults) = self.defaults.or(self.is_empty().then_some(Defaults::Kubernetes)) {
            configuration::add_defaults(&mut objects, defaults);
        }
        configuration::config(objects)
    }
}
