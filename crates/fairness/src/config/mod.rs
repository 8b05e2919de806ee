//! The configuration that both dialects compile into, valid and complete: it includes what is
//! implied, every schema refers to an existing level, and schemas are in the order they are tried.

mod level;
mod predicate;
mod schema;

pub use self::{
    level::{Handling, Level, Queuing},
    predicate::{
        Conjunction, Field, Names, NonResourceRule, Op, Predicate, ResourceRule, Rule, Subject,
        Test, Url,
    },
    schema::{Distinguisher, Schema, Source, Transform},
};

/// A configuration in force.
#[derive(Clone, Debug)]
pub struct Config {
    /// By name.
    pub levels: Vec<Level>,
    /// In the order in which they are tried; the first match is used.
    pub schemas: Vec<Schema>,
    /// The schema of requests that no schema matches.
    pub fallback: usize,
}

impl Config {
    pub fn level_of(&self, schema: &Schema) -> &Level {
        &self.levels[schema.level]
    }
}
