//! What a scrape shows.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

#[path = "../support/mod.rs"]
mod support;

use std::{collections::BTreeMap, convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use evenkeel_fairness::{Settings, Width, config::Handling};
use http::{Request, Response};
use http_body_util::{Empty, Full};
use prometheus_client::{encoding::text::encode, registry::Registry};
use tokio::{sync::Semaphore, time::advance};
use tower::{Layer, ServiceExt, service_fn};
use tower_fairness::{Estimate, FairnessLayer, RequestTimeout, User};

use crate::support::{level, one_level, queue, schema, settings};

fn scrape(layer: &FairnessLayer) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(layer.metrics()));
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text
}

/// The first sample of a metric of our own.
fn own(layer: &FairnessLayer, name: &str) -> String {
    let text = scrape(layer);
    let mut found = text.lines().filter_map(|line| {
        let (sample, value) = line.rsplit_once(' ')?;
        sample.starts_with(&format!("evenkeel_fairness_{name}")).then(|| value.to_owned())
    });
    found.next().unwrap()
}

/// One seat, one queue of four. At 0 s a read begins and a write comes that waits; at 1 s the read
/// ends, and the write runs until 3 s. Another waits for a second of that and gives up.
async fn scenario() -> (FairnessLayer, Arc<Semaphore>) {
    let layer = FairnessLayer::builder()
        .estimate(|_, _, _| Estimate { width: Width::ONE, watches: Some(5) })
        .build(one_level(queue(1, 4)), 1)
        .unwrap();
    let permits = Arc::new(Semaphore::new(0));
    let service = {
        let permits = permits.clone();
        layer.layer(service_fn(move |_: Request<Empty<Bytes>>| {
            let permits = permits.clone();
            async move {
                permits.acquire().await.unwrap().forget();
                Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
            }
        }))
    };
    let send = |request: Request<Empty<Bytes>>| tokio::spawn(service.clone().oneshot(request));
    let read = send(Request::get("/").body(Empty::new()).unwrap());
    settle().await;
    let write = send(Request::post("/").body(Empty::new()).unwrap());
    settle().await;
    advance(Duration::from_secs(1)).await;
    permits.add_permits(1);
    assert_eq!(read.await.unwrap().unwrap().status(), 200);
    settle().await;
    let mut brief = Request::get("/").body(Empty::new()).unwrap();
    brief.extensions_mut().insert(RequestTimeout(Duration::from_secs(4)));
    let brief = send(brief);
    settle().await;
    advance(Duration::from_secs(1)).await;
    assert_eq!(brief.await.unwrap().unwrap().status(), 429);
    advance(Duration::from_secs(1)).await;
    permits.add_permits(1);
    assert_eq!(write.await.unwrap().unwrap().status(), 200);
    (layer, permits)
}

async fn settle() {
    for _ in 0..5 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_small_scenario_is_told_to_the_letter() {
    let (layer, _permits) = scenario().await;
    let text = scrape(&layer);
    // `UPDATE_GOLDEN=1` writes it anew, to be read before it is kept.
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/metrics/scenario.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &text).unwrap();
    }
    let expected = std::fs::read_to_string(golden).unwrap();
    for (line, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(text.len(), expected.len());
}

