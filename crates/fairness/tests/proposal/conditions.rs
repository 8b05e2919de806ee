//! Rules about several objects: each object that breaks one has a condition, and stays in force as
//! far as it can.

use evenkeel_fairness::{
    config::{Config, Handling},
    dialect::{Compiled, Condition, Severity},
};

use super::{
    EVERYTHING, LEVELS, QUEUES, SCHEMAS, a_level, a_schema, codes, compile, load_all, schema_names,
};

const ONE_QUEUE: &str = "assuredConcurrencyShares: 1, queues: 1, queueLengthLimit: 9";
const BY_USER: &str = "  flowDistinguisher: {source: user}\n  match: [{and: []}]\n";

/// Kind, name, type, status and reason of each condition.
fn told(compiled: &Compiled) -> Vec<String> {
    let line = |condition: &Condition| {
        let object = condition.object.as_ref().map_or_else(
            || "implied".to_owned(),
            |object| format!("{} {}", object.kind, object.name),
        );
        let (r#type, status) = (condition.r#type().code(), condition.status());
        format!("{object}: {type}={status} {}", condition.reason.code())
    };
    compiled.conditions.iter().map(line).collect()
}

/// Those that are true.
fn abnormal(compiled: &Compiled) -> Vec<String> {
    told(compiled).into_iter().filter(|line| line.contains("=True")).collect()
}

#[track_caller]
fn of(texts: &[&str]) -> Compiled {
    compile(texts.iter().copied())
}

fn n_exempt(config: &Config) -> usize {
    config.levels.iter().filter(|level| level.handling == Handling::Exempt).count()
}

#[test]
fn a_schema_without_its_level_dangles_and_the_others_are_in_force() {
    let compiled = of(&[
        &a_level("plain", QUEUES),
        &a_schema("all", "plain", EVERYTHING),
        &a_schema("lost", "nowhere", EVERYTHING),
    ]);
    assert_eq!(schema_names(&compiled.config), ["all"]);
    assert_eq!(abnormal(&compiled), ["FlowSchema lost: Dangling=True NotFound"]);
    assert!(told(&compiled).contains(&"FlowSchema all: Dangling=False Found".to_owned()));
    assert!(codes(&compiled).contains(&"MissingPriorityLevel"));
}

#[test]
fn a_schema_at_an_invalid_level_dangles_beside_the_problem_of_the_level() {
    let objects = [a_level("bad", "queues: 1"), a_schema("s", "bad", EVERYTHING)];
    let (compiled, problems) = load_all(objects.iter().map(String::as_str)).compile_valid();
    let compiled = compiled.unwrap();
    assert!(problems.iter().all(|problem| problem.location.name == "bad"), "{problems:#?}");
    assert_eq!(
        abnormal(&compiled),
        ["implied: Backstop=True NoCatchAllFlowSchema", "FlowSchema s: Dangling=True InvalidLevel"]
    );
}

/// Whoever corrects the reference should not meet the next error only then.
#[test]
fn a_schema_that_dangles_is_checked_all_the_same() {
    let schema = a_schema("s", "nowhere", "  flowDistinguisher: {source: colour}\n  match: []\n");
    let problems = super::problems([schema.as_str()]);
    assert_eq!(problems[0].field, "spec.flowDistinguisher.source");
}

#[test]
fn a_schema_may_refer_to_an_implied_level() {
    let compiled = of(&[&a_schema("s", "system-top", EVERYTHING)]);
    assert_eq!(told(&compiled), ["FlowSchema s: Dangling=False Found"]);
}

#[test]
fn a_distinguisher_without_use_is_left_out_and_the_schema_is_in_force() {
    for (level, why) in [(ONE_QUEUE, "has one queue"), ("exempt: true", "is exempt")] {
        let compiled = of(&[&a_level("narrow", level), &a_schema("s", "narrow", BY_USER)]);
        assert_eq!(schema_names(&compiled.config), ["s"], "{why}");
        assert!(compiled.config.schemas[0].distinguisher.is_none(), "{why}");
        let line = "FlowSchema s: DistinguisherIgnored=True LevelIgnoresFlows".to_owned();
        assert_eq!(abnormal(&compiled), [line], "{why}");
        let condition = compiled.conditions.iter().find(|condition| condition.is_true()).unwrap();
        assert_eq!(condition.severity(), Some(Severity::Warning));
        assert!(condition.to_string().contains(why), "{condition}");
    }
    let compiled = of(&[&a_level("wide", QUEUES), &a_schema("s", "wide", BY_USER)]);
    let line = "FlowSchema s: DistinguisherIgnored=False LevelDistinguishesFlows".to_owned();
    assert!(told(&compiled).contains(&line), "{:?}", told(&compiled));
}

#[test]
fn every_level_that_says_so_is_exempt_and_all_but_the_first_by_name_are_told() {
    let (b, a) = (a_level("b", "exempt: true"), a_level("a", "exempt: true"));
    let all = a_schema("all", "b", EVERYTHING);
    for objects in [[&*b, &*a, &*all], [&*a, &*b, &*all]] {
        let compiled = of(&objects);
        assert_eq!(n_exempt(&compiled.config), 2);
        assert_eq!(schema_names(&compiled.config), ["all"]);
        assert_eq!(abnormal(&compiled), ["RequestPriority b: ExemptConflict=True SecondExempt"]);
        assert!(
            told(&compiled)
                .contains(&"RequestPriority a: ExemptConflict=False FirstExempt".to_owned())
        );
        assert!(codes(&compiled).contains(&"SeveralExemptLevels"));
    }
}

/// Administrators who match nothing reach the server whoever adds exempt levels.
#[test]
fn the_backstop_of_administrators_refers_to_the_first_exempt_level() {
    let compiled = of(&[&a_level("z", "exempt: true"), &a_level("b", "exempt: true")]);
    let top = super::schema(&compiled.config, "system-top");
    assert_eq!(&*compiled.config.level_of(top).name, "b");
}

#[test]
fn a_configuration_without_a_catch_all_has_a_backstop() {
    let limited = a_level("plain", QUEUES);
    let catching = a_level("zzz", &format!("catchAll: true, {QUEUES}"));
    let other = a_level("zzzz", &format!("catchAll: true, {QUEUES}"));
    let exempt = a_level("root", "exempt: true, catchAll: true");
    let all = a_schema("all", "plain", EVERYTHING);
    let first = "RequestPriority root: ExemptConflict=False FirstExempt";
    let cases: [(&[&str], &[&str]); 5] = [
        (&[&limited], &["RequestPriority plain: Backstop=True NoCatchAllPriorityLevel"]),
        (&[&limited, &catching], &["RequestPriority zzz: Backstop=True NoCatchAllFlowSchema"]),
        (&[&limited, &exempt], &[first, "RequestPriority root: Backstop=True ExemptCatchAll"]),
        (
            &[&catching, &other],
            &[
                "RequestPriority zzz: Backstop=True NoCatchAllFlowSchema",
                "RequestPriority zzzz: Backstop=False OtherCatchAll",
            ],
        ),
        (
            &[&limited, &catching, &all],
            &[
                "RequestPriority zzz: Backstop=False FlowSchemaCatchesAll",
                "FlowSchema all: Dangling=False Found",
            ],
        ),
    ];
    for (objects, expected) in cases {
        assert_eq!(told(&of(objects)), expected);
    }
}

#[test]
fn the_proposals_own_objects_have_no_condition_above_info() {
    let compiled = of(&[LEVELS, SCHEMAS].concat());
    let severities: Vec<_> = compiled.conditions.iter().filter_map(Condition::severity).collect();
    assert_eq!(severities, [Severity::Info]);
}

#[test]
fn conditions_of_no_objects_at_all_are_those_of_the_backstops() {
    let mut problems = Vec::new();
    let objects = evenkeel_fairness::dialect::proposal::Objects::default();
    let compiled = evenkeel_fairness::dialect::proposal::compile(objects, &mut problems);
    assert_eq!(told(&compiled), ["implied: Backstop=True NoCatchAllFlowSchema"]);
    assert_eq!(schema_names(&compiled.config), ["system-top", "non-top-backstop"]);
}
