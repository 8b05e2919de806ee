use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::*;
use crate::custom::{conditions, establish};

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn definition(name: &str, names: &Value) -> Value {
    let (_, group) = name.split_once('.').unwrap();
    json!({"metadata": {"name": name}, "spec": {"group": group, "names": names}})
}

fn names(plural: &str, singular: &str, short: &[&str], kind: &str) -> Value {
    let list_kind = format!("{kind}List");
    json!({"plural": plural, "singular": singular, "shortNames": short, "kind": kind, "listKind": list_kind})
}

fn built_in() -> NamesInUse {
    NamesInUse::new([BuiltIn {
        group: "apps",
        plural: "deployments",
        singular: "deployment",
        short_names: &["deploy"],
        kind: "Deployment",
        list_kind: "DeploymentList",
    }])
}

/// Decides a definition and takes note of the result.
fn settled(all: &mut NamesInUse, mut definition: Value) -> Value {
    all.apply(&definition);
    all.decide(&mut definition, now());
    all.apply(&definition);
    definition
}

fn condition<'a>(definition: &'a Value, type_: &str) -> [&'a str; 3] {
    let condition = conditions::find(definition, type_).unwrap();
    ["status", "reason", "message"].map(|name| text(condition, &[name]))
}

#[test]
fn whoever_is_first_has_a_name() {
    let first = names("as", "a", &["x", "y"], "A");
    for (second, reason, message, accepted) in [
        (
            names("bs", "b", &["z"], "B"),
            "NoConflicts",
            "no conflicts found",
            names("bs", "b", &["z"], "B"),
        ),
        (
            names("a", "b", &[], "B"),
            "PluralConflict",
            "\"a\" is already in use",
            names("", "b", &[], "B"),
        ),
        (
            names("bs", "x", &[], "B"),
            "SingularConflict",
            "\"x\" is already in use",
            names("bs", "", &[], "B"),
        ),
        (
            names("bs", "b", &["z", "as"], "B"),
            "ShortNamesConflict",
            "\"as\" is already in use",
            names("bs", "b", &[], "B"),
        ),
        (
            names("bs", "b", &["x", "z", "y"], "B"),
            "ShortNamesConflict",
            "[\"x\" is already in use, \"y\" is already in use]",
            names("bs", "b", &[], "B"),
        ),
        (
            json!({"plural": "bs", "singular": "b", "kind": "A", "listKind": "BList"}),
            "KindConflict",
            "\"A\" is already in use",
            json!({"plural": "bs", "singular": "b", "shortNames": [], "kind": "", "listKind": "BList"}),
        ),
        // The last conflict is shown.
        (
            names("as", "b", &[], "A"),
            "ListKindConflict",
            "\"AList\" is already in use",
            json!({"plural": "", "singular": "b", "shortNames": [], "kind": "", "listKind": ""}),
        ),
    ] {
        let mut all = built_in();
        settled(&mut all, definition("as.g.io", &first));
        let second = settled(&mut all, definition("bs.g.io", &second));
        let is_accepted = reason == "NoConflicts";
        let status = if is_accepted { "True" } else { "False" };
        assert_eq!(condition(&second, NAMES_ACCEPTED), [status, reason, message]);
        let established = match is_accepted {
            true => ["False", "Installing", "the initial names have been accepted"],
            false => ["False", "NotAccepted", "not all names are accepted"],
        };
        assert_eq!(condition(&second, ESTABLISHED), established);
        let mut expected = accepted;
        expected["categories"] = json!([]);
        assert_eq!(second["status"]["acceptedNames"], expected, "{reason}");
    }
}

#[test]
fn names_are_accepted_per_group_and_then_the_definition_is_established() {
    let mut all = built_in();
    let both = names("as", "a", &["x"], "A");
    for name in ["as.g.io", "as.h.io"] {
        let mut one = settled(&mut all, definition(name, &both));
        assert!(!all.decide(&mut one, now()));
        assert!(establish::decide(&mut one, now()));
        assert!(!establish::decide(&mut one, now()));
        let types: Vec<&str> =
            list(&one, &["status", "conditions"]).iter().map(|one| text(one, &["type"])).collect();
        assert_eq!(types, [NAMES_ACCEPTED, ESTABLISHED]);
        assert_eq!(
            condition(&one, ESTABLISHED),
            ["True", "InitialNamesAccepted", "the initial names have been accepted"]
        );
        // A later conflict does not end this.
        one["spec"]["names"]["kind"] = json!("B");
        all.apply(&definition(&format!("bs.{}", &name[3..]), &json!({})));
        assert!(all.decide(&mut one, now()));
        assert!(conditions::is_true(&one, ESTABLISHED));
    }
    let mut refused = definition("bs.g.io", &both);
    all.decide(&mut refused, now());
    assert!(!establish::decide(&mut refused, now()));
}

