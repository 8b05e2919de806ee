//! Explains a classification: every schema that was tried, and why it did not match.
//!
//! This follows the definition of predicates and not the index, schema by schema, so what it costs
//! grows with their number.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{
    Classifier, Match,
    check::{NonResourceCheck, ResourceCheck, TestCheck, is_subject, value_of},
    miss::{Miss, field_name, op_name, subject_name},
};
use crate::{
    Request,
    config::{
        Config, Conjunction, Names, NonResourceRule, Op, Predicate, ResourceRule, Rule, Schema,
        Test, Url,
    },
};

/// How one request was classified.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    #[serde(skip)]
    pub matched: Match,
    /// The schema that matched.
    pub schema: Arc<str>,
    pub level: Arc<str>,
    /// No schema matched, so the fallback was used.
    pub fallback: bool,
    pub distinguisher: String,
    /// As text where it is serialised: many readers of JSON keep 53 bits of a number.
    #[serde(serialize_with = "as_text")]
    pub hash: u64,
    /// In the order tried; the last is the one that matched, if one did.
    pub tried: Vec<Tried>,
    /// Later ones that match as well.
    pub also: Vec<Arc<str>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    pub schema: Arc<str>,
    pub level: Arc<str>,
    pub precedence: i32,
    #[serde(flatten)]
    pub verdict: Verdict,
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// By which of its rules or conjunctions, from 0.
    Matched(usize),
    Missed(Miss),
}

impl Classifier {
    /// Classifies a request and explains it. The configuration must be the one this was made from.
    pub fn explain(&self, config: &Config, request: &Request<'_>) -> Explanation {
        let matched = self.classify(request);
        let flow = self.flow(matched, request);
        let n_tried = if matched.fallback { config.schemas.len() } else { matched.schema + 1 };
        let (tried, behind) = config.schemas.split_at(n_tried);
        let taker = &config.schemas[matched.schema];
        let would_match =
            |schema: &&Schema| matches!(verdict(&schema.predicate, request), Verdict::Matched(_));
        Explanation {
            matched,
            schema: taker.name.clone(),
            level: config.level_of(taker).name.clone(),
            fallback: matched.fallback,
            distinguisher: flow.distinguisher.to_owned(),
            hash: flow.hash,
            tried: tried.iter().map(|schema| Tried::new(config, schema, request)).collect(),
            also: behind.iter().filter(would_match).map(|s| s.name.clone()).collect(),
        }
    }
}

impl Tried {
    fn new(config: &Config, schema: &Schema, request: &Request<'_>) -> Self {
        Tried {
            schema: schema.name.clone(),
            level: config.level_of(schema).name.clone(),
            precedence: schema.precedence,
            verdict: verdict(&schema.predicate, request),
        }
    }
}

/// A miss, and how far the request got.
type Distance = (usize, Miss);

fn verdict(predicate: &Predicate, request: &Request<'_>) -> Verdict {
    match predicate {
        Predicate::Match(any) => {
            closest(any.iter().enumerate().map(|(i, one)| miss_tests(i, one, request)))
        }
        Predicate::Rules(any) => {
            closest(any.iter().enumerate().map(|(i, rule)| miss_rule(i, rule, request)))
        }
    }
}

/// The first that is no miss, else the first of those that got farthest.
fn closest(misses: impl Iterator<Item = Option<Distance>>) -> Verdict {
    let mut farthest: Option<Distance> = None;
    for (number, miss) in misses.enumerate() {
        let Some(miss) = miss else { return Verdict::Matched(number) };
        if farthest.as_ref().is_none_or(|(stage, _)| miss.0 > *stage) {
            farthest = Some(miss);
        }
    }
    Verdict::Missed(farthest.map_or(Miss::NoRules, |(_, miss)| miss))
}

// === The proposal's form ===

fn miss_tests(number: usize, conjunction: &Conjunction, request: &Request<'_>) -> Option<Distance> {
    let holds = |test: &Test| TestCheck::from(test).holds(request);
    let failed = conjunction.tests.iter().position(|test| !holds(test))?;
    let test = &conjunction.tests[failed];
    let values = match value_of(&test.field, request) {
        Some(value) => vec![value.to_owned()],
        None => request.groups.iter().map(str::to_owned).collect(),
    };
    let miss = Miss::Test {
        conjunction: number,
        test: failed,
        field: field_name(&test.field),
        op: op_name(test),
        values,
        wanted: literals(&test.op),
    };
    Some((failed, miss))
}

