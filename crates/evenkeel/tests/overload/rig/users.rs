//! Who sends requests, and what each kind of user does all day.

use std::time::Duration;

use super::{caller::Caller, work::Work};

/// The group of people whom the tests give all rights.
pub(crate) const STAFF: &str = "staff";

/// A user of the token file. The token is the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

impl User {
    pub(crate) fn new(name: &str, groups: &[&str]) -> User {
        User { name: name.to_owned(), groups: groups.iter().map(|&group| group.into()).collect() }
    }

    /// A record of the token file.
    pub(super) fn record(&self) -> String {
        let User { name, groups } = self;
        format!("{name},{name},{name},\"{}\"\n", groups.join(","))
    }
}

pub(crate) fn admin() -> User {
    User::new("admin", &["system:masters"])
}

pub(crate) fn service_account(namespace: &str, name: &str) -> User {
    let group = format!("system:serviceaccounts:{namespace}");
    let groups = ["system:serviceaccounts", &group, STAFF];
    User::new(&format!("system:serviceaccount:{namespace}:{name}"), &groups)
}

pub(crate) fn kubelet(n: usize) -> User {
    User::new(&format!("system:node:n{n}"), &["system:nodes"])
}

pub(crate) fn controller_manager() -> User {
    User::new("system:kube-controller-manager", &[])
}

/// The heartbeats of a Node: its status and its Lease in turn.
pub(crate) fn heartbeats(n: usize, every: Duration) -> [Caller; 2] {
    let status = Work::patch(
        &format!("/api/v1/nodes/n{n}/status"),
        r#"{"status":{"nodeInfo":{"bootID":"{n}"}}}"#,
    );
    let lease = Work::Renew { path: lease("kube-node-lease", &format!("n{n}")) };
    [status, lease].map(|work| Caller::new(kubelet(n), work).every(every))
}

/// The lock of the leader among controller managers.
pub(crate) fn leader(every: Duration) -> Caller {
    let path = lease("kube-system", "kube-controller-manager");
    Caller::new(controller_manager(), Work::Renew { path }).every(every)
}

fn lease(namespace: &str, name: &str) -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
}
