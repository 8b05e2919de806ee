//! Why a configuration can't be applied.

use std::collections::HashSet;

use evenkeel_fairness::{
    config::{Config, Handling},
    limits::nominal::NoShares,
    shard::Dealer,
};
use thiserror::Error;

/// A configuration compiled from a dialect can fail with [`NoShares`] only; the other errors are for
/// configurations made by hand.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ConfigureError {
    #[error(transparent)]
    NoShares(#[from] NoShares),
    #[error(
        "priority level {level:?}: hands of {hand_size} can't be dealt from {queues} queues; \
         use fewer queues or smaller hands"
    )]
    Hand { level: String, queues: u32, hand_size: u32 },
    #[error("flow schema {schema:?} names level {level}, but there are {levels} levels")]
    NoLevel { schema: String, level: usize, levels: usize },
    #[error("two priority levels are named {level:?}; rename one of them")]
    TwoLevels { level: String },
    #[error("two flow schemas are named {schema:?}; rename one of them")]
    TwoSchemas { schema: String },
    #[error("the fallback is schema {fallback}, but there are {schemas} schemas")]
    NoFallback { fallback: usize, schemas: usize },
}

/// Checks the invariants of a [`Config`], so that using it can't panic, and no two rows of a metric
/// have the same labels.
pub(crate) fn check(config: &Config) -> Result<(), ConfigureError> {
    if let Some(level) = twice(config.levels.iter().map(|level| &*level.name)) {
        return Err(ConfigureError::TwoLevels { level: level.to_owned() });
    }
    if let Some(schema) = twice(config.schemas.iter().map(|schema| &*schema.name)) {
        return Err(ConfigureError::TwoSchemas { schema: schema.to_owned() });
    }
    for level in &config.levels {
        let Handling::Queue(queuing) = level.handling else { continue };
        if Dealer::new(queuing.queues, queuing.hand_size).is_err() {
            let (queues, hand_size) = (queuing.queues, queuing.hand_size);
            return Err(ConfigureError::Hand { level: level.name.to_string(), queues, hand_size });
        }
    }
    let levels = config.levels.len();
    if let Some(schema) = config.schemas.iter().find(|schema| schema.level >= levels) {
        let (schema, level) = (schema.name.to_string(), schema.level);
        return Err(ConfigureError::NoLevel { schema, level, levels });
    }
    let (fallback, schemas) = (config.fallback, config.schemas.len());
    if fallback >= schemas {
        return Err(ConfigureError::NoFallback { fallback, schemas });
    }
    Ok(())
}

fn twice<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut seen = HashSet::new();
    names.find(|name| !seen.insert(*name))
}
