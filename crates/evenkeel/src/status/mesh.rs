//! What the admin pages of a mesh's control plane say.

use evenkeel_admin::scrape;
use hyper::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::facts::{ControlPlane, Mesh};
use crate::mesh::proxies::Proxies;

/// Of what is told of a problem, the first so many characters.
const TOLD: usize = 200;

/// `url`: of `--admin-listen`.
pub(super) async fn read(url: &str) -> Mesh {
    let url = url.trim_end_matches('/').to_owned();
    let found = ask(&url).await;
    Mesh { url, found }
}

async fn ask(url: &str) -> Result<ControlPlane, String> {
    let (status, text) = scrape::ask(&format!("{url}/readyz?verbose")).await?;
    let unready = match status {
        StatusCode::OK => None,
        _ => Some(failed_checks(&text)),
    };
    let proxies: Proxies = page(url, "/mesh/proxies").await?;
    let policies: Value = page(url, "/mesh/policies").await?;
    let invalid =
        policies["invalid"].as_array().ok_or("the answer is not that of a control plane")?;
    Ok(ControlPlane {
        unready,
        connected: proxies.proxies.len(),
        not_connected: proxies.n_not_connected(),
        rejecting: proxies.rejecting(),
        invalid: invalid.iter().map(invalid_resource).collect(),
    })
}

async fn page<T: DeserializeOwned>(url: &str, path: &str) -> Result<T, String> {
    let text = scrape::fetch(&format!("{url}{path}")).await?;
    serde_json::from_str(&text).map_err(|_| "the answer is not that of a control plane".to_owned())
}

/// The lines of the checks that failed.
fn failed_checks(text: &str) -> String {
    let failed: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("[-]")).collect();
    failed.join("; ").chars().take(TOLD).collect()
}

/// Where it is and what is wrong with it.
fn invalid_resource(problem: &Value) -> String {
    let parts = ["origin", "field", "message"].map(|part| problem[part].as_str());
    let told = parts.into_iter().flatten().collect::<Vec<_>>().join(": ");
    told.chars().take(TOLD).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn failed_checks_are_those_with_a_minus() {
        let text = "[+]caches ok\n[-]watches failed: reason withheld\nreadyz check failed\n";
        assert_eq!(failed_checks(text), "watches failed: reason withheld");
        assert_eq!(failed_checks(&format!("[-]{}", "ä".repeat(999))).chars().count(), TOLD);
    }

    #[test]
    fn an_invalid_resource_is_named_with_its_field() {
        let problem = json!({"origin": "Mesh /a", "field": "spec.x", "message": "is unknown"});
        assert_eq!(invalid_resource(&problem), "Mesh /a: spec.x: is unknown");
        assert_eq!(invalid_resource(&json!({"origin": "a.yaml", "message": "no"})), "a.yaml: no");
        assert_eq!(invalid_resource(&json!(3)), "");
    }

    #[tokio::test]
    async fn what_does_not_answer_is_told() {
        let Mesh { url, found } = read("http://127.0.0.1:1/").await;
        assert_eq!(url, "http://127.0.0.1:1");
        assert!(found.unwrap_err().contains("refused"));
    }
}
