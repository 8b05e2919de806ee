//! The page about fairness, of dumps, metrics and objects: whole pages against `tests/golden`, and bounds.
//!
//! `UPDATE_GOLDEN=1` accepts what differs.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{env, fmt::Write as _, fs, path::Path, sync::Arc};

use evenkeel_dashboard::view::{
    Basis, MOST_MARKS,
    fairness::{Absent, FairnessPage, History, Listed, Reading, Texts, page},
};
use evenkeel_fairness::{dialect::kubernetes, matching::RequestSpec};
use jiff::{Timestamp, ToSpan as _};

const NOW: &str = "2026-11-19T21:00:10Z";
const NEVER: &str = "0001-01-01T00:00:00Z";

/// What an API server with Kubernetes' default objects says.
struct Server {
    levels: String,
    queues: String,
    requests: String,
    metrics: String,
}

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

impl Server {
    fn new() -> Server {
        Server {
            levels: "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests\n".to_owned(),
            queues: "PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR\n".to_owned(),
            requests: "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime, \
                       InitialSeats, FinalSeats, AdditionalLatency, StartTime\n"
                .to_owned(),
            metrics: String::new(),
        }
    }

    /// A level with this many nominal seats and this limit.
    fn level(mut self, name: &str, nominal: u32, limit: u32) -> Server {
        writeln!(self.levels, "{name}, 0, true, false, <none>, <none>").unwrap();
        for (series, seats) in
            [("nominal", nominal), ("lower", nominal / 2), ("upper", 600), ("current", limit)]
        {
            writeln!(
                self.metrics,
                "apiserver_flowcontrol_{series}_limit_seats{{priority_level={name:?}}} {seats}"
            )
            .unwrap();
        }
        self
    }

    /// Seats in use and counters of a schema.
    fn counts(mut self, level: &str, schema: &str, counts: &[(&str, f64)]) -> Server {
        for (series, value) in counts {
            let (series, more) = series.split_once('/').unwrap_or((series, ""));
            let more = if more.is_empty() { String::new() } else { format!(",reason={more:?}") };
            writeln!(
                self.metrics,
                "apiserver_flowcontrol_{series}{{flow_schema={schema:?},priority_level={level:?}{more}}} {value}"
            )
            .unwrap();
        }
        self
    }

    /// The queues of a level: how many wait and run in some of them.
    fn queues(mut self, level: &str, n: usize, busy: &[(usize, u32, u32)]) -> Server {
        for index in 0..n {
            let found = busy.iter().find(|(at, ..)| *at == index);
            let (waiting, executing) = found.map_or((0, 0), |(_, waits, runs)| (*waits, *runs));
            writeln!(self.queues, "{level}, {index}, {waiting}, {executing}, {executing}, 0.0ss")
                .unwrap();
        }
        self
    }

    /// A request that arrived so many milliseconds ago, and its seats if it runs.
    fn request(mut self, at: [&str; 3], ago: i64, runs: Option<u32>) -> Server {
        let [level, schema, flow] = at;
        let arrived = now() - ago.milliseconds();
        let (seats, start) = runs.map_or((1, NEVER.to_owned()), |seats| (seats, NOW.to_owned()));
        writeln!(
            self.requests,
            "{level}, {schema}, 0, -1, {flow}, {arrived}, {seats}, 0, 0s, {start}"
        )
        .unwrap();
        self
    }

    fn texts(self) -> Texts {
        let kubernetes::Defaults { levels, schemas } = kubernetes::defaults();
        let values = |objects: serde_json::Value| objects.as_array().unwrap().clone();
        Texts {
            levels: Ok(self.levels),
            queues: Ok(self.queues),
            requests: Ok(self.requests),
            metrics: Ok(self.metrics),
            objects: Ok(Listed {
                levels: values(serde_json::to_value(levels).unwrap()),
                schemas: values(serde_json::to_value(schemas).unwrap()),
            }),
        }
    }

