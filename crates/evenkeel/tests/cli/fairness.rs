use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::run::{Ran, evenkeel, golden};

fn fairness(args: &[&str]) -> String {
    let ran = evenkeel(&[&["fairness"], args].concat(), b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    ran.stdout
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&fairness(&[args, &["-o", "json"]].concat())).unwrap()
}

fn file(name: &str, text: &str) -> PathBuf {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("fairness");
    fs::create_dir_all(&dir).unwrap();
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    path
}

// === simulate ===

const ELEPHANT: &str = "examples/fairness/elephant.yaml";

/// A scenario that takes no time to run; `FLOW` and `REST` are to be replaced.
const SMALL: &str = "
server: {concurrencyLimit: 10}
duration: 5s
flows:
- {name: a, path: /a, arrivals: {poisson: {rate: 10/s}}, service: 10ms, FLOW}
REST
";

fn small(test: &str, flow: &str, rest: &str) -> Ran {
    let text = SMALL.replace(", FLOW", flow).replace("REST", rest);
    let path = file(&format!("{test}.yaml"), &text);
    evenkeel(&["fairness", "simulate", path.to_str().unwrap(), "-o", "json"], b"")
}

#[test]
fn configurations_are_compared_side_by_side() {
    golden("fairness-elephant.txt", &fairness(&["simulate", ELEPHANT, "--duration", "15s"]));
}

#[test]
fn fair_queues_keep_mice_from_waiting_behind_the_elephant() {
    let outcomes = json(&["simulate", ELEPHANT, "--duration", "20s"]);
    let p99 = |configuration: usize| {
        assert_eq!(outcomes[configuration]["flows"][0]["flow"], "mice");
        outcomes[configuration]["flows"][0]["latency"]["p99"].as_f64().unwrap()
    };
    assert!(p99(1) < p99(0) / 5.0, "{} {}", p99(0), p99(1));
}

#[test]
fn the_seed_is_the_only_chance() {
    let run = |seed| fairness(&["simulate", ELEPHANT, "--duration", "6s", "--seed", seed]);
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
}

#[test]
fn the_spike_leaves_critical_requests_alone() {
    let outcomes = json(&["simulate", "examples/fairness/spike.yaml", "--duration", "50s"]);
    for (outcome, name) in [(&outcomes[0], "evenkeel"), (&outcomes[1], "kubernetes")] {
        assert_eq!(outcome["configuration"], name);
        for flow in outcome["flows"].as_array().unwrap().iter().take(3) {
            let refused = ["queueFull", "concurrencyLimit", "timedOut"];
            let refused: u64 = refused.iter().map(|why| flow[*why].as_u64().unwrap()).sum();
            assert_eq!(refused, 0, "{name}: {flow}");
        }
    }
}

/// The header of `tenants/tenants.yaml`: no tenant can starve another, and health checks never wait.
#[test]
fn a_tenant_that_floods_the_example_does_not_delay_another() {
    let scenario = "examples/fairness/tenants-load.yaml";
    let outcomes = json(&["simulate", scenario, "--duration", "25s"]);
    let wait = |configuration: usize, flow: usize, name: &str, quantile: &str| {
        let flow = &outcomes[configuration]["flows"][flow];
        assert_eq!(flow["flow"], name);
        flow["wait"][quantile].as_f64().unwrap()
    };
    let p99 = wait(0, 1, "modest", "p99");
    assert!(p99 < 0.5, "{p99}");
    assert_eq!(wait(0, 2, "health", "max"), 0.0);
    // The same load without a distinguisher.
    let (p50, health) = (wait(1, 1, "modest", "p50"), wait(1, 2, "health", "p50"));
    assert!(p50 > 10.0 * p99 && health > 0.1, "{p50} {health}");
}

