//! The permissions that the proxy of a node needs.

use std::time::Duration;

use kube::Client;
use tokio::time::timeout;

use crate::{
    access::{self, LEASES, Permission, Place, Rule},
    error::Error,
};

/// The rules of the ClusterRole in `deploy/proxy`.
const RULES: &[Rule] = &[
    ("", "nodes", "", &["list", "watch"]),
    ("", "services", "", &["list", "watch"]),
    ("discovery.k8s.io", "endpointslices", "", &["list", "watch"]),
];

/// Those of its Role, for reports.
const REPORTS: &[Rule] = &[(LEASES, "leases", "", &["create", "list", "patch"])];

/// How long an API server is asked. Where it does not answer, the proxy starts nevertheless: rules of
/// an earlier one serve, and watches are retried.
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds before the start what would otherwise show as requests that are retried forever.
pub(super) async fn check(client: &Client, node: &str) -> Result<(), Error> {
    let asked = access::permissions(RULES).map(|permission| match permission.resource {
        "nodes" => (permission, Place { namespace: None, name: Some(node) }),
        _ => (permission, Place::default()),
    });
    let answers = timeout(PATIENCE, access::review(client, asked)).await.unwrap_or_default();
    match access::denied(&answers) {
        denied if denied.is_empty() => Ok(()),
        denied => Err(Error::NotAllowed { of: "proxy", roles: "deploy/proxy", denied }),
    }
}

/// What is denied of what reports in this namespace need.
pub(super) async fn denied_reports(client: &Client, namespace: &str) -> Vec<Permission> {
    let place = Place { namespace: Some(namespace), name: None };
    let asked = access::permissions(REPORTS).map(|permission| (permission, place));
    let answers = timeout(PATIENCE, access::review(client, asked)).await.unwrap_or_default();
    access::denied(&answers)
}
