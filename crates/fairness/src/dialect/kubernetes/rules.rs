//! Rules to the neutral form, and the traps in them.

use super::object::{self, NonResourcePolicyRule, PolicyRules, ResourcePolicyRule};
use crate::{
    config::{Names, NonResourceRule, ResourceRule, Rule, Subject, Url},
    dialect::lint::Finding,
};

/// Invalid subjects are left out: they match nobody.
pub(super) fn rule(rule: &PolicyRules) -> Rule {
    let subjects = rule.subjects.as_deref().unwrap_or_default();
    Rule {
        subjects: subjects.iter().filter_map(subject).collect(),
        resource_rules: rule.resource_rules.iter().map(resource_rule).collect(),
        non_resource_rules: rule.non_resource_rules.iter().map(non_resource_rule).collect(),
    }
}

fn subject(subject: &object::Subject) -> Option<Subject> {
    match subject.kind.as_str() {
        "User" => subject.user.as_ref().map(|user| match user.name.as_str() {
            "*" => Subject::Anyone,
            name => Subject::User(name.into()),
        }),
        "Group" => subject.group.as_ref().map(|group| match group.name.as_str() {
            "*" => Subject::Anyone,
            name => Subject::Group(name.into()),
        }),
        "ServiceAccount" => subject.service_account.as_ref().map(|account| {
            let namespace = account.namespace.as_str().into();
            match account.name.as_str() {
                "*" => Subject::ServiceAccountsOf(namespace),
                name => Subject::ServiceAccount { namespace, name: name.into() },
            }
        }),
        _ => None,
    }
}

fn resource_rule(rule: &ResourcePolicyRule) -> ResourceRule {
    ResourceRule {
        verbs: names(rule.verbs.as_deref()),
        api_groups: names(rule.api_groups.as_deref()),
        resources: names(rule.resources.as_deref()),
        cluster_scope: rule.cluster_scope,
        namespaces: names(rule.namespaces.as_deref()),
    }
}

fn non_resource_rule(rule: &NonResourcePolicyRule) -> NonResourceRule {
    let urls = rule.non_resource_urls.as_deref().unwrap_or_default();
    NonResourceRule {
        verbs: names(rule.verbs.as_deref()),
        urls: urls.iter().map(|entry| url(entry)).collect(),
    }
}

fn names(list: Option<&[String]>) -> Names {
    match list.unwrap_or_default() {
        [sole] if sole == "*" => Names::Any,
        list => Names::Of(list.iter().map(|name| name.as_str().into()).collect()),
    }
}

fn url(entry: &str) -> Url {
    if entry == "*" {
        return Url::Any;
    }
    let stem = entry.strip_suffix('*').unwrap_or(entry);
    let slash = if stem.ends_with('/') { "" } else { "/" };
    Url::Path { exact: entry.into(), prefix: format!("{stem}{slash}").into() }
}

// === What looks otherwise than it works ===

/// Stars that are not wildcards, and match no request.
pub(super) fn literal_wildcards<'r>(
    schema: &'r str,
    rules: &'r [PolicyRules],
) -> impl Iterator<Item = Finding> + 'r {
    rules.iter().enumerate().flat_map(move |(i, rule)| {
        let mut findings = Vec::new();
        let mut look = |kind: &str, j: usize, list: &str, entries: Option<&[String]>| {
            let entries = entries.unwrap_or_default();
            let literal = |e: &&String| e.contains('*') && (entries.len() > 1 || *e != "*");
            findings.extend(entries.iter().filter(literal).map(|entry| {
                let field = format!("spec.rules[{i}].{kind}[{j}].{list}");
                Finding::LiteralWildcard { schema: schema.to_owned(), field, entry: entry.clone() }
            }));
        };
        for (j, rule) in rule.resource_rules.iter().enumerate() {
            look("resourceRules", j, "verbs", rule.verbs.as_deref());
            look("resourceRules", j, "apiGroups", rule.api_groups.as_deref());
            look("resourceRules", j, "resources", rule.resources.as_deref());
            look("resourceRules", j, "namespaces", rule.namespaces.as_deref());
        }
        for (j, rule) in rule.non_resource_rules.iter().enumerate() {
            look("nonResourceRules", j, "verbs", rule.verbs.as_deref());
        }
        findings.extend(inner_stars(schema, i, &rule.non_resource_rules));
        findings
    })
}

/// In paths a star works alone, beside others, and as `/*` at the end.
fn inner_stars<'r>(
    schema: &'r str,
    i: usize,
    rules: &'r [NonResourcePolicyRule],
) -> impl Iterator<Item = Finding> + 'r {
    rules.iter().enumerate().flat_map(move |(j, rule)| {
        let urls = rule.non_resource_urls.as_deref().unwrap_or_default();
        let inner = |url: &&String| url.strip_suffix("/*").unwrap_or(url).contains('*');
        urls.iter().filter(|url| *url != "*").filter(inner).map(move |url| {
            let field = format!("spec.rules[{i}].nonResourceRules[{j}].nonResourceURLs");
            Finding::LiteralWildcard { schema: schema.to_owned(), field, entry: url.clone() }
        })
    })
}

pub(super) fn broken_subjects<'r>(
    schema: &'r str,
    rules: &'r [PolicyRules],
) -> impl Iterator<Item = Finding> + 'r {
    rules.iter().enumerate().flat_map(move |(i, rule)| {
        let subjects = rule.subjects.as_deref().unwrap_or_default().iter().enumerate();
        subjects.filter(|(_, s)| subject(s).is_none()).map(move |(j, _)| {
            let field = format!("spec.rules[{i}].subjects[{j}]");
            Finding::SubjectMatchesNobody { schema: schema.to_owned(), field }
        })
    })
}
