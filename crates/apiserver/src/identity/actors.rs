//! The identities of the server's own actors, as in Kubernetes.

use std::sync::{Arc, LazyLock};

use super::{MASTERS, User};

/// The server itself: default objects, their status and repair.
pub(crate) static APISERVER: LazyLock<Arc<User>> = LazyLock::new(|| {
    let groups = vec![MASTERS.to_owned()];
    Arc::new(
        User { name: "system:apiserver".to_owned(), groups, ..User::default() }.authenticated(),
    )
});
pub(crate) static GARBAGE_COLLECTOR: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("generic-garbage-collector"));
pub(crate) static NAMESPACE_CONTROLLER: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("namespace-controller"));
pub(crate) static DEPLOYMENT_CONTROLLER: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("deployment-controller"));
pub(crate) static REPLICA_SET_CONTROLLER: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("replicaset-controller"));
pub(crate) static DAEMON_SET_CONTROLLER: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("daemon-set-controller"));
/// Also evicts Pods from lost Nodes.
pub(crate) static NODE_CONTROLLER: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("node-controller"));
pub(crate) static SERVICE_ACCOUNT_CONTROLLER: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("service-account-controller"));
pub(crate) static ROOT_CA_PUBLISHER: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("root-ca-cert-publisher"));
pub(crate) static ROLE_AGGREGATION_CONTROLLER: LazyLock<Arc<User>> =
    LazyLock::new(|| controller("clusterrole-aggregation-controller"));
pub(crate) static SCHEDULER: LazyLock<Arc<User>> =
    LazyLock::new(|| component("system:kube-scheduler"));
/// Fills in the Secrets for tokens under its own name.
pub(crate) static CONTROLLER_MANAGER: LazyLock<Arc<User>> =
    LazyLock::new(|| component("system:kube-controller-manager"));

/// The kubelet of a Node.
pub(crate) fn kubelet(node: &str) -> Arc<User> {
    let groups = vec!["system:nodes".to_owned()];
    Arc::new(
        User { name: format!("system:node:{node}"), groups, ..User::default() }.authenticated(),
    )
}

/// A controller, which has a ServiceAccount of its own.
fn controller(name: &str) -> Arc<User> {
    let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system"];
    let user = User {
        name: format!("system:serviceaccount:kube-system:{name}"),
        groups: groups.map(str::to_owned).into(),
        ..User::default()
    };
    Arc::new(user.authenticated())
}

fn component(name: &str) -> Arc<User> {
    Arc::new(User { name: name.to_owned(), ..User::default() }.authenticated())
}
