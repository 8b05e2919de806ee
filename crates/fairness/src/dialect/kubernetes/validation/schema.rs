//! Specs of flow schemas.

use super::{Errors, names};
use crate::dialect::kubernetes::{
    defaults::EXEMPT,
    object::{
        FlowSchemaSpec, NonResourcePolicyRule, PolicyRules, Reference, ResourcePolicyRule,
        ServiceAccount, Subject,
    },
};

const MAX_PRECEDENCE: i32 = 10_000;

const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

pub(super) fn spec(name: &str, spec: &FlowSchemaSpec, errors: &mut Errors) {
    precedence(name, spec.matching_precedence, errors);
    if let Some(method) = &spec.distinguisher_method
        && !matches!(method.r#type.as_str(), "ByUser" | "ByNamespace")
    {
        errors.not_supported("spec.distinguisherMethod.type", &["ByNamespace", "ByUser"]);
    }
    let level = &spec.priority_level_configuration.name;
    let field = "spec.priorityLevelConfiguration.name";
    if level.is_empty() {
        errors.required(field, "a schema points at a priority level");
    } else {
        names::subdomain(field, level, errors);
    }
    for (i, rule) in spec.rules.iter().enumerate() {
        self::rule(&format!("spec.rules[{i}]"), rule, errors);
    }
}

fn precedence(name: &str, precedence: i32, errors: &mut Errors) {
    let field = "spec.matchingPrecedence";
    if precedence <= 0 {
        errors.invalid(field, "must be positive");
    }
    if precedence > MAX_PRECEDENCE {
        errors.invalid(field, format!("must be at most {MAX_PRECEDENCE}"));
    }
    if precedence == 1 && name != EXEMPT {
        errors.invalid(field, "only the schema named exempt may have precedence 1");
    }
}

fn rule(field: &str, rule: &PolicyRules, errors: &mut Errors) {
    let subjects = rule.subjects.as_deref().unwrap_or_default();
    if subjects.is_empty() {
        errors.required(format!("{field}.subjects"), "a rule needs a subject");
    }
    for (i, subject) in subjects.iter().enumerate() {
        self::subject(&format!("{field}.subjects[{i}]"), subject, errors);
    }
    if rule.resource_rules.is_empty() && rule.non_resource_rules.is_empty() {
        errors.required(field, "a rule needs resourceRules or nonResourceRules");
    }
    for (i, rule) in rule.resource_rules.iter().enumerate() {
        resource_rule(&format!("{field}.resourceRules[{i}]"), rule, errors);
    }
    for (i, rule) in rule.non_resource_rules.iter().enumerate() {
        non_resource_rule(&format!("{field}.nonResourceRules[{i}]"), rule, errors);
    }
}

// === Subjects ===

fn subject(field: &str, subject: &Subject, errors: &mut Errors) {
    let Subject { kind, user, group, service_account } = subject;
    match kind.as_str() {
        "User" => named(&format!("{field}.user"), user.as_ref(), errors),
        "Group" => named(&format!("{field}.group"), group.as_ref(), errors),
        "ServiceAccount" => {
            let field = format!("{field}.serviceAccount");
            self::service_account(&field, service_account.as_ref(), errors);
        }
        _ => {
            let kinds = ["Group", "ServiceAccount", "User"];
            return errors.not_supported(format!("{field}.kind"), &kinds);
        }
    }
    let members = [
        ("User", "user", user.is_some()),
        ("Group", "group", group.is_some()),
        ("ServiceAccount", "serviceAccount", service_account.is_some()),
    ];
    for (of, member, present) in members {
        if present && of != kind {
            errors.forbidden(format!("{field}.{member}"), format!("only for kind {of}"));
        }
    }
}

fn named(field: &str, reference: Option<&Reference>, errors: &mut Errors) {
    match reference {
        None => errors.required(field, "needed for this kind of subject"),
        Some(reference) if reference.name.is_empty() => {
            errors.required(format!("{field}.name"), "must not be empty");
        }
        Some(_) => {}
    }
}

fn service_account(field: &str, account: Option<&ServiceAccount>, errors: &mut Errors) {
    let Some(ServiceAccount { namespace, name }) = account else {
        return errors.required(field, "needed for kind ServiceAccount");
    };
    match name.as_str() {
        "" => errors.required(format!("{field}.name"), "must not be empty"),
        "*" => {}
        _ => names::subdomain(&format!("{field}.name"), name, errors),
    }
    let field = format!("{field}.namespace");
    if namespace.is_empty() {
        errors.required(field, "a service account is in a namespace");
    } else {
        names::label(&field, namespace, errors);
    }
}

// === Rules ===

fn resource_rule(field: &str, rule: &ResourcePolicyRule, errors: &mut Errors) {
    verbs(field, rule.verbs.as_deref(), errors);
    for (list, name) in [(&rule.api_groups, "apiGroups"), (&rule.resources, "resources")] {
        let field = format!("{field}.{name}");
        match list.as_deref().unwrap_or_default() {
            [] => errors.required(field, "must have at least one entry"),
            list => sole_wildcard(field, list, errors),
        }
    }
    let field = format!("{field}.namespaces");
    let namespaces = rule.namespaces.as_deref().unwrap_or_default();
    if namespaces.is_empty() && !rule.cluster_scope {
        errors.required(field, "needed without clusterScope");
    } else if has_wildcard(namespaces) {
        sole_wildcard(field, namespaces, errors);
    } else {
        for (i, namespace) in namespaces.iter().enumerate() {
            names::label(&format!("{field}[{i}]"), namespace, errors);
        }
    }
}

fn non_resource_rule(field: &str, rule: &NonResourcePolicyRule, errors: &mut Errors) {
    verbs(field, rule.verbs.as_deref(), errors);
    let field = format!("{field}.nonResourceURLs");
    match rule.non_resource_urls.as_deref().unwrap_or_default() {
        [] => errors.required(field, "must have at least one entry"),
        urls if has_wildcard(urls) => sole_wildcard(field, urls, errors),
        urls => {
            for (i, url) in urls.iter().enumerate() {
                names::path(&format!("{field}[{i}]"), url, errors);
            }
        }
    }
}

fn verbs(field: &str, verbs: Option<&[String]>, errors: &mut Errors) {
    let field = format!("{field}.verbs");
    match verbs.unwrap_or_default() {
        [] => errors.required(field, "must have at least one entry"),
        verbs if has_wildcard(verbs) => sole_wildcard(field, verbs, errors),
        verbs if !verbs.iter().all(|verb| VERBS.contains(&verb.as_str())) => {
            errors.not_supported(field, &VERBS);
        }
        _ => {}
    }
}

fn sole_wildcard(field: String, list: &[String], errors: &mut Errors) {
    if list.len() > 1 && has_wildcard(list) {
        errors.invalid(field, "`*` stands for everything, and so stands alone");
    }
}

fn has_wildcard(list: &[String]) -> bool {
    list.iter().any(|entry| entry == "*")
}
