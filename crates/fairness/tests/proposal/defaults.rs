//! What the proposal exhibits, and its default behavior.

use evenkeel_fairness::{
    config::{Handling, Level, Predicate, Queuing, Source},
    dialect::{Finding, load, proposal},
};

use super::{
    AGGREGATED, BACKSTOP, EVERYTHING, LEVELS, QUEUES, SCHEMAS, a_level, a_schema, codes, compile,
    level_names, schema, schema_names,
};

#[test]
fn every_printed_block_loads_alone() {
    for block in LEVELS.into_iter().chain(SCHEMAS).chain([AGGREGATED, BACKSTOP]) {
        let objects = load("block.yaml", block);
        assert_eq!(objects.problems, [], "{block}");
        let n_objects = objects.proposal.levels.len() + objects.proposal.schemas.len();
        assert_eq!(n_objects, 1, "{block}");
    }
}

#[test]
fn every_printed_schema_compiles_beside_the_printed_levels() {
    for block in SCHEMAS.into_iter().chain([AGGREGATED, BACKSTOP]) {
        let compiled = compile(LEVELS.into_iter().chain([block]));
        assert!(compiled.config.schemas.iter().any(|schema| !schema.implied), "{block}");
    }
}

#[test]
fn the_printed_objects_are_those_we_create() {
    let objects = super::load_all(LEVELS.into_iter().chain(SCHEMAS)).proposal;
    let levels: Vec<_> = objects.levels.into_iter().map(|located| located.object).collect();
    let schemas: Vec<_> = objects.schemas.into_iter().map(|located| located.object).collect();
    assert_eq!(proposal::missing(&[], &[]), proposal::Exhibited { levels, schemas });
}

#[test]
fn what_we_create_can_be_written_and_read_again() {
    for schema in &proposal::exhibited().schemas {
        let text = serde_json::to_value(schema).unwrap();
        assert_eq!(*schema, serde_json::from_value::<proposal::FlowSchema>(text).unwrap());
    }
}

#[test]
fn the_main_set_compiles_to_what_it_says() {
    let compiled = compile(LEVELS.into_iter().chain(SCHEMAS));
    let config = &compiled.config;
    let order = ["system-low", "system-high", "system-top", "workload-high", "workload-low"];
    assert_eq!(schema_names(config), order);
    assert!(config.schemas.iter().all(|schema| !schema.implied));
    assert_eq!(&*config.schemas[config.fallback].name, "workload-low");

    let top = config.levels.iter().find(|level| &*level.name == "system-top").unwrap();
    assert_eq!((top.shares, top.handling), (0, Handling::Exempt));
    let low = config.levels.iter().find(|level| &*level.name == "system-low").unwrap();
    let one_queue = Queuing { queues: 1, hand_size: 1, queue_length_limit: 1000 };
    let expected = Level {
        name: "system-low".into(),
        uid: "".into(),
        shares: 30,
        lendable_percent: 0,
        borrowing_limit_percent: Some(0),
        handling: Handling::Queue(one_queue),
        implied: false,
    };
    assert_eq!(*low, expected);
}

#[test]
fn what_is_odd_in_the_main_set_is_told() {
    let compiled = compile(LEVELS.into_iter().chain(SCHEMAS));
    let mut codes = codes(&compiled);
    codes.sort_unstable();
    let expected = [
        "EqualPrecedence",
        "NamespaceDistinguisherWithoutNamespace",
        "NamespaceDistinguisherWithoutNamespace",
        "PriorityLevelNameMismatch",
        "UnusedDistinguisher",
        "UnusedPriorityLevel",
    ];
    assert_eq!(codes, expected, "{:#?}", compiled.findings);
    let other = Finding::PriorityLevelNameMismatch {
        schema: "workload-low".into(),
        level: "workload-high".into(),
    };
    assert!(compiled.findings.contains(&other));
    assert!(
        compiled.findings.contains(&Finding::UnusedPriorityLevel { level: "workload-low".into() })
    );
}

#[test]
fn an_exhibited_schema_may_distinguish_without_use_and_an_own_one_is_warned() {
    let compiled = compile(LEVELS.into_iter().chain([AGGREGATED]));
    assert!(codes(&compiled).contains(&"UnusedDistinguisher"));
    let own = AGGREGATED.replace("name: system-top\nspec", "name: mine\nspec");
    let compiled = compile(LEVELS.into_iter().chain([own.as_str()]));
    assert!(codes(&compiled).contains(&"DistinguisherIgnored"));
}

