//! `/` and `/version`.

use std::env::consts;

use serde_json::{Value, json};

use super::resource;
use crate::{kinds::Catalogue, tokens};

/// The Kubernetes version of this API.
const MAJOR: &str = "1";
const MINOR: &str = "37";

/// `/`: the list of paths.
pub(crate) fn paths(served: &Catalogue) -> Value {
    let mut paths: Vec<String> = [
        tokens::OPENID_PATH,
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/healthz",
        "/healthz/ping",
        "/livez",
        "/livez/ping",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        tokens::JWKS_PATH,
        "/readyz",
        "/readyz/ping",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    for (group, versions) in resource::groups(&resource::all(served)) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.sort();
    json!({"paths": paths})
}

/// `/version`. The server is not written in Go, but clients expect the field.
pub(crate) fn version() -> Value {
    json!({
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": MINOR,
        "gitVersion": format!("v{MAJOR}.{MINOR}.0-evenkeel"),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", consts::OS, architecture()),
    })
}

/// Go's name of the architecture.
fn architecture() -> &'static str {
    match consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    }
}
