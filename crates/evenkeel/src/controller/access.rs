//! The permissions that the controller needs, and whether it has them.

use std::fmt;

use futures_util::future::join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::{Api, Client, api::PostParams};

/// One verb on one resource. The scope is not part of it: a lease is in one namespace, all else is
/// checked cluster-wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permission {
    pub verb: &'static str,
    pub group: &'static str,
    pub resource: &'static str,
    /// Empty for the resource itself.
    pub subresource: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed,
    Denied,
    /// The review itself failed.
    Unknown(String),
}

/// The rules of the ClusterRole and the Role in `deploy/base`, one row each.
const RULES: &[(&str, &str, &str, &[&str])] = &[
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
    (LEASES, "leases", "", &["get", "create", "update", "list", "watch"]),
];

const LEASES: &str = "coordination.k8s.io";

/// All permissions that the controller needs.
pub(crate) fn needed() -> impl Iterator<Item = Permission> {
    RULES.iter().flat_map(|&(group, resource, subresource, verbs)| {
        verbs.iter().map(move |verb| Permission { verb, group, resource, subresource })
    })
}

/// Reviews each of them, concurrently. `lease`: namespace and name of that of the leader; `None` if
/// none is used. `reports`: the namespace of those of proxies; `None` if nothing is made of them.
pub(crate) async fn ask(
    client: &Client,
    lease: Option<(&str, &str)>,
    reports: Option<&str>,
) -> Vec<(Permission, Answer)> {
    let asked = needed().filter_map(|permission| {
        let place = match (permission.group, permission.verb) {
            (LEASES, "list" | "watch") => Some((reports?, None)),
            // Whoever creates it can't be restricted to a name.
            (LEASES, "create") => Some((lease?.0, None)),
            // The role may be for this one Lease.
            (LEASES, _) => lease.map(|(namespace, name)| (namespace, Some(name))),
            _ => return Some((permission, None)),
        };
        place.map(|place| (permission, Some(place)))
    });
    let asked = asked
        .map(async |(permission, place)| (permission, ask_one(client, permission, place).await));
    join_all(asked).await
}

/// The denied ones.
pub(crate) fn denied(answers: &[(Permission, Answer)]) -> Vec<Permission> {
    let denied = answers.iter().filter(|(_, answer)| *answer == Answer::Denied);
    denied.map(|(permission, _)| *permission).collect()
}

/// `place`: a namespace, and the name of an object in it.
async fn ask_one(
    client: &Client,
    permission: Permission,
    place: Option<(&str, Option<&str>)>,
) -> Answer {
    let Permission { verb, group, resource, subresource } = permission;
    let attributes = ResourceAttributes {
        verb: Some(verb.to_owned()),
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource: (!subresource.is_empty()).then(|| subresource.to_owned()),
        namespace: place.map(|(namespace, _)| namespace.to_owned()),
        name: place.and_then(|(_, name)| name).map(ToOwned::to_owned),
        ..ResourceAttributes::default()
    };
    let spec = SelfSubjectAccessReviewSpec {
        resource_attributes: Some(attributes),
        ..SelfSubjectAccessReviewSpec::default()
    };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    match Api::all(client.clone()).create(&PostParams::default(), &review).await {
        Ok(review) if review.status.as_ref().is_some_and(|status| status.allowed) => {
            Answer::Allowed
        }
        Ok(_) => Answer::Denied,
        Err(kube::Error::Api(status)) => Answer::Unknown(status.message),
        Err(error) => Answer::Unknown(error.to_string()),
    }
}

// === impl Permission ===

/// As `kubectl auth can-i` takes it: `list pods`, `patch services/status`.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Permission { verb, group, resource, subresource } = self;
        write!(f, "{verb} {resource}")?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        match subresource.is_empty() {
            true => Ok(()),
            false => write!(f, "/{subresource}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_read_as_kubectl_takes_them() {
        let told: Vec<String> = needed().map(|permission| permission.to_string()).collect();
        for expected in
            ["list pods", "patch services/status", "delete endpointslices.discovery.k8s.io"]
        {
            assert!(told.iter().any(|one| one == expected), "{expected} is not in {told:?}");
        }
    }

    #[test]
    fn only_a_clear_no_counts_as_denied() {
        let all: Vec<Permission> = needed().take(3).collect();
        let answers = [Answer::Allowed, Answer::Denied, Answer::Unknown("no".to_owned())];
        let answers: Vec<_> = all.iter().copied().zip(answers).collect();
        assert_eq!(denied(&answers), [all[1]]);
    }
}
