//! The proposal's dialect: the blocks it prints load as they are printed, and its rules hold.

mod bad_input;
mod conditions;
mod defaults;
mod rules;

use evenkeel_fairness::{
    config::{Config, Schema},
    dialect::{Compiled, Finding, Objects, Problem, load},
};

const LEVELS: [&str; 5] = [
    include_str!("level-system-top.yaml"),
    include_str!("level-system-high.yaml"),
    include_str!("level-system-low.yaml"),
    include_str!("level-workload-high.yaml"),
    include_str!("level-workload-low.yaml"),
];

const SCHEMAS: [&str; 5] = [
    include_str!("schema-system-top.yaml"),
    include_str!("schema-system-high.yaml"),
    include_str!("schema-system-low.yaml"),
    include_str!("schema-workload-high.yaml"),
    include_str!("schema-workload-low.yaml"),
];

const AGGREGATED: &str = include_str!("aggregated-system-top.yaml");
const BACKSTOP: &str = include_str!("non-top-backstop.yaml");

/// Many blocks as one configuration.
fn load_all<'t>(texts: impl IntoIterator<Item = &'t str>) -> Objects {
    let texts: Vec<&str> = texts.into_iter().collect();
    load("test.yaml", &texts.join("\n---\n"))
}

#[track_caller]
fn compile<'t>(texts: impl IntoIterator<Item = &'t str>) -> Compiled {
    load_all(texts).compile().unwrap_or_else(|problems| panic!("{problems:#?}"))
}

#[track_caller]
fn problems<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<Problem> {
    load_all(texts).compile().expect_err("something is wrong with it")
}

fn schema_names(config: &Config) -> Vec<&str> {
    config.schemas.iter().map(|schema| &*schema.name).collect()
}

fn level_names(config: &Config) -> Vec<&str> {
    config.levels.iter().map(|level| &*level.name).collect()
}

#[track_caller]
fn schema<'c>(config: &'c Config, name: &str) -> &'c Schema {
    config.schemas.iter().find(|schema| &*schema.name == name).expect("there is such a schema")
}

fn codes(compiled: &Compiled) -> Vec<&str> {
    compiled.findings.iter().map(Finding::code).collect()
}

/// A schema in the usual form; `rest` is further lines of its spec.
fn a_schema(name: &str, level: &str, rest: &str) -> String {
    format!(
        "apiVersion: evenkeel.dev/v1alpha1\nkind: FlowSchema\nmetadata: {{name: {name}}}\n\
         spec:\n  requestPriority: {{name: {level}}}\n{rest}"
    )
}

/// A level in the usual form.
fn a_level(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: evenkeel.dev/v1alpha1\nkind: RequestPriority\n\
         metadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    )
}

const QUEUES: &str = "assuredConcurrencyShares: 10, queues: 8, handSize: 2, queueLengthLimit: 5";
const EVERYTHING: &str = "  match: [{and: []}]\n";