fn literals(op: &Op) -> Vec<String> {
    match op {
        Op::Equals(value) => vec![value.to_string()],
        Op::InSet(values) | Op::SuperSet(values) => strings(values),
        Op::Pattern(regex) => vec![configured(regex.as_str()).to_owned()],
    }
}

/// The pattern without the anchors it was compiled with.
fn configured(pattern: &str) -> &str {
    let inner = pattern.strip_prefix(r"\A(?:").and_then(|rest| rest.strip_suffix(r")\z"));
    inner.map_or(pattern, |inner| inner.strip_suffix('\n').unwrap_or(inner))
}

// === Kubernetes' form ===

fn miss_rule(number: usize, rule: &Rule, request: &Request<'_>) -> Option<Distance> {
    if !rule.subjects.iter().any(|subject| is_subject(subject, request)) {
        let miss = Miss::Subject {
            rule: number,
            user: request.user.to_owned(),
            groups: request.groups.iter().map(str::to_owned).collect(),
            wanted: rule.subjects.iter().map(subject_name).collect(),
        };
        return Some((0, miss));
    }
    let verdict = if request.is_resource {
        closest_of(&rule.resource_rules, |rule| miss_resource(number, rule, request))
    } else {
        closest_of(&rule.non_resource_rules, |rule| miss_path(number, rule, request))
    };
    match verdict {
        Some(found) => found,
        None if request.is_resource => {
            Some((1, Miss::ResourceRequest { rule: number, resource: joined(request) }))
        }
        None => Some((1, Miss::NotResourceRequest { rule: number, path: request.path.to_owned() })),
    }
}

/// None without rules; else none inside if one matches, or the first that got farthest.
fn closest_of<R>(rules: &[R], miss: impl Fn(&R) -> Option<Distance>) -> Option<Option<Distance>> {
    let misses: Option<Vec<Distance>> = rules.iter().map(miss).collect();
    let Some(misses) = misses else { return Some(None) };
    let farthest = misses.into_iter().rev().max_by_key(|(stage, _)| *stage)?;
    Some(Some(farthest))
}

/// In the order of Kubernetes' checks.
fn miss_resource(number: usize, config: &ResourceRule, request: &Request<'_>) -> Option<Distance> {
    let rule = ResourceCheck::from(config);
    if !rule.verbs.contains(request.verb) {
        return Some(miss_verb(number, &config.verbs, request));
    }
    if !rule.resources.contains_resource(request.resource, request.subresource) {
        let wanted = names(&config.resources);
        return Some((3, Miss::Resource { rule: number, resource: joined(request), wanted }));
    }
    if !rule.api_groups.contains(request.api_group) {
        let (api_group, wanted) = (request.api_group.to_owned(), names(&config.api_groups));
        return Some((4, Miss::ApiGroup { rule: number, api_group, wanted }));
    }
    if rule.in_scope(request.namespace) {
        return None;
    }
    if request.namespace.is_empty() {
        return Some((5, Miss::ClusterScope { rule: number }));
    }
    let (namespace, wanted) = (request.namespace.to_owned(), names(&config.namespaces));
    Some((5, Miss::Namespace { rule: number, namespace, wanted }))
}

fn miss_path(number: usize, config: &NonResourceRule, request: &Request<'_>) -> Option<Distance> {
    let rule = NonResourceCheck::from(config);
    if rule.holds(request) {
        return None;
    }
    if !rule.verbs.contains(request.verb) {
        return Some(miss_verb(number, &config.verbs, request));
    }
    let wanted = config.urls.iter().map(|url| match url {
        Url::Any => "*".to_owned(),
        Url::Path { exact, .. } => exact.to_string(),
    });
    let path = request.path.to_owned();
    Some((3, Miss::Path { rule: number, path, wanted: wanted.collect() }))
}

fn miss_verb(rule: usize, verbs: &Names, request: &Request<'_>) -> Distance {
    (2, Miss::Verb { rule, verb: request.verb.to_owned(), wanted: names(verbs) })
}

fn joined(request: &Request<'_>) -> String {
    match request.subresource {
        "" => request.resource.to_owned(),
        subresource => format!("{}/{subresource}", request.resource),
    }
}

fn names(names: &Names) -> Vec<String> {
    match names {
        Names::Any => vec!["*".to_owned()],
        Names::Of(names) => strings(names),
    }
}

fn strings(names: &[Box<str>]) -> Vec<String> {
    names.iter().map(|name| String::from(&**name)).collect()
}

fn as_text<S: Serializer>(hash: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(hash)
}