    fn page(self) -> FairnessPage {
        page(&Reading::parse(self.texts()), None, now())
    }
}

const LOW: [&str; 2] = ["workload-low", "service-accounts"];

/// One elephant has six queues of `workload-low` nearly to itself.
fn elephant() -> Server {
    let mut server = Server::new()
        .level("exempt", 0, 0)
        .level("workload-low", 245, 6)
        .counts("exempt", "exempt", &[("current_executing_seats", 1.0)])
        .counts(
            LOW[0],
            LOW[1],
            &[
                ("current_executing_seats", 6.0),
                ("dispatched_requests_total", 900.0),
                ("rejected_requests_total/queue-full", 40.0),
                ("rejected_requests_total/time-out", 0.0),
            ],
        )
        .queues("workload-low", 128, &[(3, 5, 2), (17, 4, 2), (40, 1, 1), (99, 2, 1), (100, 0, 1)])
        .queues("global-default", 128, &[]);
    let [level, schema] = LOW;
    for i in 0..10 {
        server =
            server.request([level, schema, "system:serviceaccount:a:elephant"], 1400 - i, None);
    }
    for mouse in ["b:mouse", "c:mouse"] {
        let flow = format!("system:serviceaccount:{mouse}");
        server = server.request([level, schema, &flow], 30, None);
        server = server.request([level, schema, &flow], 5, Some(1));
    }
    server.request([level, schema, "system:serviceaccount:a:elephant"], 2000, Some(4))
}

fn golden(name: &str, page: &FairnessPage) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let got = serde_json::to_string_pretty(page).unwrap() + "\n";
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &got).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expected, "{name} differs; UPDATE_GOLDEN=1 accepts it");
}

#[test]
fn without_load_all_requests_are_served_at_once() {
    let server = Server::new()
        .level("exempt", 0, 0)
        .level("global-default", 49, 49)
        .level("workload-low", 245, 245)
        .counts("exempt", "exempt", &[("current_executing_seats", 2.0)])
        .counts("workload-low", "service-accounts", &[("current_executing_seats", 3.0)])
        .queues("workload-low", 128, &[]);
    let page = server.page();
    assert_eq!(page.sentence, "All requests are served at once: 3 of 294 seats are in use.");
    golden("fairness-idle.json", &page);
}

#[test]
fn an_elephant_among_mice_is_named() {
    let page = elephant().page();
    assert_eq!(
        page.sentence,
        "workload-low is full: 12 requests wait, the longest 1.4 s; user \
         “system:serviceaccount:a:elephant” has 83.3 % of the waiting requests and holds 4 of 6 seats in use."
    );
    golden("fairness-elephant.json", &page);
}

#[test]
fn borrowed_and_lent_seats_are_told_apart() {
    let server = Server::new()
        .level("workload-high", 98, 60)
        .level("workload-low", 245, 283)
        .counts("workload-high", "kube-controller-manager", &[("current_executing_seats", 10.0)])
        .counts("workload-low", "service-accounts", &[("current_executing_seats", 270.0)]);
    let page = server.page();
    let seats = |lane: &evenkeel_dashboard::view::fairness::Lane| {
        (lane.borrowed.value, lane.lent.value, lane.bar.borrowed.is_some(), lane.bar.lent.is_some())
    };
    let find = |name: &str| page.lanes.iter().find(|lane| lane.level == name).unwrap();
    assert_eq!(seats(find("workload-high")), (Some(0.0), Some(38.0), false, true));
    assert_eq!(seats(find("workload-low")), (Some(38.0), Some(0.0), true, false));
    assert_eq!(find("system").state, "not in force", "only the object is there");
    golden("fairness-borrowed.json", &page);
}

