//! Permissions that a component needs, and whether its credentials have them.

use std::fmt;

use futures_util::future::join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::{Api, Client, api::PostParams};

/// One verb on one resource. The scope is not part of it: see [`Place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permission {
    pub verb: &'static str,
    pub group: &'static str,
    pub resource: &'static str,
    /// Empty for the resource itself.
    pub subresource: &'static str,
}

/// Where a permission is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// `None`: in all namespaces, or for resources without one.
    pub namespace: Option<&'a str>,
    /// The only object that it is needed for. A role may be restricted to it.
    pub name: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed,
    Denied,
    /// The review itself failed.
    Unknown(String),
}

pub(crate) const LEASES: &str = "coordination.k8s.io";

/// One row of a table: API group, resource, subresource, verbs.
pub(crate) type Rule = (&'static str, &'static str, &'static str, &'static [&'static str]);

pub(crate) fn permissions(rules: &'static [Rule]) -> impl Iterator<Item = Permission> {
    rules.iter().flat_map(|&(group, resource, subresource, verbs)| {
        verbs.iter().map(move |verb| Permission { verb, group, resource, subresource })
    })
}

/// Reviews each of them, concurrently.
pub(crate) async fn review<'a>(
    client: &Client,
    asked: impl Iterator<Item = (Permission, Place<'a>)>,
) -> Vec<(Permission, Answer)> {
    let asked = asked
        .map(async |(permission, place)| (permission, review_one(client, permission, place).await));
    join_all(asked).await
}

/// The denied ones.
pub(crate) fn denied(answers: &[(Permission, Answer)]) -> Vec<Permission> {
    let denied = answers.iter().filter(|(_, answer)| *answer == Answer::Denied);
    denied.map(|(permission, _)| *permission).collect()
}

async fn review_one(client: &Client, permission: Permission, place: Place<'_>) -> Answer {
    let Permission { verb, group, resource, subresource } = permission;
    let attributes = ResourceAttributes {
        verb: Some(verb.to_owned()),
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource: (!subresource.is_empty()).then(|| subresource.to_owned()),
        namespace: place.namespace.map(ToOwned::to_owned),
        name: place.name.map(ToOwned::to_owned),
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

    const RULES: &[Rule] = &[
        ("", "pods", "", &["list"]),
        ("", "services", "status", &["patch"]),
        ("discovery.k8s.io", "endpointslices", "", &["delete"]),
    ];

    #[test]
    fn permissions_read_as_kubectl_takes_them() {
        let told: Vec<String> = permissions(RULES).map(|it| it.to_string()).collect();
        let expected =
            ["list pods", "patch services/status", "delete endpointslices.discovery.k8s.io"];
        assert_eq!(told, expected);
    }

    #[test]
    fn only_a_clear_no_counts_as_denied() {
        let all: Vec<Permission> = permissions(RULES).collect();
        let answers = [Answer::Allowed, Answer::Denied, Answer::Unknown("no".to_owned())];
        let answers: Vec<_> = all.iter().copied().zip(answers).collect();
        assert_eq!(denied(&answers), [all[1]]);
    }
}