#[test]
fn the_picture_is_well_formed_and_shows_every_flow_of_every_configuration() {
    let name = "<&\\\"'>";
    let configuration = |name| format!("{{name: \"{name}\", default: kubernetes}}");
    let rest = format!(
        "name: \"{name}\"\nwarmup: 1s\nconfigurations: [{}, {}]",
        configuration(name),
        configuration("second")
    );
    let text = SMALL.replace(", FLOW", "").replace("REST", &rest);
    let (scenario, svg) = (file("picture.yaml", &text), file("picture.svg", ""));
    let svg = svg.to_str().unwrap();
    let draw = || {
        fairness(&["simulate", scenario.to_str().unwrap(), "--svg", svg]);
        fs::read_to_string(svg).unwrap()
    };
    let svg = draw();
    well_formed(&svg);
    assert_eq!(
        svg.matches("&lt;&amp;&quot;&apos;&gt;</t").count(),
        3,
        "title, heading, name: {svg}"
    );
    for part in
        ["Waiting time, p50", "Waiting time, p99", "time (s)", "warm-up", "seats of the server"]
    {
        assert!(svg.contains(part), "no {part:?}");
    }
    assert_eq!(svg.matches("class=\"configuration\"").count(), 2);
    assert_eq!(svg.matches("class=\"panel\"").count(), 6);
    assert!(svg.contains(">a</text>"), "the flow is in the legend");
    assert_eq!(svg, draw(), "the same scenario gives the same picture");
}

