//! Tests compiled for evaluation: what is left to ask once an anchor was found.

use std::sync::Arc;

use super::{
    pattern::Pattern,
    words::{Words, same},
};
use crate::{
    Request,
    config::{Field, NonResourceRule, Op, ResourceRule, Subject, Test, Url},
};

/// What makes the name of a service account a user name.
pub(super) const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A conjunction: all of its parts must hold.
#[derive(Debug)]
pub(super) enum Check {
    Tests(Box<[TestCheck]>),
    Resource { who: Who, what: Box<[ResourceCheck]> },
    NonResource { who: Who, what: Box<[NonResourceCheck]> },
}

/// Any of these subjects; none: the anchor implies it, or it does not matter.
pub(super) type Who = Option<Arc<[Subject]>>;

#[derive(Debug)]
pub(super) struct TestCheck {
    pub(super) field: Field,
    pub(super) op: OpCheck,
    pub(super) negated: bool,
}

#[derive(Debug)]
pub(super) enum OpCheck {
    In(Words),
    SuperSet(Box<[Box<str>]>),
    Pattern(Pattern),
}

#[derive(Debug)]
pub(super) struct ResourceCheck {
    pub(super) verbs: Words,
    pub(super) resources: Words,
    pub(super) api_groups: Words,
    pub(super) cluster_scope: bool,
    pub(super) namespaces: Words,
}

#[derive(Debug)]
pub(super) struct NonResourceCheck {
    pub(super) verbs: Words,
    urls: Box<[Url]>,
}

pub(super) fn is_subject(subject: &Subject, request: &Request<'_>) -> bool {
    match subject {
        Subject::Anyone => true,
        Subject::User(name) => request.user == &**name,
        Subject::Group(name) => request.groups.contains(name),
        Subject::ServiceAccount { namespace, name } => {
            service_account_in(namespace, request.user) == Some(name)
        }
        Subject::ServiceAccountsOf(namespace) => {
            service_account_in(namespace, request.user).is_some()
        }
    }
}

fn is_url(url: &Url, path: &str) -> bool {
    match url {
        Url::Any => true,
        Url::Path { exact, prefix } => same(path, exact) || path.starts_with(&**prefix),
    }
}

/// The value of an attribute that has one; groups have many.
pub(super) fn value_of<'r>(field: &Field, request: &Request<'r>) -> Option<&'r str> {
    Some(match field {
        Field::Groups => return None,
        Field::User => request.user,
        Field::Verb => request.verb,
        Field::ApiGroup => request.api_group,
        Field::Resource => request.resource,
        Field::Subresource => request.subresource,
        Field::Namespace => request.namespace,
        Field::Name => request.name,
        Field::Path => request.path,
        Field::Method => request.method,
        Field::Header(name) => request.header(name),
    })
}

fn service_account_in<'r>(namespace: &str, user: &'r str) -> Option<&'r str> {
    user.strip_prefix(SERVICE_ACCOUNT)?.strip_prefix(namespace)?.strip_prefix(':')
}

// === impl Check ===

impl Check {
    pub(super) fn holds(&self, request: &Request<'_>) -> bool {
        match self {
            Check::Tests(tests) => tests.iter().all(|test| test.holds(request)),
            Check::Resource { who, what } => {
                is_any_of(who, request) && what.iter().any(|rule| rule.holds(request))
            }
            Check::NonResource { who, what } => {
                is_any_of(who, request) && what.iter().any(|rule| rule.holds(request))
            }
        }
    }
}

fn is_any_of(who: &Who, request: &Request<'_>) -> bool {
    who.as_ref().is_none_or(|who| who.iter().any(|subject| is_subject(subject, request)))
}

// === impl TestCheck ===

impl TestCheck {
    pub(super) fn holds(&self, request: &Request<'_>) -> bool {
        let held = match value_of(&self.field, request) {
            Some(value) => self.op.holds(value),
            None => self.op.holds_for_groups(request),
        };
        held != self.negated
    }
}

impl From<&Test> for TestCheck {
    fn from(test: &Test) -> Self {
        let op = match &test.op {
            Op::Equals(value) => OpCheck::In(Words::of(std::slice::from_ref(value))),
            Op::InSet(values) => OpCheck::In(Words::of(values)),
            Op::SuperSet(values) => OpCheck::SuperSet(values.as_slice().into()),
            Op::Pattern(regex) => match Pattern::new(regex) {
                Pattern::Literal(value) => OpCheck::In(Words::of(&[value])),
                pattern => OpCheck::Pattern(pattern),
            },
        };
        TestCheck { field: test.field.clone(), op, negated: test.negated }
    }
}

impl OpCheck {
    fn holds(&self, value: &str) -> bool {
        match self {
            OpCheck::In(words) => words.contains(value),
            OpCheck::SuperSet(values) => values.iter().all(|v| same(v, value)),
            OpCheck::Pattern(pattern) => pattern.is_match(value),
        }
    }

    fn holds_for_groups(&self, request: &Request<'_>) -> bool {
        match self {
            OpCheck::SuperSet(values) => values.iter().all(|v| request.groups.contains(v)),
            op => request.groups.iter().any(|group| op.holds(group)),
        }
    }
}

// === impl ResourceCheck ===

impl ResourceCheck {
    /// Whether it holds for every request for a resource.
    pub(super) fn is_everything(&self) -> bool {
        let ResourceCheck { verbs, resources, api_groups, cluster_scope, namespaces } = self;
        [verbs, resources, api_groups, namespaces].iter().all(|words| words.is_any())
            && *cluster_scope
    }

    pub(super) fn holds(&self, request: &Request<'_>) -> bool {
        self.verbs.contains(request.verb)
            && self.resources.contains_resource(request.resource, request.subresource)
            && self.api_groups.contains(request.api_group)
            && self.in_scope(request.namespace)
    }

    pub(super) fn in_scope(&self, namespace: &str) -> bool {
        if namespace.is_empty() { self.cluster_scope } else { self.namespaces.contains(namespace) }
    }
}

impl From<&ResourceRule> for ResourceCheck {
    fn from(rule: &ResourceRule) -> Self {
        ResourceCheck {
            verbs: (&rule.verbs).into(),
            resources: (&rule.resources).into(),
            api_groups: (&rule.api_groups).into(),
            cluster_scope: rule.cluster_scope,
            namespaces: (&rule.namespaces).into(),
        }
    }
}

// === impl NonResourceCheck ===

impl NonResourceCheck {
    /// Whether it holds for every request that is not for a resource.
    pub(super) fn is_everything(&self) -> bool {
        self.verbs.is_any() && self.urls.contains(&Url::Any)
    }

    pub(super) fn holds(&self, request: &Request<'_>) -> bool {
        self.verbs.contains(request.verb) && self.urls.iter().any(|url| is_url(url, request.path))
    }
}

impl From<&NonResourceRule> for NonResourceCheck {
    fn from(rule: &NonResourceRule) -> Self {
        NonResourceCheck { verbs: (&rule.verbs).into(), urls: rule.urls.as_slice().into() }
    }
}