#[test]
fn only_those_that_wait_for_a_released_name_are_decided_again() {
    let mut all = built_in();
    let mut first = settled(&mut all, definition("as.g.io", &names("as", "a", &["x"], "A")));
    let second = settled(&mut all, definition("bs.g.io", &names("bs", "b", &["x"], "B")));
    settled(&mut all, definition("cs.g.io", &names("cs", "c", &["y"], "C")));
    let third = settled(&mut all, definition("ds.g.io", &names("ds", "d", &[], "A")));
    assert_eq!(condition(&second, NAMES_ACCEPTED)[1], "ShortNamesConflict");
    assert_eq!(condition(&third, NAMES_ACCEPTED)[1], "ListKindConflict");

    first["spec"]["names"]["shortNames"] = json!([]);
    assert_eq!(all.apply(&first), BTreeSet::new());
    assert!(all.decide(&mut first, now()));
    assert_eq!(all.apply(&first), BTreeSet::from(["bs.g.io".to_owned()]));
    let second = settled(&mut all, second);
    assert_eq!(condition(&second, NAMES_ACCEPTED)[0], "True");
    assert_eq!(all.remove("as.g.io"), BTreeSet::from(["ds.g.io".to_owned()]));
    let third = settled(&mut all, third);
    assert_eq!(condition(&third, NAMES_ACCEPTED)[0], "True");
    for name in ["bs.g.io", "cs.g.io", "ds.g.io"] {
        assert_eq!(all.remove(name), BTreeSet::new());
    }
    assert_eq!(all.index.len(), (5, 0), "only the built-in ones remain");
}

#[test]
fn a_built_in_resource_is_not_defined_again() {
    let all = built_in();
    let taken = names("deployments", "deployment", &["deploy"], "Deployment");
    let mut one = definition("deployments.apps", &taken);
    // A client may write any status.
    one["status"] = json!({
        "acceptedNames": taken,
        "conditions": [{"type": "Established", "status": "True"}],
    });
    assert!(all.decide(&mut one, now()));
    assert_eq!(
        condition(&one, NAMES_ACCEPTED),
        [
            "False",
            "PluralConflict",
            "\"deployments\" is already in use: the resource is built into this server in group \"apps\""
        ]
    );
    assert_eq!(
        condition(&one, ESTABLISHED),
        ["False", "NotAccepted", "not all names are accepted"]
    );
    assert_eq!(one["status"]["acceptedNames"]["plural"], "");
    assert!(!all.decide(&mut one, now()));
    let mut other = definition("widgets.apps", &names("widgets", "widget", &["deploy"], "Widget"));
    assert!(all.decide(&mut other, now()));
    assert_eq!(condition(&other, NAMES_ACCEPTED)[2], "\"deploy\" is already in use");
    assert!(all.is_built_in("apps", "deployments") && !all.is_built_in("apps", "widgets"));
}

#[test]
fn ten_thousand_definitions_of_one_group_are_decided_in_near_linear_time() {
    let time = |n: usize| {
        let started = cpu_seconds();
        let mut all = built_in();
        for i in 0..n {
            // All want one short name, so that all but the first wait.
            let names = names(&format!("p{i}"), &format!("s{i}"), &["x"], &format!("K{i}"));
            settled(&mut all, definition(&format!("p{i}.g.io"), &names));
        }
        assert_eq!(all.remove("p0.g.io").len(), n - 1);
        cpu_seconds() - started
    };
    // Quadratic work would take sixteen times as long.
    let (small, large) = (time(2_500), time(10_000));
    assert!(large < small * 8.0, "{small} s and {large} s");
}

/// CPU time of this thread.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[test]
fn a_message_about_many_names_is_bounded() {
    let mut all = built_in();
    let short: Vec<String> = (0..5_000).map(|n| format!("short-{n}")).collect();
    let short: Vec<&str> = short.iter().map(String::as_str).collect();
    settled(&mut all, definition("as.g.io", &names("as", "a", &short, "A")));
    let second = settled(&mut all, definition("bs.g.io", &names("bs", "b", &short, "B")));
    let [_, reason, message] = condition(&second, NAMES_ACCEPTED);
    assert_eq!(reason, "ShortNamesConflict");
    assert!(message.len() < 20_000 && message.ends_with(", ...]"), "{}", message.len());
}
