//! The permissions that the controller needs.

use kube::Client;

use crate::access::{self, Answer, LEASES, Permission, Place, Rule};

/// The rules of the ClusterRole and the Role in `deploy/base`, one row each.
const RULES: &[Rule] = &[
    ("", "nodes", "", &["list", "watch"]),
    ("", "pods", "", &["list", "watch"]),
    ("", "services", "", &["list", "watch"]),
    ("", "services", "status", &["patch"]),
    (
        "discovery.k8s.io",
        "endpointslices",
        "",
        &["get", "list", "watch", "create", "patch", "delete"],
    ),
    ("", "events", "", &["create", "patch"]),
    (LEASES, "leases", "", &["get", "create", "update"]),
];

/// What the reports of proxies need.
const REPORTS: &[Rule] = &[(LEASES, "leases", "", &["list", "watch"])];

/// All permissions without which the controller does not start.
pub(crate) fn needed() -> impl Iterator<Item = Permission> {
    access::permissions(RULES)
}

/// Reviews each of them. `lease`: namespace and name of that of the leader; `None` if none is used.
pub(crate) async fn ask(client: &Client, lease: Option<(&str, &str)>) -> Vec<(Permission, Answer)> {
    let asked = needed().filter_map(|permission| match (permission.group, permission.verb) {
        // Whoever creates it can't be restricted to a name.
        (LEASES, "create") => Some((permission, Place { namespace: Some(lease?.0), name: None })),
        (LEASES, _) => {
            let (namespace, name) = lease?;
            Some((permission, Place { namespace: Some(namespace), name: Some(name) }))
        }
        _ => Some((permission, Place::default())),
    });
    access::review(client, asked).await
}

/// Reviews whether the reports of proxies in this namespace can be read.
pub(crate) async fn ask_reports(client: &Client, namespace: &str) -> Vec<(Permission, Answer)> {
    let place = Place { namespace: Some(namespace), name: None };
    let asked = access::permissions(REPORTS).map(|permission| (permission, place));
    access::review(client, asked).await
}
