//! The boolean test of a flow schema, in the two forms the dialects have.

use regex::Regex;

/// Which requests a schema matches.
#[derive(Clone, Debug)]
pub enum Predicate {
    /// The proposal's form: true when any of the conjunctions is.
    Match(Vec<Conjunction>),
    /// Kubernetes' form: true when any of the rules is.
    Rules(Vec<Rule>),
}

// === The proposal's form ===

/// True when all of its tests are; with none it is always true.
#[derive(Clone, Debug, Default)]
pub struct Conjunction {
    pub tests: Vec<Test>,
}

/// One attribute of the request against a literal.
#[derive(Clone, Debug)]
pub struct Test {
    pub field: Field,
    pub op: Op,
    /// The inverse of the test, `notEquals` for instance.
    pub negated: bool,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Field {
    User,
    Groups,
    Verb,
    ApiGroup,
    Resource,
    Subresource,
    Namespace,
    Name,
    Path,
    Method,
    /// By its name in lower case.
    Header(Box<str>),
}

/// How an attribute is compared. Of groups, a test holds when it does for any of them, save for
/// `SuperSet`, which looks at all of them together; a single attribute is a set of one.
#[derive(Clone, Debug)]
pub enum Op {
    Equals(Box<str>),
    InSet(Vec<Box<str>>),
    /// The attribute contains all of these.
    SuperSet(Vec<Box<str>>),
    /// Anchored at both ends.
    Pattern(Regex),
}

// === Kubernetes' form ===

/// True when any subject is, and any of the rules for this sort of request.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    pub subjects: Vec<Subject>,
    pub resource_rules: Vec<ResourceRule>,
    pub non_resource_rules: Vec<NonResourceRule>,
}

/// The user or group that sends it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Subject {
    /// `*` as a user or as a group.
    Anyone,
    User(Box<str>),
    Group(Box<str>),
    ServiceAccount {
        namespace: Box<str>,
        name: Box<str>,
    },
    /// Every name that begins with `system:serviceaccount:<namespace>:`.
    ServiceAccountsOf(Box<str>),
}

/// A list in which a sole `*` stands for everything.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Names {
    Any,
    Of(Vec<Box<str>>),
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResourceRule {
    pub verbs: Names,
    pub api_groups: Names,
    /// `resource`, or `resource/subresource`.
    pub resources: Names,
    /// Whether requests without a namespace match.
    pub cluster_scope: bool,
    pub namespaces: Names,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NonResourceRule {
    pub verbs: Names,
    pub urls: Vec<Url>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Url {
    Any,
    /// Matches a path equal to `exact`, or one that begins with `prefix`, which ends in `/`.
    Path {
        exact: Box<str>,
        prefix: Box<str>,
    },
}
