//! Specs of flow schemas.

use super::{BadValue, Errors, names, printed};
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
        let value = printed::distinguisher(method);
        errors.not_supported("spec.distinguisherMethod.type", value, &["ByNamespace", "ByUser"]);
    }
    let level = &spec.priority_level_configuration.name;
    let field = "spec.priorityLevelConfiguration.name";
    if level.is_empty() {
        errors.required(field, "must reference a priority level");
    } else {
        names::subdomain(field, level, errors);
    }
    for (i, rule) in spec.rules.iter().enumerate() {
        self::rule(&format!("spec.rules[{i}]"), rule, errors);
    }
}

fn precedence(name: &str, precedence: i32, errors: &mut Errors) {
    let mut invalid = |detail: String| {
        errors.invalid("spec.matchingPrecedence", BadValue::json(&precedence), detail);
    };
    if precedence <= 0 {
        invalid("must be a positive value".to_owned());
    }
    if precedence > MAX_PRECEDENCE {
        invalid(format!("must not be greater than {MAX_PRECEDENCE}"));
    }
    if precedence == 1 && name != EXEMPT {
        invalid("only the schema named 'exempt' may have matchingPrecedence 1".to_owned());
    }
}

fn rule(field: &str, rule: &PolicyRules, errors: &mut Errors) {
    let subjects = rule.subjects.as_deref().unwrap_or_default();
    if subjects.is_empty() {
        let detail = "subjects must contain at least one value";
        errors.required(format!("{field}.subjects"), detail);
    }
    for (i, subject) in subjects.iter().enumerate() {
        self::subject(&format!("{field}.subjects[{i}]"), subject, errors);
    }
    if rule.resource_rules.is_empty() && rule.non_resource_rules.is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.required(field, detail);
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
        "User" => named(field, "user", kind, user.as_ref(), errors),
        "Group" => named(field, "group", kind, group.as_ref(), errors),
        "ServiceAccount" => {
            let field = format!("{field}.serviceAccount");
            self::service_account(&field, service_account.as_ref(), errors);
        }
        _ => {
            let kinds = ["Group", "ServiceAccount", "User"];
            let field = format!("{field}.kind");
            return errors.not_supported(field, BadValue::json(kind), &kinds);
        }
    }
    // Of the other two members, Kubernetes looks at the service account first and the group last.
    let members = [
        ("ServiceAccount", "serviceAccount", service_account.is_some()),
        ("User", "user", user.is_some()),
        ("Group", "group", group.is_some()),
    ];
    for (of, member, present) in members {
        if present && of != kind {
            let detail = format!("{member} is forbidden when subject kind is not '{of}'");
            errors.forbidden(format!("{field}.{member}"), detail);
        }
    }
}

fn named(
    field: &str,
    member: &str,
    kind: &str,
    reference: Option<&Reference>,
    errors: &mut Errors,
) {
    let field = format!("{field}.{member}");
    match reference {
        None => {
            let detail = format!("{member} is required when subject kind is '{kind}'");
            errors.required(field, detail);
        }
        Some(reference) if reference.name.is_empty() => {
            errors.required(format!("{field}.name"), "");
        }
        Some(_) => {}
    }
}

fn service_account(field: &str, account: Option<&ServiceAccount>, errors: &mut Errors) {
    let Some(ServiceAccount { namespace, name }) = account else {
        let detail = "serviceAccount is required when subject kind is 'ServiceAccount'";
        return errors.required(field, detail);
    };
    match name.as_str() {
        "" => errors.required(format!("{field}.name"), ""),
        "*" => {}
        _ => names::subdomain(&format!("{field}.name"), name, errors),
    }
    let field = format!("{field}.namespace");
    if namespace.is_empty() {
        errors.required(field, "must specify namespace for service account");
    } else {
        names::label(&field, namespace, "", errors);
    }
}

// === Rules ===

const NAMESPACE_INTRO: &str = "each member of this list must be '*' or a DNS-1123 label; ";

fn resource_rule(field: &str, rule: &ResourcePolicyRule, errors: &mut Errors) {
    verbs(field, rule.verbs.as_deref(), errors);
    for (list, name, one, all) in [
        (&rule.api_groups, "apiGroups", "api group", "api groups"),
        (&rule.resources, "resources", "resource", "resources"),
    ] {
        let field = format!("{field}.{name}");
        match list.as_deref().unwrap_or_default() {
            [] => {
                errors.required(field, format!("resource rules must supply at least one {one}"));
            }
            list => sole_wildcard(field, list, all, errors),
        }
    }
    let field = format!("{field}.namespaces");
    let namespaces = rule.namespaces.as_deref().unwrap_or_default();
    if namespaces.is_empty() && !rule.cluster_scope {
        let detail =
            "resource rules that are not cluster scoped must supply at least one namespace";
        errors.required(field, detail);
    } else if has_wildcard(namespaces) {
        sole_wildcard(field, namespaces, "namespaces", errors);
    } else {
        for (i, namespace) in namespaces.iter().enumerate() {
            names::label(&format!("{field}[{i}]"), namespace, NAMESPACE_INTRO, errors);
        }
    }
}

fn non_resource_rule(field: &str, rule: &NonResourcePolicyRule, errors: &mut Errors) {
    verbs(field, rule.verbs.as_deref(), errors);
    let field = format!("{field}.nonResourceURLs");
    match rule.non_resource_urls.as_deref().unwrap_or_default() {
        [] => errors.required(field, "nonResourceURLs must contain at least one value"),
        urls if has_wildcard(urls) => sole_wildcard(field, urls, "non-resource URLs", errors),
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
        [] => errors.required(field, "verbs must contain at least one value"),
        verbs if has_wildcard(verbs) => sole_wildcard(field, verbs, "verbs", errors),
        verbs if !verbs.iter().all(|verb| VERBS.contains(&verb.as_str())) => {
            errors.not_supported(field, BadValue::json(verbs), &VERBS);
        }
        _ => {}
    }
}

fn sole_wildcard(field: String, list: &[String], of: &str, errors: &mut Errors) {
    if list.len() > 1 && has_wildcard(list) {
        let detail = format!("if '*' is present, must not specify other {of}");
        errors.invalid(field, BadValue::json(list), detail);
    }
}

fn has_wildcard(list: &[String]) -> bool {
    list.iter().any(|entry| entry == "*")
}