/// Tags nest, attributes are quoted, and there is no bare `&` or `<`.
fn well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some((text, after)) = rest.split_once('<') {
        plain(text);
        let (tag, after) = after.split_once('>').expect("a tag that ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag.trim_end_matches('/'), ""));
        let quoted: Vec<&str> = attributes.trim_end_matches('/').split('"').collect();
        assert_eq!(quoted.len() % 2, 1, "{tag}");
        for pair in quoted.chunks(2).filter(|pair| pair.len() == 2) {
            assert!(pair[0].ends_with('='), "{tag}");
            plain(pair[1]);
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
}

fn plain(text: &str) {
    for part in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
        assert!(known.iter().any(|entity| part.starts_with(entity)), "{text}");
    }
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn without_configurations_kubernetes_defaults_are_in_force() {
    let ran = small("defaults", "", "");
    let outcomes: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(outcomes[0]["flows"][0]["levels"][0], "global-default");
}

#[test]
fn a_configuration_without_objects_has_the_defaults_and_a_change_keeps_what_it_does_not_name() {
    let rest = "configurations: [{name: x, changes: [{at: 1s, concurrencyLimit: 20}]}]";
    let ran = small("bare", "", rest);
    let outcomes: Value = serde_json::from_str(&ran.stdout).unwrap();
    let levels = &outcomes[0]["flows"][0]["levels"];
    assert_eq!(levels, &serde_json::json!(["global-default"]), "{outcomes}");
}

#[test]
fn requests_that_all_wait_are_not_called_served() {
    let text = "
server: {concurrencyLimit: 10}
duration: 4s
flows: [{name: a, arrivals: {closed: {outstanding: 3}}, service: 10ms}]
configurations: [{name: x, profile: kubernetes}]
";
    let path = file("waiting.yaml", text);
    let told = fairness(&["simulate", path.to_str().unwrap()]);
    let row = told.lines().find(|line| line.starts_with("a ")).unwrap();
    assert!(row.contains("3         -  "), "{told}");
}

#[test]
fn wrong_scenarios_are_refused_with_the_field() {
    let cases = [
        ("duplicate", ", service: 1ms", "", "duplicate"),
        ("unknown", ", colour: red", "", "flows[0].colour"),
        ("unknown-top", "", "colour: red", "colour"),
        ("clients", ", clients: 0", "", "flows[0].clients: must be greater than 0"),
        ("clients-type", ", clients: many", "", "flows[0].clients"),
        ("crowd", ", clients: 4000000000", "", "lower `clients`"),
        ("seats", ", seats: 0", "", "flows[0].seats: must be greater"),
        (
            "unit",
            ", waitLimit: 5 parsecs",
            "",
            "flows[0].waitLimit: \"5 parsecs\" has no known unit",
        ),
        ("no-unit", ", waitLimit: 5", "", "flows[0].waitLimit: invalid type: integer `5`"),
        ("negative", ", from: -5s", "", "flows[0].from"),
        ("until", ", from: 3s, until: 2s", "", "flows[0].until: must be after `from`"),
        ("burst", ", burst: {on: 0s, off: 1s}", "", "flows[0].burst.on"),
        ("warmup", "", "warmup: 5s", "warmup: must be shorter"),
        ("seed", "", "seed: -1", "seed"),
        (
            "default",
            "",
            "configurations: [{name: x, default: nobody}]",
            "configurations[0].default",
        ),
        ("profile", "", "configurations: [{name: x, profile: fast}]", "configurations[0].profile"),
        ("field", "", "configurations: [{name: x, file: [a]}]", "configurations[0].file"),
        ("twice", "", "configurations: [{name: x}, {name: x}]", "configurations[1].name"),
        (
            "limit",
            "",
            "configurations: [{name: x, concurrencyLimit: 0}]",
            "concurrencyLimit: must be from 1",
        ),
        ("nowhere", "", "configurations: [{name: x, files: [no/such.yaml]}]", "no/such.yaml"),
        (
            "object",
            "",
            "configurations: [{name: x, objects: [{kind: Pod}]}]",
            "configurations[0].objects[0]",
        ),
        ("yaml", "", "]", "invalid YAML"),
    ];
    for (test, flow, rest, says) in cases {
        let ran = small(test, flow, rest);
        assert_eq!(ran.code, 2, "{test}: {} {}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout, "", "{test}");
        assert!(ran.stderr.contains(says), "{test}: {says:?} is not in {}", ran.stderr);
        assert!(ran.stderr.len() < 1000, "{test}: {}", ran.stderr);
    }
}

#[test]
fn wrong_arrivals_and_service_times_are_refused_with_the_field() {
    let cases = [
        ("{poisson: {rate: .nan}}", "1ms", "flows[0].arrivals.poisson.rate"),
        ("{poisson: {rate: nan}}", "1ms", "flows[0].arrivals.poisson.rate"),
        ("{poisson: {rate: -5}}", "1ms", "flows[0].arrivals.poisson.rate: a rate must be"),
        ("{poisson: {rate: 0}}", "1ms", "flows[0].arrivals.poisson.rate"),
        ("{poisson: {rate: 5/y}}", "1ms", "flows[0].arrivals.poisson.rate"),
        ("{poisson: {rate: 1e9}}", "1ms", "lower the rate"),
        ("{poisson: {rate: 1, burst: 2}}", "1ms", "flows[0].arrivals.poisson.burst"),
        ("{weibull: {rate: 1}}", "1ms", "flows[0].arrivals"),
        ("{closed: {outstanding: 0}}", "1ms", "flows[0].arrivals.closed.outstanding"),
        (
            "{closed: {outstanding: 1}}",
            "0ms",
            "flows[0].service: must be greater than 0 if `think` is 0",
        ),
        ("{poisson: {rate: 1}}", "-1ms", "flows[0].service"),
        ("{poisson: {rate: 1}}", "{pareto: {min: 1ms, shape: 0}}", "flows[0].service: shape"),
        (
            "{poisson: {rate: 1}}",
            "{uniform: {min: 2ms, max: 1ms}}",
            "flows[0].service: min must not",
        ),
        (
            "{poisson: {rate: 1}}",
            "{logNormal: {median: 1ms, sigma: -1}}",
            "flows[0].service: sigma",
        ),
    ];
    for (number, (arrivals, service, says)) in cases.into_iter().enumerate() {
        let text = format!(
            "server: {{concurrencyLimit: 1}}\nduration: 60s\nflows: [{{name: a, arrivals: {arrivals}, service: {service}}}]\n"
        );
        let path = file(&format!("arrivals-{number}.yaml"), &text);
        let ran = evenkeel(&["fairness", "simulate", path.to_str().unwrap()], b"");
        assert_eq!(ran.code, 2, "{arrivals}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(says), "{says:?} is not in {}", ran.stderr);
    }
}

// === match ===

#[test]
fn a_request_is_matched_and_the_misses_are_told() {
    let alice = ["match", "--user", "alice", "--verb", "list", "--resource", "pods", "-n", "shop"];
    golden("fairness-match.txt", &fairness(&alice));
    let probe = json(&["match", "--user", "x", "--path", "/healthz"]);
    assert_eq!((&probe["schema"], &probe["handling"]), (&"probes".into(), &"exempt".into()));
}

#[test]
fn a_request_may_come_from_a_file() {
    let text = "{user: alice, verb: list, resource: pods, namespace: shop}";
    let path = file("request.yaml", text);
    let by_file = json(&["match", "--request", path.to_str().unwrap()]);
    let flags = ["match", "--user", "alice", "--verb", "list", "--resource", "pods", "-n", "shop"];
    assert_eq!(by_file, json(&flags));
    let ran = evenkeel(&["fairness", "match", "--request", "-"], b"{usr: alice}");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("error: stdin: usr: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("fairness match --help"), "{}", ran.stderr);
}

#[test]
fn a_short_name_is_no_truth_value() {
    let path = file("short.yaml", "{user: y, resource: pods, namespace: n}");
    let matched = json(&["match", "--request", path.to_str().unwrap()]);
    assert_eq!(matched["distinguisher"], "y");
    let ran = small("short-names", "", "configurations: [{name: y}, {name: off}]");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn the_proposals_objects_are_there_as_well() {
    let matched = json(&["match", "--default", "proposal", "--user", "a", "--resource", "pods"]);
    assert!(matched["level"].is_string(), "{matched}");
    let account = "system:serviceaccount:shop:cart";
    let told = fairness(&["match", "--default", "proposal", "--user", account, "--path", "/x"]);
    assert!(told.contains("fails notPatternMatch [system:serviceaccount:.*]"), "{told}");
    assert!(told.contains("matched by spec.match[0]"), "{told}");
}

// === lint ===

const SCHEMA: &str = "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: lost}
spec:
  matchingPrecedence: 500
  priorityLevelConfiguration: {name: LEVEL}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: g}}]
    nonResourceRules: [{verbs: [get], nonResourceURLs: ['/x']}]
";

fn lint(name: &str, text: &str, args: &[&str]) -> Ran {
    let path = file(name, text);
    evenkeel(&[&["fairness", "lint", "-f", path.to_str().unwrap()], args].concat(), b"")
}

fn codes(ran: &Ran) -> Vec<String> {
    let lines: Value = serde_json::from_str(&ran.stdout).unwrap();
    let codes = lines.as_array().unwrap().iter().map(|line| line["code"].as_str().unwrap());
    codes.map(str::to_owned).collect()
}

#[test]
fn lint_ends_by_what_it_found() {
    let missing = SCHEMA.replace("LEVEL", "nowhere");
    let invalid = SCHEMA.replace("500", "-1").replace("LEVEL", "catch-all");
    // A tie is a note only.
    let tie = SCHEMA.replace("LEVEL", "workload-low");
    let cases: [(&str, &str, &[&str], i32); 9] = [
        ("missing", &missing, &[], 1),
        ("missing-error", &missing, &["--fail-on", "error"], 1),
        ("invalid", &invalid, &[], 2),
        ("invalid-error", &invalid, &["--fail-on", "error"], 2),
        ("tie", &tie, &["--default", "kubernetes"], 0),
        ("tie-info", &tie, &["--default", "kubernetes", "--fail-on", "info"], 1),
        ("usage", &tie, &["--fail-on", "nothing"], 2),
        ("no-seats", &tie, &["--concurrency-limit", "0"], 2),
        ("small", &tie, &["--default", "kubernetes", "--concurrency-limit", "20"], 1),
    ];
    for (name, text, args, code) in cases {
        for output in ["table", "json"] {
            let args = [args, &["-o", output]].concat();
            let ran = lint(&format!("exit-{name}.yaml"), text, &args);
            assert_eq!(ran.code, code, "{name}, {output}: {} {}", ran.stdout, ran.stderr);
        }
    }
    let unreadable = evenkeel(&["fairness", "lint", "-f", "no/such.yaml", "-o", "json"], b"");
    assert_eq!((unreadable.code, unreadable.stdout.as_str()), (2, ""), "{}", unreadable.stderr);
}

#[test]
fn lint_names_the_code_and_the_field() {
    let missing = lint("missing.yaml", &SCHEMA.replace("LEVEL", "vipp"), &["-o", "json"]);
    assert_eq!(codes(&missing), ["MissingPriorityLevel"]);
    assert!(missing.stdout.contains("priority level vipp is missing or invalid"));
    let text = SCHEMA.replace("500", "-1").replace("LEVEL", "catch-all");
    let invalid = lint("invalid.yaml", &text, &["-o", "json"]);
    let lines: Value = serde_json::from_str(&invalid.stdout).unwrap();
    assert_eq!(
        (&lines[0]["code"], &lines[0]["severity"]),
        (&"InvalidObject".into(), &"error".into())
    );
    assert_eq!(lines[0]["field"], "spec.matchingPrecedence");
}

const LEVEL: &str = "
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: mine}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 1
    limitResponse: {type: Queue, queuing: {queues: 4, handSize: 4, queueLengthLimit: 50}}
";

/// A level of one share beside Kubernetes' 245.
#[test]
fn lint_finds_what_keeps_a_level_from_being_fair() {
    let schema = SCHEMA.replace("LEVEL", "mine");
    let schema =
        schema.replace("  distinguisherMethod: {type: ByUser}\n", "").replace("500", "501");
    let text = schema + LEVEL;
    let lint = |name, limit| {
        let args = ["--default", "kubernetes", "--concurrency-limit", limit, "-o", "json"];
        lint(name, &text, &args)
    };
    let small = lint("fair-100.yaml", "100");
    assert_eq!(small.code, 1);
    let found = codes(&small);
    for code in ["HandCoversAllQueues", "MissingDistinguisher", "SingleSeat"] {
        assert!(found.iter().any(|found| found == code), "{code}: {}", small.stdout);
    }
    assert!(small.stdout.contains("raise the limit to at least 247"), "{}", small.stdout);
    let large = lint("fair-247.yaml", "247");
    assert!(!codes(&large).iter().any(|code| code == "SingleSeat"), "{}", large.stdout);
}

#[test]
fn lint_knows_levels_that_are_there_by_default() {
    let text = SCHEMA.replace("500", "501").replace("LEVEL", "workload-low");
    assert_eq!(lint("own.yaml", &text, &[]).code, 1);
    let with_defaults = lint("own.yaml", &text, &["--default", "kubernetes"]);
    assert_eq!((with_defaults.code, with_defaults.stdout.find("lost")), (0, None));
}

#[test]
fn lint_of_nothing_is_no_success() {
    for nothing in ["", "---\n", "{kind: List, apiVersion: v1, items: []}"] {
        let ran = evenkeel(&["fairness", "lint", "-f", "-"], nothing.as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{nothing:?}");
        assert!(ran.stderr.contains("no flow schema or priority level found"), "{}", ran.stderr);
    }
}

#[test]
fn lint_prints_a_table() {
    let second = SCHEMA.replace("lost", "found").replace("500", "600").replace("'/x'", "'/y'");
    let text =
        SCHEMA.replace("LEVEL", "nowhere") + "---" + &second.replace("LEVEL", "mine") + LEVEL;
    let ran = lint("table.yaml", &text, &["--concurrency-limit", "4"]);
    golden("fairness-lint.txt", &ran.stdout);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
}

const PROPOSAL: &str = "
apiVersion: evenkeel.dev/v1alpha1
kind: RequestPriority
metadata: {name: narrow}
spec: {catchAll: true, assuredConcurrencyShares: 1, queues: 1, queueLengthLimit: 9}
---
apiVersion: evenkeel.dev/v1alpha1
kind: FlowSchema
metadata: {name: by-user}
spec:
  requestPriority: {name: narrow}
  flowDistinguisher: {source: user}
  match: [{and: []}]
---
apiVersion: evenkeel.dev/v1alpha1
kind: FlowSchema
metadata: {name: lost}
spec: {requestPriority: {name: nowhere}, match: [{and: []}]}
";

/// Rules of the proposal about several objects are no errors of one of them.
#[test]
fn lint_tells_conditions_with_object_and_field() {
    let ran = lint("conditions.yaml", PROPOSAL, &["-o", "json"]);
    assert_eq!(ran.code, 1, "{} {}", ran.stdout, ran.stderr);
    let lines: Value = serde_json::from_str(&ran.stdout).unwrap();
    let of = |code: &str| {
        let line = lines.as_array().unwrap().iter().find(|line| line["code"] == code).unwrap();
        let object = line["object"].as_str().unwrap().rsplit_once("yaml, ").unwrap().1.to_owned();
        (line["severity"].clone(), object, line["field"].clone())
    };
    let lost = (
        "error".into(),
        "document 3, FlowSchema lost".to_owned(),
        "spec.requestPriority.name".into(),
    );
    assert_eq!(of("MissingPriorityLevel"), lost);
    let ignored = (
        "warning".into(),
        "document 2, FlowSchema by-user".to_owned(),
        "spec.flowDistinguisher".into(),
    );
    assert_eq!(of("DistinguisherIgnored"), ignored);
}

#[test]
fn match_and_simulate_note_conditions_and_use_what_is_in_force() {
    let path = file("noted.yaml", PROPOSAL);
    let path = path.to_str().unwrap();
    let matched = evenkeel(&["fairness", "match", "-f", path, "--user", "a", "--path", "/x"], b"");
    let rest = format!("configurations: [{{name: x, files: [{path:?}]}}]");
    let simulated = small("noted-scenario", "", &rest);
    for ran in [matched, simulated] {
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("narrow"), "{}", ran.stdout);
        for words in ["FlowSchema lost: spec.requestPriority.name: ", "has one queue; remove it"] {
            assert!(ran.stderr.contains(words), "{words:?} is not in {}", ran.stderr);
        }
    }
}

// === collisions ===

#[test]
fn collisions_are_tabled_up_to_the_threshold() {
    let table = fairness(&["collisions", "--queues", "128", "--hand-size", "6"]);
    golden("fairness-collisions.txt", &table);
    let rows = json(&["collisions", "--queues", "8", "--hand-size", "2", "--threshold", "0.5"]);
    let probability = |row: &Value| row["collisionProbability"].as_f64().unwrap();
    let rows = rows.as_array().unwrap();
    assert!(probability(rows.last().unwrap()) >= 0.5);
    assert!(rows[..rows.len() - 1].iter().all(|row| probability(row) < 0.5));
}

#[test]
fn hands_that_cannot_be_dealt_are_refused() {
    let cases: [(&[&str], &str); 4] = [
        (&["--queues", "4", "--hand-size", "5"], "use at most 4"),
        (&["--queues", "4", "--hand-size", "0"], "at least 1"),
        (&["--queues", "4", "--hand-size", "2", "--threshold", "nan"], "--threshold"),
        (&["--queues", "4000000000", "--hand-size", "1"], "use fewer"),
    ];
    for (args, says) in cases {
        let ran = evenkeel(&[&["fairness", "collisions"], args].concat(), b"");
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{says:?} is not in {}", ran.stderr);
    }
}
