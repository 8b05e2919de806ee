//! The objects that every cluster has.

use std::sync::LazyLock;

use super::{
    compile::compile,
    object::{FlowSchema, FlowSchemaSpec, PriorityLevelConfiguration},
};
use crate::dialect::{Compiled, load};

pub(crate) const EXEMPT: &str = "exempt";
pub(crate) const CATCH_ALL: &str = "catch-all";

/// All of them, mandatory ones first.
pub fn defaults() -> &'static Defaults {
    static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
        let objects = load("defaults.yaml", include_str!("defaults.yaml"));
        assert!(objects.problems.is_empty(), "{:?}", objects.problems);
        let levels = objects.kubernetes.levels.into_iter().map(|located| located.object);
        let schemas = objects.kubernetes.schemas.into_iter().map(|located| located.object);
        Defaults { levels: levels.collect(), schemas: schemas.collect() }
    });
    &DEFAULTS
}

#[derive(Debug)]
pub struct Defaults {
    pub levels: Vec<PriorityLevelConfiguration>,
    pub schemas: Vec<FlowSchema>,
}

impl Defaults {
    /// What is in force when there are no others.
    pub fn compile(&self) -> Compiled {
        compile(&self.levels, &self.schemas)
    }
}

/// Whether the level, or the schema, of this name is mandatory; the names are the same.
pub fn is_mandatory(name: &str) -> bool {
    name == EXEMPT || name == CATCH_ALL
}

pub(super) fn mandatory_level(name: &str) -> Option<&'static PriorityLevelConfiguration> {
    let named = |level: &&PriorityLevelConfiguration| level.metadata.name == name;
    defaults().levels.iter().filter(|_| is_mandatory(name)).find(named)
}

pub(super) fn mandatory_schema(name: &str) -> Option<&'static FlowSchema> {
    let named = |schema: &&FlowSchema| schema.metadata.name == name;
    defaults().schemas.iter().filter(|_| is_mandatory(name)).find(named)
}

impl FlowSchemaSpec {
    /// Whether Kubernetes considers the two equal.
    pub fn means_the_same(&self, other: &FlowSchemaSpec) -> bool {
        self.normalized() == other.normalized()
    }

    /// With empty lists as absent ones: they mean the same.
    fn normalized(&self) -> FlowSchemaSpec {
        fn absent<T>(list: &mut Option<Vec<T>>) {
            list.take_if(|list| list.is_empty());
        }
        let mut spec = self.clone();
        for rule in &mut spec.rules {
            absent(&mut rule.subjects);
            for rule in &mut rule.resource_rules {
                absent(&mut rule.verbs);
                absent(&mut rule.api_groups);
                absent(&mut rule.resources);
                absent(&mut rule.namespaces);
            }
            for rule in &mut rule.non_resource_rules {
                absent(&mut rule.verbs);
                absent(&mut rule.non_resource_urls);
            }
        }
        spec
    }
}