#[test]
fn what_is_forbidden_is_unknown_and_never_zero() {
    let refused = || Absent::Refused { code: 403 };
    let texts = Texts {
        levels: Err(refused()),
        queues: Err(refused()),
        requests: Err(refused()),
        metrics: Err(refused()),
        objects: Err(refused()),
    };
    let reading = Reading::parse(texts);
    assert!(reading.failure().is_none(), "the page says what to do");
    let page = page(&reading, None, now());
    assert!([&page.used, &page.seats, &page.waiting].iter().all(|n| n.basis == Basis::Unknown));
    golden("fairness-forbidden.json", &page);
}

#[test]
fn each_part_is_shown_without_the_others() {
    let without = |change: fn(&mut Texts)| {
        let mut texts = elephant().texts();
        change(&mut texts);
        page(&Reading::parse(texts), None, now())
    };
    let absent = || Absent::TimedOut { seconds: 3 };
    let no_metrics = without(|texts| texts.metrics = Err(Absent::NoLevels));
    let low = &no_metrics.lanes[0];
    assert_eq!(
        (low.level.as_str(), low.waiting.value, low.used.value),
        ("workload-low", Some(12.0), Some(7.0))
    );
    assert_eq!((low.nominal.value, low.bar.track, no_metrics.served), (None, None, None));

    let mut texts = elephant().texts();
    (texts.requests, texts.levels) = (Err(absent()), Err(absent()));
    texts.metrics = texts.metrics.map(|text| {
        text + "apiserver_flowcontrol_current_inqueue_requests{priority_level=\"workload-low\",flow_schema=\"x\"} 12\n"
    });
    let no_requests = page(&Reading::parse(texts), None, now());
    assert_eq!(no_requests.sentence, "workload-low is full: 12 requests wait.");
    assert_eq!((no_requests.flows.len(), no_requests.missing.len()), (0, 1), "for one reason");

    let no_objects = without(|texts| texts.objects = Err(Absent::Refused { code: 404 }));
    assert!(
        no_objects.sentence.contains("flow “system:serviceaccount:a:elephant”"),
        "{}",
        no_objects.sentence
    );

    let torn =
        without(|texts| texts.requests = texts.requests.clone().map(|text| text + "torn,\n"));
    assert_eq!(
        torn.lanes[0].waiting.basis,
        Basis::Unknown,
        "a sum over some rows is none over all"
    );
}

#[test]
fn rates_are_of_two_readings() {
    let mut history = History::default();
    let counted = |dispatched, full| {
        let counts = [
            ("dispatched_requests_total", dispatched),
            ("request_wait_duration_seconds_sum", dispatched / 100.0),
            ("request_wait_duration_seconds_count", dispatched),
            ("rejected_requests_total/queue-full", full),
        ];
        let server = Server::new().level(LOW[0], 245, 245).counts(LOW[0], LOW[1], &counts);
        Reading::parse(server.texts())
    };
    let (first, second) = (counted(100.0, 0.0), counted(300.0, 20.0));
    assert!(history.push(now(), &Arc::clone(first.metrics.as_ref().unwrap())).is_none());
    let later = now() + 4.seconds();
    let since = history.push(later, second.metrics.as_ref().unwrap()).unwrap();
    let page = page(&second, Some(&since), later);
    assert_eq!(
        page.sentence,
        "No request waits, and 0 of 245 seats are in use; 20 requests were rejected in the last 4 s."
    );
    let served = page.served.unwrap();
    let [rule] = &served.rules[..] else { panic!("{served:?}") };
    assert_eq!((rule.served.text.as_str(), rule.mean_wait.text.as_str()), ("50/s", "10 ms"));
    let [rejection] = &served.rejections[..] else { panic!("{served:?}") };
    assert_eq!((rejection.total.value, rejection.rate.text.as_str()), (Some(20.0), "5/s"));
    assert!(rejection.advice.contains("queueLengthLimit") && served.over.contains("last 4 s"));
}

