//! Sequences of stored objects: what is in force, and what each object is told.

use super::*;

const TOP: &str = r#"RequestPriority top {"exempt": true}"#;
const LOW: &str = r#"RequestPriority low {"catchAll": true, "assuredConcurrencyShares": 10,
                     "queues": 8, "handSize": 2, "queueLengthLimit": 5}"#;
const ALL: &str = r#"FlowSchema all {"requestPriority": {"name": "low"},
                     "flowDistinguisher": {"source": "user"}, "match": [{"and": []}]}"#;
const LOST: &str = r#"FlowSchema lost {"requestPriority": {"name": "gone"}, "match": []}"#;
const BAD: &str = r#"FlowSchema bad {"requestPriority": {"name": "low"},
                     "match": [{"and": [{"patternMatch": {"field": "user", "pattern": "("}}]}]}"#;

/// Objects from lines `kind name spec`, each of generation 1.
fn stored(lines: &[&str]) -> StoredObjects {
    let object = |line: &&str| {
        let [kind, name, spec] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let kind = match kind {
            "FlowSchema" => ObjectKind::FlowSchema,
            _ => ObjectKind::RequestPriority,
        };
        let spec: Value = serde_json::from_str(spec).unwrap();
        let uid = format!("uid of {name}");
        let value = json!({"metadata": {"uid": uid, "generation": 1}, "spec": spec});
        (ObjectKey { kind, name: name.into() }, StoredObject::new(&value))
    };
    lines.iter().map(object).collect()
}

/// `name: Type=Status Reason …` of each object.
fn told(examined: &Examined) -> Vec<String> {
    let line = |(key, verdict): (&ObjectKey, &Verdict)| {
        let each = verdict.conditions.iter().map(|condition| {
            let StatusCondition { r#type, is_true, reason, .. } = condition;
            format!("{type}={is_true} {reason}")
        });
        format!("{}: {}", key.name, each.collect::<Vec<_>>().join(", "))
    };
    examined.verdicts.iter().map(line).collect()
}

fn schemas(examined: &Examined) -> Option<Vec<&str>> {
    let config = &examined.compiled.as_ref()?.config;
    Some(config.schemas.iter().map(|schema| &*schema.name).collect())
}

#[test]
fn valid_objects_are_in_force_with_their_conditions() {
    let examined = examine(&stored(&[TOP, LOW, ALL, LOST]), None);
    assert_eq!(schemas(&examined), Some(vec!["all"]));
    assert_eq!(
        told(&examined),
        [
            "low: InForce=true Configured, Backstop=false FlowSchemaCatchesAll",
            "top: InForce=true Configured, ExemptConflict=false FirstExempt",
            "all: InForce=true Configured, Dangling=false Found, \
             DistinguisherIgnored=false LevelDistinguishesFlows",
            "lost: InForce=false Dangling, Dangling=true NotFound",
        ]
    );
    assert!(examined.verdicts.values().all(|verdict| verdict.is_complete));
    let config = examined.compiled.unwrap().config;
    let uids: Vec<_> = config.levels.iter().map(|level| &*level.uid).collect();
    assert_eq!(uids, ["uid of low", "uid of top"]);
}

#[test]
fn one_invalid_object_keeps_the_last_configuration_in_force() {
    let before = examine(&stored(&[TOP, LOW]), None);
    let after = examine(&stored(&[TOP, LOW, ALL, BAD]), Some(&before.in_force));
    assert_eq!((schemas(&after), &after.in_force), (None, &before.in_force));
    assert_eq!(
        told(&after),
        [
            "low: InForce=true Configured",
            "top: InForce=true Configured",
            "all: InForce=false OtherObjectInvalid",
            "bad: InForce=false Invalid",
        ]
    );
    assert!(after.verdicts.values().all(|verdict| !verdict.is_complete));
    let message = |name: &str| {
        let found = after.verdicts.iter().find(|(key, _)| *key.name == *name);
        found.unwrap().1.conditions[0].message.clone()
    };
    assert!(message("bad").starts_with("spec.match[0].and[0]: invalid regular expression"));
    assert!(message("all").starts_with("FlowSchema bad is invalid; correct or delete it"));

    let corrected = examine(&stored(&[TOP, LOW, ALL]), Some(&after.in_force));
    assert_eq!(schemas(&corrected), Some(vec!["all"]));
}

#[test]
fn a_changed_object_is_not_in_force_while_another_is_invalid() {
    let before = examine(&stored(&[TOP, LOW, ALL]), None);
    let mut objects = stored(&[TOP, LOW, ALL, BAD]);
    let all = objects.values_mut().nth(2).unwrap();
    all.version.generation = 2;
    let after = examine(&objects, Some(&before.in_force));
    assert_eq!(told(&after)[2], "all: InForce=false OtherObjectInvalid");
    assert_eq!(after.verdicts.values().nth(2).unwrap().generation, 2);
    // Created again under the same name, it starts with the same generation.
    let mut objects = stored(&[TOP, LOW, ALL, BAD]);
    objects.values_mut().nth(2).unwrap().version.uid = "another".into();
    let after = examine(&objects, Some(&before.in_force));
    assert_eq!(told(&after)[2], "all: InForce=false OtherObjectInvalid");
}

#[test]
fn at_startup_the_valid_objects_are_in_force() {
    let examined = examine(&stored(&[TOP, LOW, ALL, BAD]), None);
    assert_eq!(schemas(&examined), Some(vec!["all"]));
    assert_eq!(told(&examined)[3], "bad: InForce=false Invalid");
    assert_eq!(examined.in_force.len(), 3);
    assert_eq!(examined.problems.len(), 1);
    let odd = r#"RequestPriority system-top {"exempt": 1}"#;
    assert!(examine(&stored(&[odd]), None).missing.levels.is_empty());
}

#[test]
fn levels_without_any_shares_are_the_backstops_at_startup() {
    let none = r#"RequestPriority none {"assuredConcurrencyShares": 0, "queues": 1,
                  "queueLengthLimit": 1}"#;
    let examined = examine(&stored(&[none, TOP]), None);
    assert_eq!(schemas(&examined), Some(vec!["system-top", "non-top-backstop"]));
    assert_eq!(
        told(&examined),
        ["none: InForce=false Invalid", "top: InForce=false OtherObjectInvalid"]
    );
    let usual = examine(&stored(&[TOP, LOW]), None);
    let examined = examine(&stored(&[none, TOP]), Some(&usual.in_force));
    assert!(examined.compiled.is_none());
}

