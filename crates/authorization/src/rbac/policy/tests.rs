use proptest::{collection::vec, option, prelude::*, sample::select};

use super::{
    oracle::{Oracle, in_brackets},
    *,
};
use crate::rbac::escalation;

#[derive(Clone, Debug)]
enum Step {
    Role(Option<String>, String, Option<Role>),
    Binding(Option<String>, String, Option<Binding>),
}

fn texts(from: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<String>> {
    vec(select(from).prop_map(str::to_owned), 0..=most)
}

fn text(from: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(from).prop_map(str::to_owned)
}

const VERBS: &[&str] = &["get", "list", "*", "frob", "frob", "twist"];
const GROUPS: &[&str] = &["", "apps", "*", "x"];
const RESOURCES: &[&str] = &["pods", "pods/log", "*/log", "*", "a", "pods/", "a/b/c", "*/c", "log"];
const NAMES: &[&str] = &["", "n", "m", "*"];
const URLS: &[&str] = &["/a", "/a/*", "*", "/a/b*", "/", "/a/**", "/aé*", "/a/b", ""];

fn rule() -> impl Strategy<Value = Rule> {
    let of_resource = (texts(VERBS, 4), texts(GROUPS, 3), texts(RESOURCES, 4), texts(NAMES, 3));
    let names = prop_oneof![3 => Just(false), 1 => Just(true)];
    let urls = prop_oneof![2 => Just(vec![]).boxed(), 1 => texts(URLS, 3).boxed()];
    (of_resource, names, urls).prop_map(|((verbs, api_groups, resources, names), named, urls)| {
        let resource_names = if named { names } else { vec![] };
        Rule { verbs, api_groups, resources, resource_names, non_resource_urls: urls }
    })
}

fn scope() -> impl Strategy<Value = Option<String>> {
    prop_oneof![2 => Just(None).boxed(), 1 => text(&["n0", "n1"]).prop_map(Some).boxed()]
}

fn subject() -> impl Strategy<Value = Subject> {
    prop_oneof![
        (text(&["User"]), text(&["u", "v", "", "system:serviceaccount:n0:s"]), text(&["", "n0"])),
        (text(&["Group", "Group", "Robot"]), text(&["g", "h", "u\u{1}"]), text(&["", "n0"])),
        (text(&["ServiceAccount"]), text(&["s", "t"]), text(&["", "n0", "n1"])),
    ]
    .prop_map(|(kind, name, namespace)| Subject { kind, name, namespace })
}

fn binding() -> impl Strategy<Value = Binding> {
    let kinds = &["ClusterRole", "ClusterRole", "ClusterRole", "Role", "Rule"];
    let role_ref = (text(kinds), text(ROLES)).prop_map(|(kind, name)| RoleRef { kind, name });
    (role_ref, vec(subject(), 0..4)).prop_map(|(role_ref, subjects)| Binding { role_ref, subjects })
}

const ROLES: &[&str] = &["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"];

fn step() -> impl Strategy<Value = Step> {
    let role = option::weighted(0.8, vec(rule(), 0..4).prop_map(|rules| Role { rules }));
    let names = &["b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8", "b9", "b10", "b11", "b12"];
    prop_oneof![
        (scope(), text(ROLES), role).prop_map(|(scope, name, role)| Step::Role(scope, name, role)),
        (scope(), text(names), option::weighted(0.85, binding()))
            .prop_map(|(scope, name, binding)| Step::Binding(scope, name, binding)),
    ]
}

fn user() -> impl Strategy<Value = User> {
    let names = &["u", "v", "", "system:serviceaccount:n0:s", "system:serviceaccount:n1:t"];
    (text(names), texts(&["g", "h", "u", "u\u{1}"], 3)).prop_map(|(name, groups)| User {
        name,
        groups,
        ..User::default()
    })
}

type Asked = (&'static str, [&'static str; 5], Option<&'static str>);

fn asked() -> impl Strategy<Value = Asked> {
    let verb = select(&["get", "list", "frob", "twist", "none", "*"][..]);
    let resources = &["pods", "a", "*", "pods/", "a/b", "pods/log", "zzz", "log"][..];
    let of = (
        select(&["", "apps", "y", "*"][..]),
        select(resources),
        select(&["", "", "log", "c", "b/c"][..]),
        select(&["", "n0", "n1", "n2"][..]),
        select(&["", "n", "k"][..]),
    );
    let paths = &["/a", "/a/", "/a/b", "/a/bc", "/aé", "/aè", "/", "", "/x", "*", "/a/*"][..];
    (verb, of, option::weighted(0.3, select(paths)))
        .prop_map(|(verb, of, path)| (verb, of.into(), path))
}

fn apply(policy: &mut Policy, oracle: &mut Oracle, step: Step) {
    match step {
        Step::Role(scope, name, role) => {
            policy.set_role(scope.as_deref(), &name, role.clone());
            match role {
                Some(role) => oracle.roles.insert((scope, name), role.rules),
                None => oracle.roles.remove(&(scope, name)),
            };
        }
        Step::Binding(scope, name, binding) => {
            policy.set_binding(scope.as_deref(), &name, binding.clone());
            match binding {
                Some(binding) => oracle.bindings.insert((scope, name), binding),
                None => oracle.bindings.remove(&(scope, name)),
            };
        }
    }
}

fn clear(policy: &mut Policy, oracle: &Oracle) {
    for (scope, name) in oracle.bindings.keys() {
        policy.set_binding(scope.as_deref(), name, None);
    }
    for (scope, name) in oracle.roles.keys() {
        policy.set_role(scope.as_deref(), name, None);
    }
}

fn assert_empty(policy: &Policy) {
    assert!(policy.words.is_empty());
    assert_eq!(
        (policy.role_ids.len(), policy.binding_ids.len(), policy.grant_ids.len()),
        (0, 0, 0)
    );
    let Budget { cells, subjects, merged } = policy.budget;
    assert_eq!((cells, subjects, merged, policy.n_wide), (0, 0, 0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_index_agrees_with_every_binding_and_rule(
        steps in vec(vec(step(), 1..40), 1..4),
        asked in vec((user(), asked()), 40),
    ) {
        let (mut policy, mut oracle) = (Policy::default(), Oracle::default());
        for steps in steps {
            steps.into_iter().for_each(|step| apply(&mut policy, &mut oracle, step));
            for (user, (verb, of, path)) in &asked {
                let attributes = match path {
                    Some(path) => Attributes::path(verb, path),
                    None => Attributes::resource(verb, *of),
                };
                let reason = policy.authorize(user, &attributes).map(|reason| reason.to_string());
                let expected = oracle.authorize(user, &attributes);
                prop_assert_eq!(reason, expected.map(|text| text.replace("\\u{1}", "\\x01")));
            }
        }
        clear(&mut policy, &oracle);
        assert_empty(&policy);
    }

    #[test]
    fn rules_and_escalation_agree_with_every_binding_and_rule(
        steps in vec(step(), 1..60),
        asked in vec((user(), rule(), option::of(select(&["n0", "n1"][..]))), 10),
    ) {
        let (mut policy, mut oracle) = (Policy::default(), Oracle::default());
        steps.into_iter().for_each(|step| apply(&mut policy, &mut oracle, step));
        for (user, rule, scope) in &asked {
            let namespace = scope.unwrap_or_default();
            let rules = policy.rules(user, namespace);
            let (expected, errors) = oracle.rules(user, namespace);
            prop_assert_eq!(&rules.all, &expected);
            let error = (!errors.is_empty()).then(|| in_brackets(&errors));
            prop_assert_eq!(rules.evaluation_error(), error.clone());
            let refusal = error.map(|error| format!("RBAC: {error}"));
            prop_assert_eq!(policy.refusal(user, namespace), refusal);
            let message = escalation::missing(&policy, user, *scope, std::slice::from_ref(rule));
            let expected = oracle.escalation(user, namespace, rule);
            prop_assert_eq!(
                message.err().map(|escalation| escalation.message("rolebindings")),
                expected.map(|text| text.replace("\\u{1}", "\\x01"))
            );
        }
    }
}