#[test]
fn hostile_names_are_text() {
    let evil = "<script>alert(1)</script>";
    let turned = "a\u{202e}b, 0001-01-01T00:00:00Z, 9, 9, 0s, soon";
    let server = Server::new()
        .level("workload-low", 245, 245)
        .counts("workload-low", evil, &[("dispatched_requests_total", 1.0)])
        .request(["workload-low", "service-accounts", evil], 100, None)
        .request(["workload-low", "service-accounts", turned], 90, None)
        .request(["workload-low", "service-accounts", &"x".repeat(9000)], 80, Some(1));
    let page = server.page();
    let json = serde_json::to_string(&page).unwrap();
    assert!(json.contains(evil), "names are kept, and the page shows them as text");
    assert!(!json.contains('\u{202e}') && json.len() < 20_000, "{}", json.len());
    assert_eq!(page.waiting.value, Some(2.0));
    golden("fairness-hostile.json", &page);
}

#[test]
fn a_full_server_is_within_the_bound() {
    let mut server = Server::new();
    for level in 0..100 {
        let name = format!("level-{level}");
        let busy: Vec<(usize, u32, u32)> = (0..512).map(|queue| (queue, 50, 1)).collect();
        server = server.level(&name, 100, 100).queues(&name, 512, &busy);
        for schema in 0..10 {
            let counts =
                [("rejected_requests_total/queue-full", 1.0), ("dispatched_requests_total", 1.0)];
            server = server.counts(&name, &format!("schema-{schema}"), &counts);
        }
        for flow in 0..150 {
            server =
                server.request([&name, "service-accounts", &format!("user-{flow}")], flow, None);
        }
    }
    let reading = Reading::parse(server.texts());
    let page = page(&reading, None, now());
    let spec = RequestSpec {
        user: "alice".to_owned(),
        resource: "pods".to_owned(),
        ..RequestSpec::default()
    };
    let page = page.with_request(&reading, &spec);
    assert!(page.marks <= MOST_MARKS, "{}", page.marks);
    assert_eq!(page.flows.len() + page.flows_left_out, 100 * 150);
    assert!(page.lanes_left_out >= 60 && serde_json::to_string(&page).unwrap().len() < 300_000);
}

#[test]
fn a_request_typed_in_is_matched_as_the_command_does() {
    let reading = Reading::parse(Server::new().texts());
    let empty = page(&reading, None, now());
    let asked = |spec: &RequestSpec| empty.with_request(&reading, spec).request.unwrap();
    let spec = RequestSpec {
        user: "it's".to_owned(),
        groups: Some(vec!["system:authenticated".to_owned(), "a b".to_owned()]),
        verb: Some("list".to_owned()),
        resource: "pods".to_owned(),
        namespace: "shop".to_owned(),
        ..RequestSpec::default()
    };
    let answer = asked(&spec);
    assert_eq!(
        answer.sentence,
        "FlowSchema global-default takes the request to priority level global-default: if no seat is free it \
         waits in one of 6 queues of 128, in the flow user “it's”."
    );
    assert_eq!(
        answer.command.as_deref(),
        Some(
            r"evenkeel fairness match --live --user='it'\''s' --group=system:authenticated --group='a b' --verb=list --resource=pods --namespace=shop"
        )
    );
    let matching: Vec<&str> =
        answer.tried.iter().filter(|row| row.matches).map(|row| row.schema.as_str()).collect();
    assert_eq!(
        (matching, answer.also.as_slice()),
        (vec!["global-default"], &["catch-all".to_owned()][..])
    );
    assert!(answer.tried.iter().any(|row| row.why.contains("does not match")));

    let path = RequestSpec { path: Some("/healthz".to_owned()), ..RequestSpec::default() };
    assert!(
        asked(&path).sentence.starts_with("FlowSchema probes takes"),
        "{}",
        asked(&path).sentence
    );
    let both = RequestSpec { path: Some("/x".to_owned()), ..spec };
    for (spec, said) in [(both, "not for both"), (RequestSpec::default(), "Name a resource")] {
        let answer = asked(&spec);
        assert!(answer.sentence.contains(said) && answer.command.is_none(), "{answer:?}");
    }
}