#[test]
fn no_objects_are_backstops_and_the_exhibited_ones_are_missing() {
    let examined = examine(&StoredObjects::new(), None);
    assert_eq!(schemas(&examined), Some(vec!["system-top", "non-top-backstop"]));
    assert_eq!((examined.missing.levels.len(), examined.missing.schemas.len()), (5, 5));
    assert!(examined.verdicts.is_empty());
}

#[test]
fn objects_of_any_form_are_told_what_is_wrong() {
    for spec in ["null", "[]", "5", r#"{"match": 1}"#, r#"{"exempt": {}}"#, r#"{"x": [[[]]]}"#] {
        for kind in ["FlowSchema", "RequestPriority"] {
            let examined = examine(&stored(&[&format!("{kind} odd {spec}"), TOP]), None);
            let [_, _] = &told(&examined)[..] else { panic!("{:?}", told(&examined)) };
            let odd = examined.verdicts.iter().find(|(key, _)| &*key.name == "odd").unwrap().1;
            assert_eq!(odd.conditions[0].reason, "Invalid", "{kind} {spec}");
            assert!(!odd.conditions[0].message.starts_with([';', ':']), "{kind} {spec}");
        }
    }
}

#[test]
fn types_of_conditions_are_all_listed() {
    let types = [
        ConditionType::Dangling,
        ConditionType::DistinguisherIgnored,
        ConditionType::ExemptConflict,
        ConditionType::Backstop,
    ];
    assert_eq!(TYPES[1..], types.map(ConditionType::code));
}
