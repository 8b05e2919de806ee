//! Values as JSON or YAML.

use serde::Serialize;

use crate::error::Error;

pub(crate) fn json(value: &impl Serialize) -> Result<String, Error> {
    let encode =
        |error: serde_json::Error| Error::Encode { format: "JSON", problem: error.to_string() };
    Ok(serde_json::to_string_pretty(value).map_err(encode)? + "\n")
}

pub(crate) fn yaml(value: &impl Serialize) -> Result<String, Error> {
    serde_saphyr::to_string(value)
        .map_err(|error| Error::Encode { format: "YAML", problem: error.to_string() })
}
