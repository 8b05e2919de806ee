//! The ConfigMaps that the load consists of.

use crate::load::connection::request;

const NAMESPACE: &str = "/api/v1/namespaces/default/configmaps";
/// Makes a ConfigMap of 1.2 KB in a list.
const DATA: usize = 980;

/// The path of those that are created here.
pub(crate) fn collection() -> &'static str {
    NAMESPACE
}

/// The request that creates one. Equally long for names of equal length.
pub(crate) fn create(name: &str, data: &str) -> String {
    let filler = "x".repeat(DATA.saturating_sub(data.len()));
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"load"}}}},"data":{{"text":"{data}{filler}"}}}}"#
    );
    request("POST", NAMESPACE, "application/json", &body)
}