/// The labels of each metric, as the proposal and Kubernetes have them; then our own.
const NAMES: &[(&str, &str, &[&str])] = &[
    ("apiserver_rejected_requests", "unknown", &["flow_schema", "priority", "when"]),
    ("apiserver_current_inqueue_requests", "gauge", &["flow_schema", "priority"]),
    ("apiserver_request_queue_length", "histogram", &["priority"]),
    ("apiserver_current_executing_requests", "gauge", &["flow_schema", "priority"]),
    ("apiserver_dispatched_requests", "unknown", &["flow_schema", "priority"]),
    ("apiserver_wait_duration", "histogram", &["flow_schema", "priority"]),
    ("apiserver_service_duration", "histogram", &["flow_schema", "priority"]),
    ("apiserver_flowcontrol_rejected_requests_total", "counter", &[FS, PL, "reason"]),
    ("apiserver_flowcontrol_dispatched_requests_total", "counter", &[FS, PL]),
    ("apiserver_flowcontrol_current_inqueue_requests", "gauge", &[FS, PL]),
    ("apiserver_flowcontrol_current_inqueue_seats", "gauge", &[FS, PL]),
    ("apiserver_flowcontrol_current_executing_requests", "gauge", &[FS, PL]),
    ("apiserver_flowcontrol_current_executing_seats", "gauge", &[FS, PL]),
    ("apiserver_flowcontrol_request_wait_duration_seconds", "histogram", &["execute", FS, PL]),
    ("apiserver_flowcontrol_request_execution_seconds", "histogram", &[FS, PL, "type"]),
    ("apiserver_flowcontrol_request_queue_length_after_enqueue", "histogram", &[FS, PL]),
    ("apiserver_flowcontrol_work_estimated_seats", "histogram", &[FS, PL]),
    ("apiserver_flowcontrol_watch_count_samples", "histogram", &[FS, PL]),
    ("apiserver_flowcontrol_request_dispatch_no_accommodation_total", "counter", &[FS, PL]),
    ("apiserver_flowcontrol_nominal_limit_seats", "gauge", &[PL]),
    ("apiserver_flowcontrol_lower_limit_seats", "gauge", &[PL]),
    ("apiserver_flowcontrol_upper_limit_seats", "gauge", &[PL]),
    ("apiserver_flowcontrol_current_limit_seats", "gauge", &[PL]),
    ("apiserver_flowcontrol_demand_seats_high_watermark", "gauge", &[PL]),
    ("apiserver_flowcontrol_demand_seats_average", "gauge", &[PL]),
    ("apiserver_flowcontrol_demand_seats_stdev", "gauge", &[PL]),
    ("apiserver_flowcontrol_demand_seats_smoothed", "gauge", &[PL]),
    ("apiserver_flowcontrol_target_seats", "gauge", &[PL]),
    ("apiserver_flowcontrol_seat_fair_frac", "gauge", &[]),
    ("apiserver_flowcontrol_current_r", "gauge", &[PL]),
    ("apiserver_flowcontrol_dispatch_r", "gauge", &[PL]),
    ("apiserver_flowcontrol_latest_s", "gauge", &[PL]),
    ("apiserver_flowcontrol_next_s_bounds", "gauge", &["bound", PL]),
    ("apiserver_flowcontrol_next_discounted_s_bounds", "gauge", &["bound", PL]),
    ("apiserver_flowcontrol_epoch_advance_total", "counter", &[PL, "success"]),
    ("apiserver_flowcontrol_priority_level_seat_utilization", "histogram", &["phase", PL]),
    ("apiserver_flowcontrol_priority_level_request_utilization", "histogram", &["phase", PL]),
    ("apiserver_flowcontrol_read_vs_write_current_requests", "histogram", &["phase", KIND]),
    ("apiserver_flowcontrol_demand_seats", "histogram", &[PL]),
    ("evenkeel_fairness_current_detached_requests", "gauge", &[FS, PL]),
    ("evenkeel_fairness_detached_requests_total", "counter", &[FS, PL]),
    ("evenkeel_fairness_max_detached_requests", "gauge", &[]),
    ("evenkeel_fairness_held_back_requests", "gauge", &[PL]),
    ("evenkeel_fairness_slow_flow_seats", "gauge", &[PL]),
    ("evenkeel_fairness_slow_flow_limit_seats", "gauge", &[PL]),
];

const PL: &str = "priority_level";
const FS: &str = "flow_schema";
const KIND: &str = "request_kind";

/// The names of all samples with those of their labels, `le` aside, and the types of families.
fn samples(text: &str) -> (BTreeMap<&str, Vec<&str>>, BTreeMap<&str, &str>) {
    let (mut samples, mut types) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            types.extend(declared.split_once(' '));
        } else if !line.starts_with('#') {
            let sample = line.rsplit_once(' ').unwrap().0;
            let (name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
            let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
            let names = labels.map(|label| label.split_once('=').unwrap().0);
            let mut names: Vec<_> = names.filter(|name| *name != "le").collect();
            names.sort_unstable();
            assert_eq!(samples.entry(name).or_insert_with(|| names.clone()), &names, "{line}");
        }
    }
    (samples, types)
}

#[tokio::test(start_paused = true)]
async fn all_metrics_have_the_names_and_labels_they_are_known_by() {
    let (layer, _permits) = scenario().await;
    let service = layer.layer(service_fn(|_: Request<Empty<Bytes>>| async move {
        std::future::pending::<Result<Response<Empty<Bytes>>, Infallible>>().await
    }));
    // Something must wait for there to be a next one.
    let mut hold = Vec::new();
    for _ in 0..2 {
        let request = Request::get("/").body(Empty::new()).unwrap();
        hold.push(tokio::spawn(service.clone().oneshot(request)));
        settle().await;
    }
    let text = scrape(&layer);
    let (samples, types) = samples(&text);
    for (name, kind, labels) in NAMES {
        let family = if *kind == "counter" { name.strip_suffix("_total").unwrap() } else { name };
        assert_eq!(types.get(family), Some(kind), "{family}");
        let suffixes: &[&str] =
            if *kind == "histogram" { &["_bucket", "_count", "_sum"] } else { &[""] };
        for suffix in suffixes {
            let sample = format!("{name}{suffix}");
            assert_eq!(samples.get(&*sample).map(Vec::as_slice), Some(*labels), "{sample}");
        }
    }
    assert_eq!(types.len(), NAMES.len(), "nothing else is told");
    assert!(text.ends_with("# EOF\n"));
}

