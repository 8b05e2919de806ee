//! Anchors: values of which a request must have one for a test to hold.

use std::{borrow::Cow, iter};

use rustc_hash::FxHashMap;

use super::{check::SERVICE_ACCOUNT, pattern::Pattern};
use crate::config::{Field, Names, NonResourceRule, Op, ResourceRule, Subject, Test, Url};

/// Lists up to this length are equally good: which of several attributes is asked then goes by the
/// order of [`Attribute`], so that few attributes are in use and few lookups are made.
const SHORT: u32 = 4;

/// What schemas are looked up by, the most selective first.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Attribute<'c> {
    User,
    Group,
    /// The namespace of a service account, up to the first colon.
    ServiceAccount,
    Name,
    Namespace,
    Path,
    /// Up to and with one of its slashes.
    PathPrefix,
    /// Up to the first slash.
    Resource,
    Subresource,
    ApiGroup,
    Method,
    Verb,
    Header(&'c str),
}

/// How many attributes there are other than headers.
pub(super) const N_ATTRIBUTES: usize = 12;

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Key<'c> {
    pub(super) attribute: Attribute<'c>,
    pub(super) value: Cow<'c, str>,
}

/// Keys of which a request must have at least one. Without keys, no request matches.
#[derive(Clone, Debug)]
pub(super) struct Cover<'c> {
    pub(super) keys: Vec<Key<'c>>,
    /// Whether having one of them is also enough.
    pub(super) proves: bool,
}

/// How often each key could be chosen.
#[derive(Debug, Default)]
pub(super) struct Counts<'c>(FxHashMap<Key<'c>, u32>);

/// The part of a path, resource or namespace that is looked up.
pub(super) fn up_to(separator: char, value: &str) -> &str {
    value.split(separator).next().unwrap_or(value)
}

// === Covers ===

pub(super) fn of_subject(subject: &Subject) -> Option<Cover<'_>> {
    let (attribute, value, proves) = match subject {
        Subject::Anyone => return None,
        Subject::User(name) => (Attribute::User, Cow::from(&**name), true),
        Subject::Group(name) => (Attribute::Group, Cow::from(&**name), true),
        Subject::ServiceAccount { namespace, name } => {
            (Attribute::User, format!("{SERVICE_ACCOUNT}{namespace}:{name}").into(), true)
        }
        Subject::ServiceAccountsOf(namespace) => {
            let part = up_to(':', namespace);
            (Attribute::ServiceAccount, part.into(), part.len() == namespace.len())
        }
    };
    Some(Cover { keys: vec![Key { attribute, value }], proves })
}

pub(super) fn of_resource_rule(rule: &ResourceRule) -> Vec<Cover<'_>> {
    let ResourceRule { verbs, api_groups, resources, cluster_scope, namespaces } = rule;
    let resource = of_names(Attribute::Resource, resources).map(|mut cover| {
        for key in &mut cover.keys {
            key.value = up_to('/', &key.value).to_owned().into();
        }
        cover
    });
    let namespace = of_names(Attribute::Namespace, namespaces).map(|mut cover| {
        cover.keys.retain(|key| !key.value.is_empty());
        if *cluster_scope {
            cover.keys.push(Key { attribute: Attribute::Namespace, value: "".into() });
        }
        cover
    });
    let others = [of_names(Attribute::ApiGroup, api_groups), of_names(Attribute::Verb, verbs)];
    [namespace, resource].into_iter().chain(others).flatten().collect()
}

pub(super) fn of_non_resource_rule(rule: &NonResourceRule) -> Vec<Cover<'_>> {
    let mut keys = Vec::new();
    let mut open = false;
    for url in &rule.urls {
        match url {
            Url::Path { exact, prefix } if prefix.ends_with('/') => {
                keys.push(Key { attribute: Attribute::Path, value: (&**exact).into() });
                keys.push(Key { attribute: Attribute::PathPrefix, value: (&**prefix).into() });
            }
            Url::Any | Url::Path { .. } => open = true,
        }
    }
    let path = (!open).then_some(Cover { keys, proves: false });
    path.into_iter().chain(of_names(Attribute::Verb, &rule.verbs)).collect()
}

