//! Input that nobody means well with: bounded time, bounded memory, no panic.

#![allow(clippy::unwrap_used, reason = "all of it is a test")]

use evenkeel_authorization::{
    Attributes, User,
    rbac::{Binding, Policy, Role, RoleRef, Rule, Subject, escalation},
};
use serde_json::json;

fn texts(n: usize, prefix: &str) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

fn rule(resource: &str) -> Rule {
    Rule {
        verbs: vec!["get".to_owned()],
        api_groups: vec![String::new()],
        resources: vec![resource.to_owned()],
        ..Rule::default()
    }
}

fn binding(role: &str, subjects: impl Iterator<Item = (&'static str, String)>) -> Binding {
    let subject = |(kind, name): (&str, String)| Subject {
        kind: kind.to_owned(),
        name,
        ..Subject::default()
    };
    let role_ref = RoleRef { kind: "ClusterRole".to_owned(), name: role.to_owned() };
    Binding { role_ref, subjects: subjects.map(subject).collect() }
}

fn user(name: &str) -> User {
    User { name: name.to_owned(), ..User::default() }
}

fn may_get(policy: &Policy, user: &User, resource: &str) -> bool {
    policy.allows(user, &Attributes::resource("get", ["", resource, "", "", "x"]))
}

#[test]
fn ten_thousand_rules_in_a_role() {
    let mut policy = Policy::default();
    let rules: Vec<Rule> = texts(10_000, "r").iter().map(|name| rule(name)).collect();
    policy.set_role(None, "large", Some(Role { rules: rules.clone() }));
    policy.set_binding(None, "b", Some(binding("large", [("User", "u".to_owned())].into_iter())));
    assert!(may_get(&policy, &user("u"), "r9999"));
    assert!(!may_get(&policy, &user("u"), "r10000"));
    assert_eq!(escalation::missing(&policy, &user("u"), None, &rules), Ok(()));
    let nobody = escalation::missing(&policy, &user("v"), None, &rules).unwrap_err();
    assert_eq!(nobody.message("roles").lines().count(), 10_001);
}

#[test]
fn ten_thousand_subjects_in_a_binding_of_large_roles() {
    let mut policy = Policy::default();
    // More roles than are looked at one by one, each too large to be copied for each subject.
    for role in texts(8, "role-") {
        let names = texts(10_000, &role);
        let rules = vec![Rule { resource_names: names, ..rule("secrets") }];
        policy.set_role(None, &role, Some(Role { rules }));
        let subjects = texts(10_000, "u").into_iter().map(|name| ("User", name));
        policy.set_binding(None, &role, Some(binding(&role, subjects)));
    }
    let get = |name: &'static str| Attributes::resource("get", ["", "secrets", "", "", name]);
    for name in ["u0", "u5000", "u9999"] {
        assert!(policy.allows(&user(name), &get("role-79999")));
        assert!(!policy.allows(&user(name), &get("role-710000")));
    }
    policy.set_role(None, "role-7", None);
    assert!(!policy.allows(&user("u5000"), &get("role-79999")));
    assert!(policy.allows(&user("u5000"), &get("role-69999")));
}

#[test]
fn a_rule_of_a_trillion_combinations() {
    let mut policy = Policy::default();
    let wide = Rule {
        verbs: texts(1000, "v"),
        api_groups: texts(1000, "g"),
        resources: texts(1000, "r"),
        resource_names: texts(1000, "n"),
        ..Rule::default()
    };
    policy.set_role(None, "wide", Some(Role { rules: vec![wide.clone()] }));
    policy.set_binding(None, "b", Some(binding("wide", [("Group", "g".to_owned())].into_iter())));
    let member = User { groups: vec!["g".to_owned()], ..user("u") };
    let asked = |name: &'static str| Attributes::resource("v999", ["g7", "r5", "", "a", name]);
    assert!(policy.allows(&member, &asked("n3")));
    assert!(!policy.allows(&member, &asked("n1000")));
    assert!(escalation::missing(&policy, &member, None, std::slice::from_ref(&wide)).is_err());
    let all = Role { rules: escalation::everything().to_vec() };
    policy.set_role(None, "wide", Some(all));
    assert_eq!(escalation::missing(&policy, &member, None, &[wide]), Ok(()));
}

#[test]
fn many_rules_of_many_combinations() {
    let mut policy = Policy::default();
    let granted = |n: usize| Rule {
        verbs: texts(n, "v"),
        api_groups: texts(n, "g"),
        resources: texts(n, "r"),
        resource_names: texts(n, "n"),
        ..Rule::default()
    };
    policy.set_role(None, "some", Some(Role { rules: vec![granted(8)] }));
    policy.set_binding(None, "b", Some(binding("some", [("User", "u".to_owned())].into_iter())));
    let held = [granted(8)];
    assert_eq!(escalation::missing(&policy, &user("u"), None, &held), Ok(()));
    // Each rule is a few hundred bytes. All of them together would be 10^7 to 10^10 single rights.
    for n in [7, 9, 31, 1000] {
        let rules: Vec<Rule> = (0..10_000).map(|_| granted(n)).take(3_000_000 / (20 * n)).collect();
        let refused = escalation::missing(&policy, &user("u"), None, &rules).unwrap_err();
        let message = refused.message("roles");
        assert!(message.len() < 16 << 20, "{n}: {}", message.len());
    }
}

#[test]
fn names_with_control_characters_empty_names_and_duplicates() {
    let mut policy = Policy::default();
    policy.set_role(None, "", Some(Role { rules: vec![rule("pods")] }));
    let subjects = ["", "g\u{0}\n", "g\u{0}\n", "g\u{202e}"].map(|name| ("Group", name.to_owned()));
    let given = binding("", subjects.into_iter());
    for _ in 0..3 {
        policy.set_binding(None, "", Some(given.clone()));
    }
    let member = |group: &str| User { groups: vec![group.to_owned()], ..user("u") };
    let pods = Attributes::resource("get", ["", "pods", "", "", ""]);
    for group in ["", "g\u{0}\n", "g\u{202e}"] {
        assert!(policy.allows(&member(group), &pods), "{group:?}");
    }
    assert!(!policy.allows(&member("g\u{0}"), &pods));
    assert_eq!(
        policy.authorize(&member("g\u{0}\n"), &pods).unwrap().to_string(),
        r#"RBAC: allowed by ClusterRoleBinding "" of ClusterRole "" to Group "g\x00\n""#
    );
    policy.set_binding(None, "", None);
    policy.set_binding(None, "", None);
    policy.set_binding(Some("never"), "there", None);
    policy.set_role(Some("never"), "there", None);
    assert!(!policy.allows(&member(""), &pods));
}

#[test]
fn ten_thousand_missing_roles_make_a_short_message() {
    let mut policy = Policy::default();
    for role in texts(10_000, "gone-") {
        policy.set_binding(
            None,
            &role,
            Some(binding(&role, [("User", "u".to_owned())].into_iter())),
        );
    }
    assert!(policy.refusal(&user("u"), "").unwrap().len() < 10_000);
    assert_eq!(policy.refusal(&user("v"), ""), None);
}

#[test]
fn malformed_objects_grant_nothing() {
    let mut policy = Policy::default();
    let role = json!({"rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": "*"}, 7, null]});
    policy.set_role(None, "r", Some(Role::of(&role)));
    let given = json!({"roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}, "u", {"kind": 1}]});
    policy.set_binding(None, "b", Some(Binding::of(&given)));
    assert!(!may_get(&policy, &user("u"), "pods"));
}
