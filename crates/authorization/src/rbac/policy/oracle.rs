//! RBAC without an index: every binding, every rule, as the documentation of Kubernetes says it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Attributes, On, User,
    rbac::{Binding, Rule, Subject},
};

type Name = (Option<String>, String);

#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) roles: BTreeMap<Name, Vec<Rule>>,
    pub(crate) bindings: BTreeMap<Name, Binding>,
}

impl Oracle {
    /// The reason if it is allowed.
    pub(crate) fn authorize(&self, user: &User, attributes: &Attributes<'_>) -> Option<String> {
        let mut applying = self.applying(user, attributes.namespace()).into_iter();
        applying.find_map(|(name, binding, subject)| {
            let rules = self.rules_of(name, binding).ok()?;
            rules
                .iter()
                .any(|rule| allows(rule, attributes))
                .then(|| reason(name, binding, subject))
        })
    }

    pub(crate) fn rules(&self, user: &User, namespace: &str) -> (Vec<&Rule>, Vec<String>) {
        let (mut rules, mut errors) = (Vec::new(), Vec::new());
        for (name, binding, _) in self.applying(user, namespace) {
            match self.rules_of(name, binding) {
                Ok(of) => rules.extend(of),
                Err(error) => errors.push(error),
            }
        }
        (rules, errors)
    }

    /// The message if a user may not grant this rule.
    pub(crate) fn escalation(&self, user: &User, namespace: &str, grant: &Rule) -> Option<String> {
        let (owned, errors) = self.rules(user, namespace);
        let single = broken_down(grant).into_iter();
        let missing: Vec<Rule> =
            single.filter(|single| !owned.iter().any(|own| covers(own, single))).collect();
        let mut joined: Vec<Rule> = Vec::new();
        for rule in missing {
            let same = |other: &&mut Rule| {
                rule.non_resource_urls.is_empty()
                    && Rule { verbs: vec![], ..(**other).clone() }
                        == Rule { verbs: vec![], ..rule.clone() }
            };
            match joined.iter_mut().find(same) {
                Some(other) => other.verbs.extend(rule.verbs),
                None => joined.push(rule),
            }
        }
        let texts: BTreeSet<String> = joined.iter().map(Rule::to_string).collect();
        let list = texts.into_iter().collect::<Vec<_>>().join("\n");
        let plural = |error: &String| {
            let error = error.replacen("clusterrole.rbac", "role.rbac", 1);
            error.replacen("role.rbac", "rolebindings.rbac", 1)
        };
        let errors: Vec<String> = errors.iter().map(plural).collect();
        let errors = match errors.is_empty() {
            true => String::new(),
            false => format!("; resolution errors: [{}]", in_brackets(&errors)),
        };
        (!list.is_empty()).then(|| {
            format!(
                "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{list}{errors}",
                user.name,
                user.groups.iter().map(|group| format!("{group:?}")).collect::<Vec<_>>().join(" "),
            )
        })
    }

    fn applying(&self, user: &User, namespace: &str) -> Vec<(&Name, &Binding, &Subject)> {
        let here = |scope: &Option<String>| {
            scope.as_ref().is_none_or(|scope| !namespace.is_empty() && scope == namespace)
        };
        let bindings = self.bindings.iter().filter(|((scope, _), _)| here(scope));
        let applying = bindings.filter_map(|(name, binding)| {
            let scope = name.0.as_deref().unwrap_or_default();
            let mut subjects = binding.subjects.iter();
            Some((name, binding, subjects.find(|subject| means(subject, user, scope))?))
        });
        applying.collect()
    }

    fn rules_of(&self, (scope, _): &Name, binding: &Binding) -> Result<&Vec<Rule>, String> {
        let name = &binding.role_ref.name;
        let (of, kind) = match binding.role_ref.kind.as_str() {
            "ClusterRole" => ((None, name.clone()), "clusterrole"),
            "Role" => ((Some(scope.clone().unwrap_or_default()), name.clone()), "role"),
            kind => return Err(format!("unsupported role reference kind: {kind:?}")),
        };
        let missing = || format!("{kind}.rbac.authorization.k8s.io {name:?} not found");
        self.roles.get(&of).ok_or_else(missing)
    }
}

