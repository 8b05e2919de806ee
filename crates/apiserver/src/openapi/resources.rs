//! Everything that has paths: the kinds of the table, and create-only resources.

use crate::kinds::{DeleteAnswers, KINDS, KindRef, Subresource};

/// The properties of a resource that its paths depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) namespaced: bool,
    /// `io.k8s.api.core.v1.Service`.
    pub(super) schema: &'static str,
    pub(super) verbs: &'static [&'static str],
    pub(super) subresources: &'static [Subresource],
    pub(super) delete_answers: DeleteAnswers,
}

/// Resources that are not stored: the response is the object posted.
const POSTED: &[Resource] = &[
    posted("", "Binding", "bindings", "io.k8s.api.core.v1.Binding"),
    posted(
        "authentication.k8s.io",
        "SelfSubjectReview",
        "selfsubjectreviews",
        "io.k8s.api.authentication.v1.SelfSubjectReview",
    ),
    posted(
        "authentication.k8s.io",
        "TokenReview",
        "tokenreviews",
        "io.k8s.api.authentication.v1.TokenReview",
    ),
    Resource {
        namespaced: true,
        ..posted(
            "authorization.k8s.io",
            "LocalSubjectAccessReview",
            "localsubjectaccessreviews",
            "io.k8s.api.authorization.v1.LocalSubjectAccessReview",
        )
    },
    posted(
        "authorization.k8s.io",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        "io.k8s.api.authorization.v1.SelfSubjectAccessReview",
    ),
    posted(
        "authorization.k8s.io",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        "io.k8s.api.authorization.v1.SelfSubjectRulesReview",
    ),
    posted(
        "authorization.k8s.io",
        "SubjectAccessReview",
        "subjectaccessreviews",
        "io.k8s.api.authorization.v1.SubjectAccessReview",
    ),
];

/// All resources. One that is in the table of kinds is listed only once.
pub(super) fn all() -> Vec<Resource> {
    let mut all: Vec<Resource> = KINDS.iter().map(|kind| of(kind)).collect();
    let known = |resource: &Resource| {
        KINDS.iter().any(|kind| kind.group == resource.group && kind.plural == resource.plural)
    };
    all.extend(POSTED.iter().filter(|resource| !known(resource)));
    all
}

const fn posted(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    schema: &'static str,
) -> Resource {
    Resource {
        group,
        version: "v1",
        kind,
        plural,
        // Most create-only resources of the core group are namespaced.
        namespaced: group.is_empty(),
        schema,
        verbs: &["create"],
        subresources: &[],
        delete_answers: DeleteAnswers::Status,
    }
}

fn of(kind: &'static KindRef) -> Resource {
    Resource {
        group: &kind.group,
        version: &kind.version,
        kind: &kind.kind,
        plural: &kind.plural,
        namespaced: kind.namespaced,
        schema: &kind.schema,
        verbs: kind.verbs,
        subresources: kind.subresources,
        delete_answers: kind.delete_answers,
    }
}

// === impl Resource ===

impl Resource {
    /// The document of its paths: `api/v1`, `apis/apps/v1`.
    pub(super) fn document(&self) -> String {
        match self.group {
            "" => format!("api/{}", self.version),
            group => format!("apis/{group}/{}", self.version),
        }
    }

    pub(super) fn can(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }
}

/// A group in names of operations and tags: `apps`, `discovery`, `flowcontrolApiserver`; `core`.
pub(super) fn short(group: &str) -> String {
    if group.is_empty() {
        return "core".to_owned();
    }
    let mut words = group.trim_end_matches(".k8s.io").split('.');
    let first = words.next().unwrap_or("").to_owned();
    words.fold(first, |name, word| name + &capital(word))
}

/// With its first letter in upper case.
pub(super) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
