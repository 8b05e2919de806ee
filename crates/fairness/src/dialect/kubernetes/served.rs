//! Objects as an API server serves them.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{FlowSchema, PriorityLevelConfiguration, compile};
use crate::dialect::Compiled;

/// What an API server with these objects has in force, and which objects are ignored, with the reason.
/// Others that are invalid are among the findings.
pub fn served(levels: Vec<Value>, schemas: Vec<Value>) -> (Compiled, Vec<String>) {
    let mut ignored = Vec::new();
    let levels: Vec<PriorityLevelConfiguration> = decode(levels, "priority level", &mut ignored);
    let schemas: Vec<FlowSchema> = decode(schemas, "flow schema", &mut ignored);
    (compile(&levels, &schemas), ignored)
}

fn decode<T: DeserializeOwned>(
    objects: Vec<Value>,
    kind: &str,
    ignored: &mut Vec<String>,
) -> Vec<T> {
    let decoded = objects.into_iter().filter_map(|object| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        serde_json::from_value(object)
            .map_err(|error| ignored.push(format!("{kind} {name}: {error}")))
            .ok()
    });
    decoded.collect()
}