pub(crate) fn in_brackets(errors: &[String]) -> String {
    let mut once: Vec<&str> = Vec::new();
    errors.iter().for_each(|error| {
        if !once.contains(&error.as_str()) {
            once.push(error);
        }
    });
    if once.len() == 1 { once[0].to_owned() } else { format!("[{}]", once.join(", ")) }
}

fn reason((scope, name): &Name, binding: &Binding, subject: &Subject) -> String {
    let of = match scope {
        None => format!("ClusterRoleBinding {name:?}"),
        Some(scope) => format!("RoleBinding \"{name}/{scope}\""),
    };
    let scope = scope.as_deref().unwrap_or_default();
    let to = match subject.kind.as_str() {
        "ServiceAccount" if subject.namespace.is_empty() => format!("{}/{scope}", subject.name),
        "ServiceAccount" => format!("{}/{}", subject.name, subject.namespace),
        _ => subject.name.clone(),
    };
    let role = &binding.role_ref;
    format!("RBAC: allowed by {of} of {} {:?} to {} {to:?}", role.kind, role.name, subject.kind)
}

fn means(subject: &Subject, user: &User, scope: &str) -> bool {
    match subject.kind.as_str() {
        "User" => subject.name == user.name,
        "Group" => user.groups.contains(&subject.name),
        "ServiceAccount" => {
            let namespace =
                if subject.namespace.is_empty() { scope } else { subject.namespace.as_str() };
            !namespace.is_empty()
                && user.name == format!("system:serviceaccount:{namespace}:{}", subject.name)
        }
        _ => false,
    }
}

fn has(list: &[String], name: &str) -> bool {
    list.iter().any(|own| own == "*" || own == name)
}

fn allows(rule: &Rule, attributes: &Attributes<'_>) -> bool {
    has(&rule.verbs, attributes.verb)
        && match attributes.on {
            On::Path(path) => rule.non_resource_urls.iter().any(|url| path_matches(url, path)),
            On::Resource { group, resource, subresource, name, .. } => {
                let whole = match subresource {
                    "" => resource.to_owned(),
                    _ => format!("{resource}/{subresource}"),
                };
                let any = format!("*/{subresource}");
                has(&rule.api_groups, group)
                    && (has(&rule.resources, &whole)
                        || (!subresource.is_empty() && rule.resources.contains(&any)))
                    && (rule.resource_names.is_empty()
                        || rule.resource_names.iter().any(|own| own == name))
            }
        }
}

fn path_matches(url: &str, path: &str) -> bool {
    url == path || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
}

fn broken_down(rule: &Rule) -> Vec<Rule> {
    let mut single = Vec::new();
    let names: Vec<Vec<String>> = match rule.resource_names.is_empty() {
        true => vec![vec![]],
        false => rule.resource_names.iter().map(|name| vec![name.clone()]).collect(),
    };
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                single.extend(names.iter().map(|names| Rule {
                    verbs: vec![verb.clone()],
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    resource_names: names.clone(),
                    non_resource_urls: vec![],
                }));
            }
        }
    }
    for url in &rule.non_resource_urls {
        single.extend(rule.verbs.iter().map(|verb| Rule {
            verbs: vec![verb.clone()],
            non_resource_urls: vec![url.clone()],
            ..Rule::default()
        }));
    }
    single
}

/// Whether a rule has the single right of another.
fn covers(own: &Rule, single: &Rule) -> bool {
    let each = |list: &[String], wanted: &[String]| wanted.iter().all(|one| has(list, one));
    let resource = |one: &String| {
        has(&own.resources, one)
            || one
                .split_once('/')
                .is_some_and(|(_, part)| own.resources.contains(&format!("*/{part}")))
    };
    let names = own.resource_names.is_empty()
        || (!single.resource_names.is_empty() && each_exactly(&own.resource_names, single));
    let path = |one: &String| own.non_resource_urls.iter().any(|url| path_matches(url, one));
    each(&own.verbs, &single.verbs)
        && each(&own.api_groups, &single.api_groups)
        && single.resources.iter().all(resource)
        && names
        && single.non_resource_urls.iter().all(path)
}

fn each_exactly(names: &[String], single: &Rule) -> bool {
    single.resource_names.iter().all(|name| names.contains(name))
}