#[tokio::test(start_paused = true)]
async fn levels_that_reject_count_it_as_arrival() {
    let mut config = one_level(Handling::Reject);
    config.levels.push(level("odd \"name\"", 1, queue(1, 1)));
    config.schemas.push(schema("odd", 1, vec![]));
    let layer = FairnessLayer::new(config, 0).unwrap();
    let service = layer.layer(service_fn(|_: Request<Empty<Bytes>>| async move {
        Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
    }));
    let request = Request::get("/").body(Empty::new()).unwrap();
    assert_eq!(service.oneshot(request).await.unwrap().status(), 429);
    let text = scrape(&layer);
    for line in [
        r#"apiserver_rejected_requests{priority="main",flow_schema="all",when="arrival"} 1.0"#,
        r#"apiserver_flowcontrol_rejected_requests_total{priority_level="main",flow_schema="all",reason="concurrency-limit"} 1"#,
        r#"apiserver_flowcontrol_rejected_requests_total{priority_level="main",flow_schema="all",reason="time-out"} 0"#,
        r#"apiserver_flowcontrol_current_r{priority_level="odd \"name\""} 0.0"#,
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    assert!(!text.contains("current_r{priority_level=\"main\"}"), "it has no queues");
    let metrics = layer.metrics();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(metrics));
    drop(layer);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    assert_eq!(text, "# EOF\n", "without a layer there is nothing to tell");
}

#[tokio::test(start_paused = true)]
async fn responses_that_go_on_without_seats_are_counted() {
    let settings = Settings { max_detached: 2, ..Settings::default() };
    let builder = FairnessLayer::builder().settings(settings);
    let layer = builder.build(one_level(queue(1, 10)), 1).unwrap();
    let service = layer.layer(service_fn(|_: Request<Empty<Bytes>>| async move {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"text"))))
    }));
    let mut unread = Vec::new();
    for _ in 0..3 {
        let request = Request::get("/").body(Empty::new()).unwrap();
        unread.push(service.clone().oneshot(request).await.unwrap());
        advance(Duration::from_secs(11)).await;
        settle().await;
    }
    let counted = |name: &str| own(&layer, name);
    let all = || ["current_detached_requests", "detached_requests_total"].map(&counted);
    assert_eq!(all(), ["2.0", "2"], "the third keeps its seat");
    assert_eq!(counted("max_detached_requests"), "2.0");
    unread.remove(0);
    assert_eq!(all(), ["2.0", "3"], "the third has lost its seat too");
    unread.clear();
    assert_eq!(all(), ["0.0", "3"]);
}

/// Four seats. The elephant's requests take a minute; the mouse's is there from 2 to 2.5 s.
#[tokio::test(start_paused = true)]
async fn requests_that_are_held_back_are_counted_and_go_when_nobody_else_is_active() {
    let builder = FairnessLayer::builder().settings(settings());
    let builder = builder.request_timeout(Duration::from_secs(240));
    let layer = builder.build(one_level(queue(8, 10)), 4).unwrap();
    let service = layer.layer(service_fn(|request: Request<Empty<Bytes>>| async move {
        let millis = if request.uri() == "/mouse" { 500 } else { 60_000 };
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
    }));
    let send = |user: &str| {
        let mut request = Request::get(format!("/{user}")).body(Empty::new()).unwrap();
        request.extensions_mut().insert(User { name: user.to_owned(), groups: Vec::new() });
        tokio::spawn(service.clone().oneshot(request))
    };
    let mut elephant = vec![send("elephant")];
    settle().await;
    advance(Duration::from_secs(2)).await;
    let mouse = send("mouse");
    settle().await;
    elephant.extend((0..3).map(|_| send("elephant")));
    settle().await;
    let all = || {
        ["held_back_requests", "slow_flow_seats", "slow_flow_limit_seats"]
            .map(|name| own(&layer, name))
    };
    assert_eq!(all(), ["2.0", "2.0", "2.0"]);
    mouse.await.unwrap().unwrap();
    // Nothing happens but that time passes.
    advance(Duration::from_millis(9_900)).await;
    settle().await;
    assert_eq!(all(), ["2.0", "2.0", "2.0"]);
    advance(Duration::from_millis(200)).await;
    settle().await;
    assert_eq!(all(), ["0.0", "4.0", "4.0"]);
    for request in elephant {
        assert_eq!(request.await.unwrap().unwrap().status(), 200);
    }
}