#[test]
fn prose_in_parentheses_means_the_backstops_values_in_the_printed_form_only() {
    let compiled = compile(LEVELS.into_iter().chain([BACKSTOP]));
    let backstop = schema(&compiled.config, "non-top-backstop");
    assert_eq!(backstop.precedence, i32::MAX);
    assert_eq!(&*compiled.config.level_of(backstop).name, "workload-low");
    let prose = compiled.findings.iter().filter(|f| f.code() == "PlaceholderValue");
    let told: Vec<String> = prose.map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("workload-low"), "{told:?}");

    let all = compile(LEVELS.into_iter().chain([BACKSTOP]).chain(SCHEMAS));
    assert_eq!(schema_names(&all.config).last(), Some(&"non-top-backstop"));

    let usual = BACKSTOP.replace("meta:", "metadata:");
    let usual = format!("apiVersion: evenkeel.dev/v1alpha1\n{usual}");
    assert_eq!(load("usual.yaml", &usual).problems[0].field, "spec.matchingPriority");
}

#[test]
fn one_schema_alone_gets_both_levels_and_both_backstops() {
    let only =
        a_schema("only", "system-top", "  match: [{and: [{equals: {field: user, value: a}}]}]");
    let compiled = compile([only.as_str()]);
    let config = &compiled.config;
    assert_eq!(level_names(config), ["system-top", "workload-low"]);
    assert_eq!(schema_names(config), ["only", "system-top", "non-top-backstop"]);
    assert_eq!(config.fallback, 2);
    assert_eq!(&*config.level_of(&config.schemas[2]).name, "workload-low");
    assert_eq!(config.schemas[2].distinguisher.as_ref().unwrap().source, Source::User);
    assert!(
        matches!(&config.schemas[2].predicate, Predicate::Match(any) if any[0].tests.is_empty())
    );
    assert!(codes(&compiled).contains(&"NoCatchAllFlowSchema"));
}

#[test]
fn levels_are_implied_only_while_no_object_does_their_work() {
    let exempt = a_level("root", "exempt: true");
    let limited = a_level("plain", QUEUES);
    let catching = a_level("zzz", &format!("catchAll: true, {QUEUES}"));
    let cases: [(&[&str], &[&str], &str); 5] = [
        (&[&exempt], &["root", "workload-low"], "workload-low"),
        (&[&limited], &["plain", "system-top"], "plain"),
        (&[&exempt, &limited], &["plain", "root"], "plain"),
        (&[&exempt, &limited, &catching], &["plain", "root", "zzz"], "zzz"),
        (&[&limited, LEVELS[4]], &["plain", "system-top", "workload-low"], "workload-low"),
    ];
    for (objects, levels, catch_all) in cases {
        let compiled = compile(objects.iter().copied());
        let config = &compiled.config;
        assert_eq!(level_names(config), levels);
        let last = &config.schemas[config.fallback];
        assert_eq!(&*config.level_of(last).name, catch_all, "{levels:?}");
        let says_so = !codes(&compiled).contains(&"NoCatchAllPriorityLevel");
        assert_eq!(says_so, catch_all != "plain", "{levels:?}");
    }
}

#[test]
fn an_implied_level_makes_way_for_an_object_of_its_name() {
    let limited = a_level("system-top", QUEUES);
    let compiled = compile([limited.as_str()]);
    assert_eq!(level_names(&compiled.config), ["system-top", "system-top-backstop"]);
    assert!(compiled.config.levels[1].implied);
}

#[test]
fn a_backstop_on_a_level_of_one_queue_does_not_tell_flows_apart() {
    let one = a_level(
        "one",
        "catchAll: true, assuredConcurrencyShares: 1, queues: 1, queueLengthLimit: 9",
    );
    let compiled = compile([one.as_str()]);
    assert!(compiled.config.schemas[compiled.config.fallback].distinguisher.is_none());
}

#[test]
fn an_exempt_level_that_catches_all_is_used_only_if_it_must_and_told() {
    let exempt = a_level("a", "exempt: true, catchAll: true");
    let compiled = compile([exempt.as_str(), &a_level("b", QUEUES)]);
    let last = &compiled.config.schemas[compiled.config.fallback];
    assert_eq!(&*compiled.config.level_of(last).name, "a");
    assert!(codes(&compiled).contains(&"ExemptCatchAll"));
    let limited = a_level("b", &format!("catchAll: true, {QUEUES}"));
    let compiled = compile([exempt.as_str(), &limited]);
    let last = &compiled.config.schemas[compiled.config.fallback];
    assert_eq!(&*compiled.config.level_of(last).name, "b");
}

#[test]
fn no_backstop_is_needed_where_a_schema_takes_everything() {
    let all = a_schema("all", "plain", EVERYTHING);
    let compiled = compile([a_level("plain", QUEUES).as_str(), &all]);
    assert_eq!(schema_names(&compiled.config), ["all"]);
    assert_eq!(compiled.config.fallback, 0);
    assert!(!codes(&compiled).contains(&"NoCatchAllFlowSchema"));
}
