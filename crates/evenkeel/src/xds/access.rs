//! The permissions that the control plane of a mesh needs.

use std::time::Duration;

use evenkeel_k8s::watched::MeshKind;
use kube::Client;
use tokio::time::timeout;

use crate::{
    access::{self, Permission, Place, Rule},
    error::Error,
};

/// What Services as destinations need besides the kinds of `kuma.io`; the ClusterRole in `deploy/mesh` allows both.
const RULES: &[Rule] = &[
    ("", "nodes", "", FOLLOW),
    ("", "pods", "", FOLLOW),
    ("", "services", "", FOLLOW),
    ("discovery.k8s.io", "endpointslices", "", FOLLOW),
];

const FOLLOW: &[&str] = &["list", "watch"];

/// How long an API server is asked. Where it does not answer, the control plane starts nevertheless: its
/// watches are retried, and proxies wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds before the start what would otherwise show as requests that are retried forever.
pub(super) async fn check(client: &Client, services: bool) -> Result<(), Error> {
    let asked = needed(services).map(|permission| (permission, Place::default()));
    let answers = timeout(PATIENCE, access::review(client, asked)).await.unwrap_or_default();
    match access::denied(&answers) {
        denied if denied.is_empty() => Ok(()),
        denied => Err(Error::NotAllowed { of: "control plane", roles: "deploy/mesh", denied }),
    }
}

fn needed(services: bool) -> impl Iterator<Item = Permission> {
    let kinds = MeshKind::ALL.into_iter().flat_map(|kind| {
        let (group, resource) = (MeshKind::GROUP, kind.plural());
        let permission = move |verb| Permission { verb, group, resource, subresource: "" };
        FOLLOW.iter().copied().map(permission)
    });
    kinds.chain(access::permissions(if services { RULES } else { &[] }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_mesh_is_among_them() {
        let told: Vec<String> = needed(true).map(|permission| permission.to_string()).collect();
        assert_eq!(told.len(), 2 * (MeshKind::ALL.len() + RULES.len()));
        assert_eq!(needed(false).count(), 2 * MeshKind::ALL.len(), "--services=false");
        for expected in ["list meshservices.kuma.io", "watch dataplanes.kuma.io", "watch pods"] {
            assert!(told.iter().any(|one| one == expected), "{expected}: {told:?}");
        }
    }
}
