//! The one configuration that both dialects compile into, checked and complete: what is implied is
//! in it, every schema points at a level that exists, and schemas are in the order they are tried.

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
    /// In the order in which they are tried; the first that matches takes the request.
    pub schemas: Vec<Schema>,
    /// Which schema takes a request that none matches.
    pub fallback: usize,
}

impl Config {
    pub fn level_of(&self, schema: &Schema) -> &Level {
        &self.levels[schema.level]
    }
}
