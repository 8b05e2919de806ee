//! Scenario files: YAML to what is simulated. The one place that knows their form.

mod check;
mod form;

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

use self::form::{FlowForm, ScenarioForm, Source};
use super::{args::Defaults, configuration, units::Span};
use crate::error::Error;

/// What is simulated, and the configurations to compare.
#[derive(Debug)]
pub(super) struct Plan {
    pub scenario: Scenario,
    pub configurations: Vec<(String, &'static str, Setup)>,
}

/// What the command line says instead of the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Overrides {
    pub seed: Option<u64>,
    pub duration: Option<Duration>,
}

/// Text to a value, or the field and what is wrong with it.
pub(super) fn decode<T: DeserializeOwned>(text: &str) -> Result<T, (String, String)> {
    let mut options = serde_saphyr::Options::default();
    // A flow named `y` or a namespace `n` is no truth value.
    options.strict_booleans = true;
    // So that `.nan` is told as what it is by those who expect a number.
    options.non_finite_float_policy = NonFiniteFloatPolicy::AsString;
    let value = serde_saphyr::from_str_with_options(text, options);
    let value: Value = value.map_err(|error| {
        let problem = error.to_string();
        let problem = problem.lines().next().unwrap_or_default();
        let problem = problem.trim_start_matches("error: ").to_owned();
        ("not YAML of this form".to_owned(), problem)
    })?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let field = error.path().to_string();
        let field = if field == "." { "the top".to_owned() } else { field };
        (field, error.into_inner().to_string())
    })
}

/// Files that the scenario names are found from its own folder.
pub(super) fn plan(path: &Path, text: &str, overrides: Overrides) -> Result<Plan, Error> {
    let decoded = decode(text);
    let mut form: ScenarioForm =
        decoded.map_err(|(field, problem)| wrong(path, &field, problem))?;
    form.seed = overrides.seed.unwrap_or(form.seed);
    form.duration = overrides.duration.map_or(form.duration, Span);
    form.check().map_err(|(field, problem)| wrong(path, &field, problem))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut configurations = Vec::new();
    for (number, configuration) in form.configurations().iter().enumerate() {
        let field = format!("configurations[{number}]");
        let seats = configuration.concurrency_limit.unwrap_or(form.server.concurrency_limit);
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
        duration: form.duration.0,
        warmup: form.warmup.0,
        seed: form.seed,
        flows: form.flows.iter().map(FlowForm::flow).collect(),
    };
    Ok(Plan { scenario, configurations })
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
