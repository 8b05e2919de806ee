//! The list of resources from which all documents are generated.

use crate::kinds::{KINDS, Kind, Subresource};

/// A resource or subresource.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    /// `pods`, or `pods/status`.
    pub(super) name: String,
    pub(super) singular: &'static str,
    pub(super) kind: &'static str,
    /// The group and version of the kind, where they differ from the resource's.
    pub(super) foreign: Option<(&'static str, &'static str)>,
    pub(super) namespaced: bool,
    pub(super) verbs: &'static [&'static str],
    pub(super) short_names: &'static [&'static str],
    pub(super) categories: &'static [&'static str],
    /// The group, version and kind under which objects are stored, if they are.
    pub(super) stored: Option<(&'static str, &'static str, &'static str)>,
}

/// A resource that can only be created and is not stored.
struct Action {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    namespaced: bool,
}

const ACTIONS: [Action; 7] = [
    Action {
        group: "",
        kind: "Binding",
        plural: "bindings",
        singular: "binding",
        namespaced: true,
    },
    Action {
        group: "authentication.k8s.io",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        singular: "selfsubjectreview",
        namespaced: false,
    },
    Action {
        group: "authentication.k8s.io",
        kind: "TokenReview",
        plural: "tokenreviews",
        singular: "tokenreview",
        namespaced: false,
    },
    Action {
        group: "authorization.k8s.io",
        kind: "LocalSubjectAccessReview",
        plural: "localsubjectaccessreviews",
        singular: "localsubjectaccessreview",
        namespaced: true,
    },
    Action {
        group: "authorization.k8s.io",
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
        namespaced: false,
    },
    Action {
        group: "authorization.k8s.io",
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        singular: "selfsubjectrulesreview",
        namespaced: false,
    },
    Action {
        group: "authorization.k8s.io",
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
        singular: "subjectaccessreview",
        namespaced: false,
    },
];

/// Groups in the order of Kubernetes' priorities; others follow by name.
const GROUPS: [&str; 10] = [
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

const PARTIAL: &[&str] = &["get", "patch", "update"];

/// Everything served, by group and version, then by name. A slash sorts before all letters, so
/// subresources follow their resource.
pub(super) fn all() -> Vec<Resource> {
    let kinds = KINDS.iter().flat_map(|kind| {
        std::iter::once(of_kind(kind)).chain(kind.subresources.iter().map(|sub| of_sub(kind, sub)))
    });
    let mut all: Vec<Resource> = kinds.chain(ACTIONS.iter().map(of_action)).collect();
    all.sort_by(|a, b| {
        let order = |r: &Resource| (rank(r.group), r.group, r.version);
        order(a).cmp(&order(b)).then_with(|| a.name.cmp(&b.name))
    });
    all
}

/// The groups other than core, each with its versions, in order.
pub(super) fn groups(all: &[Resource]) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for resource in all.iter().filter(|resource| !resource.group.is_empty()) {
        match groups.last_mut() {
            Some((group, versions)) if *group == resource.group => {
                if versions.last() != Some(&resource.version) {
                    versions.push(resource.version);
                }
            }
            _ => groups.push((resource.group, vec![resource.version])),
        }
    }
    groups
}

fn rank(group: &str) -> usize {
    if group.is_empty() {
        return 0;
    }
    1 + GROUPS.iter().position(|known| *known == group).unwrap_or(GROUPS.len())
}

fn of_kind(kind: &Kind) -> Resource {
    // Events are stored once for both of their groups.
    let stored_group = if kind.kind == "Event" { "" } else { kind.group };
    Resource {
        group: kind.group,
        version: kind.version,
        name: kind.plural.to_owned(),
        singular: kind.singular,
        kind: kind.kind,
        foreign: None,
        namespaced: kind.namespaced,
        verbs: kind.verbs,
        short_names: kind.short_names,
        categories: kind.categories,
        stored: Some((stored_group, kind.version, kind.kind)),
    }
}

fn of_sub(kind: &Kind, subresource: &Subresource) -> Resource {
    let (name, shown, foreign, verbs): (_, _, _, &'static [&'static str]) = match subresource {
        Subresource::Status => ("status", kind.kind, None, PARTIAL),
        Subresource::Scale => ("scale", "Scale", Some(("autoscaling", "v1")), PARTIAL),
        Subresource::Binding => ("binding", "Binding", None, &["create"]),
        Subresource::Eviction => ("eviction", "Eviction", Some(("policy", "v1")), &["create"]),
        Subresource::Token => {
            ("token", "TokenRequest", Some(("authentication.k8s.io", "v1")), &["create"])
        }
        Subresource::Finalize(_) => ("finalize", kind.kind, None, &["update"]),
        Subresource::Part(name, _) => (*name, kind.kind, None, PARTIAL),
        Subresource::NotSupported(name, shown, verbs) => {
            let (foreign, shown) = foreign(shown);
            (*name, shown, foreign, *verbs)
        }
    };
    Resource {
        name: format!("{}/{name}", kind.plural),
        singular: "",
        kind: shown,
        foreign,
        verbs,
        short_names: &[],
        categories: &[],
        stored: None,
        ..of_kind(kind)
    }
}

/// A kind of another group is written `group/version/Kind`.
fn foreign(kind: &'static str) -> (Option<(&'static str, &'static str)>, &'static str) {
    let mut parts = kind.splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(group), Some(version), Some(kind)) => (Some((group, version)), kind),
        _ => (None, kind),
    }
}

fn of_action(action: &Action) -> Resource {
    Resource {
        group: action.group,
        version: "v1",
        name: action.plural.to_owned(),
        singular: action.singular,
        kind: action.kind,
        foreign: None,
        namespaced: action.namespaced,
        verbs: &["create"],
        short_names: &[],
        categories: &[],
        stored: None,
    }
}