/// The inverse of a test has no anchor: it holds for all but a few values.
pub(super) fn of_test<'c>(test: &'c Test) -> Vec<Cover<'c>> {
    let of = |values: &mut dyn Iterator<Item = Cow<'c, str>>| of_values(&test.field, values);
    let one = |value: &'c str| of(&mut iter::once(value.into()));
    let covers = match &test.op {
        _ if test.negated => None,
        Op::Equals(value) => one(value),
        Op::InSet(values) => of(&mut values.iter().map(|value| (&**value).into())),
        Op::SuperSet(values) => {
            let same = values.iter().all(|value| value == &values[0]);
            let each = values.iter().filter_map(|value| one(value));
            return each.map(|cover| Cover { proves: cover.proves && same, ..cover }).collect();
        }
        Op::Pattern(regex) => match Pattern::new(regex) {
            Pattern::Literal(text) => of(&mut iter::once(String::from(text).into())),
            Pattern::Prefix(text) => of_prefix(&test.field, &text),
            Pattern::Regex(_) => None,
        },
    };
    covers.into_iter().collect()
}

fn of_names<'c>(attribute: Attribute<'c>, names: &'c Names) -> Option<Cover<'c>> {
    let Names::Of(names) = names else { return None };
    let keys = names.iter().map(|name| Key { attribute, value: (&**name).into() });
    Some(Cover { keys: keys.collect(), proves: false })
}

/// None if an absent header matches: its value is "", but it is not in the request.
fn of_values<'c>(
    field: &'c Field,
    values: impl IntoIterator<Item = Cow<'c, str>>,
) -> Option<Cover<'c>> {
    let (attribute, proves) = attribute_of(field);
    let key = |value: Cow<'c, str>| match attribute {
        Attribute::Header(_) if value.is_empty() => None,
        Attribute::Resource => Some(up_to('/', &value).to_owned().into()),
        _ => Some(value),
    };
    let keys = values.into_iter().map(|value| Some(Key { attribute, value: key(value)? }));
    Some(Cover { keys: keys.collect::<Option<_>>()?, proves })
}

fn of_prefix<'c>(field: &'c Field, prefix: &str) -> Option<Cover<'c>> {
    let (attribute, value) = match field {
        Field::User => {
            let (namespace, _) = prefix.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
            (Attribute::ServiceAccount, namespace)
        }
        Field::Path => (Attribute::PathPrefix, &prefix[..=prefix.rfind('/')?]),
        _ => return None,
    };
    Some(Cover { keys: vec![Key { attribute, value: value.to_owned().into() }], proves: false })
}

/// What a field is looked up by, and whether finding it there proves its value.
fn attribute_of(field: &Field) -> (Attribute<'_>, bool) {
    match field {
        Field::User => (Attribute::User, true),
        Field::Groups => (Attribute::Group, true),
        Field::Verb => (Attribute::Verb, true),
        Field::ApiGroup => (Attribute::ApiGroup, true),
        Field::Resource => (Attribute::Resource, false),
        Field::Subresource => (Attribute::Subresource, true),
        Field::Namespace => (Attribute::Namespace, true),
        Field::Name => (Attribute::Name, true),
        Field::Path => (Attribute::Path, true),
        Field::Method => (Attribute::Method, true),
        // Of a header that comes twice only the first counts.
        Field::Header(name) => (Attribute::Header(name), false),
    }
}

// === impl Attribute ===

impl Attribute<'_> {
    /// Its place among the attributes; none for a header.
    pub(super) fn slot(self) -> Option<usize> {
        let slot = match self {
            Attribute::User => 0,
            Attribute::Group => 1,
            Attribute::ServiceAccount => 2,
            Attribute::Name => 3,
            Attribute::Namespace => 4,
            Attribute::Path => 5,
            Attribute::PathPrefix => 6,
            Attribute::Resource => 7,
            Attribute::Subresource => 8,
            Attribute::ApiGroup => 9,
            Attribute::Method => 10,
            Attribute::Verb => 11,
            Attribute::Header(_) => return None,
        };
        Some(slot)
    }
}

// === impl Counts ===

impl<'c> Counts<'c> {
    pub(super) fn add(&mut self, cover: &Cover<'c>) {
        for key in &cover.keys {
            *self.0.entry(key.clone()).or_default() += 1;
        }
    }

    /// How good a cover is, less being better: the longest list it could lead to, short ones being
    /// equal, then the attribute.
    pub(super) fn cost(&self, cover: &Cover<'c>) -> (u32, Option<Attribute<'c>>) {
        let count = |key| self.0.get(key).copied().unwrap_or(0);
        let longest = cover.keys.iter().map(count).max();
        let attribute = cover.keys.iter().map(|key| key.attribute).max();
        (longest.map_or(0, |n| n.max(SHORT)), attribute)
    }

    pub(super) fn best<'a>(&self, covers: &'a [Cover<'c>]) -> Option<&'a Cover<'c>> {
        covers.iter().min_by_key(|cover| self.cost(cover))
    }
}
