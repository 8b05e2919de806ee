//! The list of resources from which all documents are generated.

use crate::kinds::{Catalogue, Held, Kind, Subresource, Text, fixed, version::by_priority};

/// A resource or subresource.
#[derive(Debug)]
pub(super) struct Resource {
    pub(super) group: Text,
    pub(super) version: Text,
    /// `pods`, or `pods/status`.
    pub(super) name: String,
    pub(super) singular: Text,
    pub(super) kind: Text,
    /// The group and version of the kind, where they differ from the resource's.
    pub(super) foreign: Option<(&'static str, &'static str)>,
    pub(super) namespaced: bool,
    pub(super) verbs: &'static [&'static str],
    pub(super) short_names: Held<[Text]>,
    pub(super) categories: Held<[Text]>,
    pub(super) is_custom: bool,
    /// The group, version and kind under which objects are stored, if they are.
    pub(super) stored: Option<(Text, Text, Text)>,
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
pub(super) fn all(served: &Catalogue) -> Vec<Resource> {
    let kinds = served.kinds().flat_map(|kind| {
        let stored = stored(served, kind);
        let parts = kind.subresources.iter().map(|sub| of_sub(kind, sub));
        std::iter::once(Resource { stored, ..of_kind(kind) }).chain(parts)
    });
    let mut all: Vec<Resource> = kinds.chain(ACTIONS.iter().map(of_action)).collect();
    all.sort_by(|a, b| {
        rank(&a.group)
            .cmp(&rank(&b.group))
            .then_with(|| a.group.cmp(&b.group))
            .then_with(|| by_priority(&a.version, &b.version))
            .then_with(|| a.order().cmp(&b.order()))
    });
    all
}

/// The groups other than core, each with its versions, in order.
pub(super) fn groups(all: &[Resource]) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for resource in all.iter().filter(|resource| !resource.group.is_empty()) {
        match groups.last_mut() {
            Some((group, versions)) if resource.group == *group => {
                if versions.last() != Some(&&*resource.version) {
                    versions.push(&resource.version);
                }
            }
            _ => groups.push((&resource.group, vec![&resource.version])),
        }
    }
    groups
}

impl Resource {
    /// Subresources of custom resources stay in their order.
    fn order(&self) -> (&str, &str) {
        let (base, part) = self.name.split_once('/').unwrap_or((&self.name, ""));
        (base, if self.is_custom { "" } else { part })
    }
}

fn rank(group: &str) -> usize {
    if group.is_empty() {
        return 0;
    }
    1 + GROUPS.iter().position(|known| *known == group).unwrap_or(GROUPS.len())
}

/// Events are stored once for both of their groups.
fn stored(served: &Catalogue, kind: &Kind) -> Option<(Text, Text, Text)> {
    let version = match &kind.custom {
        Some(custom) => served.of_id(custom.id).map_or(&kind.version, |stored| &stored.version),
        None => &kind.version,
    };
    let group = if kind.kind == "Event" { fixed("") } else { kind.group.clone() };
    Some((group, version.clone(), kind.kind.clone()))
}

fn of_kind(kind: &Kind) -> Resource {
    Resource {
        group: kind.group.clone(),
        version: kind.version.clone(),
        name: kind.plural.to_string(),
        singular: kind.singular.clone(),
        kind: kind.kind.clone(),
        foreign: None,
        namespaced: kind.namespaced,
        verbs: kind.verbs,
        short_names: kind.short_names.clone(),
        categories: kind.categories.clone(),
        is_custom: kind.custom.is_some(),
        stored: None,
    }
}

fn of_sub(kind: &Kind, subresource: &Subresource) -> Resource {
    let own = || kind.kind.clone();
    let (name, shown, foreign, verbs): (_, _, _, &'static [&'static str]) = match subresource {
        Subresource::Status => ("status", own(), None, PARTIAL),
        Subresource::Scale => ("scale", fixed("Scale"), Some(("autoscaling", "v1")), PARTIAL),
        Subresource::Binding => ("binding", fixed("Binding"), None, &["create"]),
        Subresource::Eviction => {
            ("eviction", fixed("Eviction"), Some(("policy", "v1")), &["create"])
        }
        Subresource::Token => {
            let foreign = Some(("authentication.k8s.io", "v1"));
            ("token", fixed("TokenRequest"), foreign, &["create"])
        }
        Subresource::Finalize(_) => ("finalize", own(), None, &["update"]),
        Subresource::Part(name, _) => (*name, own(), None, PARTIAL),
        Subresource::NotSupported(name, shown, verbs) => {
            let (foreign, shown) = foreign(shown);
            (*name, fixed(shown), foreign, *verbs)
        }
    };
    Resource {
        name: format!("{}/{name}", kind.plural),
        singular: fixed(""),
        kind: shown,
        foreign,
        verbs,
        short_names: Held::Static(&[]),
        categories: Held::Static(&[]),
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
        group: fixed(action.group),
        version: fixed("v1"),
        name: action.plural.to_owned(),
        singular: fixed(action.singular),
        kind: fixed(action.kind),
        foreign: None,
        namespaced: action.namespaced,
        verbs: &["create"],
        short_names: Held::Static(&[]),
        categories: Held::Static(&[]),
        is_custom: false,
        stored: None,
    }
}
