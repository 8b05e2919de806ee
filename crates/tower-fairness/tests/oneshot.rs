//! The layer around services made for the test, with time that stands still.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod support;

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Wake, Waker},
    time::Duration,
};

use bytes::Bytes;
use evenkeel_fairness::{
    Settings, Width,
    config::Handling,
    flow::{FlowHash, FlowHasher, FlowKey, flow_hash},
};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use tokio::{
    sync::Semaphore,
    time::{Instant, advance},
};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_fairness::{ConfigureError, Estimate, FairnessLayer, RequestTimeout, ResponseBody, User};

use crate::support::{
    one_level, queue,
    server::{numbers, until},
    settings, with_exempt,
};

type Answer = Result<Response<ResponseBody<Full<Bytes>>>, Infallible>;

/// A service that answers when there is a permit, behind the layer.
fn gated(
    layer: &FairnessLayer,
    permits: &Arc<Semaphore>,
) -> impl Service<
    Request<Empty<Bytes>>,
    Response = Response<ResponseBody<Full<Bytes>>>,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send
+ 'static {
    let permits = permits.clone();
    layer.layer(service_fn(move |_: Request<Empty<Bytes>>| {
        let permits = permits.clone();
        async move {
            permits.acquire().await.unwrap().forget();
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
        }
    }))
}

fn request(user: &str) -> Request<Empty<Bytes>> {
    let user = User { name: user.into(), groups: vec![] };
    Request::get("/").extension(user).body(Empty::new()).unwrap()
}

fn one_seat(layer: tower_fairness::Builder) -> FairnessLayer {
    layer.details_for(|_| true).build(one_level(queue(1, 10)), 1).unwrap()
}

fn reason(answer: &Answer) -> (StatusCode, String) {
    let response = answer.as_ref().unwrap();
    let reason = response.headers().get("x-evenkeel-reason");
    (response.status(), reason.map_or("", |reason| reason.to_str().unwrap()).to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_a_quarter_of_its_time_and_a_minute_at_most() {
    let none = Arc::new(Semaphore::new(0));
    let minute = Duration::from_secs(60);
    for (timeout, expected) in [
        (None, Duration::from_secs(15)),
        (Some(Duration::from_secs(8)), Duration::from_secs(2)),
        (Some(10 * minute), minute),
        (Some(Duration::ZERO), Duration::ZERO),
    ] {
        let layer = one_seat(FairnessLayer::builder());
        let service = gated(&layer, &none);
        let running = tokio::spawn(service.clone().oneshot(request("a")));
        tokio::task::yield_now().await;
        let mut waiting = request("b");
        if let Some(timeout) = timeout {
            waiting.extensions_mut().insert(RequestTimeout(timeout));
        }
        let began = Instant::now();
        let answer = service.oneshot(waiting).await;
        assert_eq!(reason(&answer), (StatusCode::TOO_MANY_REQUESTS, "time-out".to_owned()));
        let waited = began.elapsed();
        assert!(waited >= expected && waited < expected + Duration::from_millis(5), "{waited:?}");
        assert_eq!(numbers(&layer), (0, 1, 1));
        running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn the_waits_of_all_levels_are_kept_by_one_task_that_ends_with_the_layer() {
    let none = Arc::new(Semaphore::new(0));
    let layer = FairnessLayer::builder()
        .wait_limit(|head| Duration::from_secs(head.uri.path().len() as u64))
        .details_for(|_| true)
        .build(one_level(queue(1, 10)), 1)
        .unwrap();
    let service = gated(&layer, &none);
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let running = tokio::spawn(service.clone().oneshot(request("a")));
    tokio::task::yield_now().await;
    // The later one first, so that the driver must be told of the sooner.
    let began = Instant::now();
    let ended = Arc::new(Mutex::new(Vec::new()));
    let waits: Vec<_> = ["/123456", "/1", "/123"]
        .map(|path| {
            let request = Request::get(path).body(Empty::new()).unwrap();
            let (service, ended) = (service.clone(), ended.clone());
            tokio::spawn(async move {
                let answer = service.oneshot(request).await;
                ended.lock().unwrap().push(began.elapsed().as_secs());
                reason(&answer).1
            })
        })
        .into();
    for wait in waits {
        assert_eq!(wait.await.unwrap(), "time-out");
    }
    assert_eq!(*ended.lock().unwrap(), [2, 4, 7]);
    running.abort();
    let _ = running.await;
    assert_eq!(metrics.num_alive_tasks(), before + 1, "the driver");
    drop((service, layer));
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(metrics.num_alive_tasks(), before, "it has ended");
}

#[test]
fn a_layer_needs_no_runtime_and_outlives_one() {
    let layer = one_seat(FairnessLayer::builder());
    let none = Arc::new(Semaphore::new(0));
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let service = gated(&layer, &none);
            let running = tokio::spawn(service.clone().oneshot(request("a")));
            tokio::task::yield_now().await;
            assert_eq!(reason(&service.oneshot(request("b")).await).1, "time-out");
            running.abort();
        });
        drop(runtime);
        assert_eq!(numbers(&layer), (0, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_keeps_its_seat_for_the_hold_exactly() {
    let settings = Settings { response_hold: Some(Duration::from_secs(10)), ..Settings::default() };
    let layer = one_seat(FairnessLayer::builder().settings(settings));
    let service = layer.layer(service_fn(|_: Request<Empty<Bytes>>| async move {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"text"))))
    }));
    let unread = service.clone().oneshot(request("a")).await.unwrap();
    advance(Duration::from_millis(9_990)).await;
    assert_eq!(numbers(&layer), (0, 1, 1));
    let began = Instant::now();
    let next = service.oneshot(request("b")).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(20), "{:?}", began.elapsed());
    assert_eq!(next.into_body().collect().await.unwrap().to_bytes(), "text");
    assert_eq!(numbers(&layer), (0, 0, 0), "the end of a body frees its seat");
    assert_eq!(unread.into_body().collect().await.unwrap().to_bytes(), "text");
}

#[tokio::test(start_paused = true)]
async fn dropping_a_response_unread_frees_its_seat() {
    let layer = one_seat(FairnessLayer::builder());
    let service = layer.layer(service_fn(|_: Request<Empty<Bytes>>| async move {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"text"))))
    }));
    let response = service.oneshot(request("a")).await.unwrap();
    assert_eq!(numbers(&layer), (0, 1, 1));
    drop(response);
    assert_eq!(numbers(&layer), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_error_or_a_panic_of_the_inner_service_frees_the_seat() {
    let layer = one_seat(FairnessLayer::builder());
    let failing = layer.layer(service_fn(|_: Request<Empty<Bytes>>| async move {
        Err::<Response<Full<Bytes>>, _>("failed")
    }));
    assert_eq!(failing.oneshot(request("a")).await.unwrap_err(), "failed");
    assert_eq!(numbers(&layer), (0, 0, 0));

    let panicking = layer.layer(service_fn(|request: Request<Empty<Bytes>>| async move {
        assert_eq!(request.uri(), "/other", "on purpose");
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
    }));
    assert!(tokio::spawn(panicking.oneshot(request("a"))).await.is_err());
    assert_eq!(numbers(&layer), (0, 0, 0));
}

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicU32);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn whoever_polled_last_is_woken_once() {
    let layer = one_seat(FairnessLayer::builder());
    let mut service = gated(&layer, &Arc::new(Semaphore::new(1)));
    let running = service.call(request("a"));
    let mut waiting = Box::pin(service.call(request("b")));
    let bells = [(); 2].map(|()| Arc::new(Bell::default()));
    for bell in [&bells[0], &bells[0], &bells[1]] {
        let waker = Waker::from(bell.clone());
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    drop(running);
    assert_eq!(bells.each_ref().map(|bell| bell.0.load(Ordering::Relaxed)), [0, 1]);
    assert_eq!(numbers(&layer), (0, 1, 1), "it has its seat before it looks");
    let waker = Waker::from(bells[1].clone());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    assert_eq!(numbers(&layer), (0, 0, 0));
    assert_eq!(Arc::strong_count(&bells[0]), 1, "wakers that were replaced are gone");
}

#[test]
fn one_that_was_never_polled_keeps_its_turn_and_its_drop_passes_it_on() {
    let layer = one_seat(FairnessLayer::builder());
    let mut service = gated(&layer, &Arc::new(Semaphore::new(1)));
    let first = service.call(request("a"));
    let second = service.call(request("b"));
    let third = service.call(request("c"));
    assert_eq!(numbers(&layer), (2, 1, 1));
    drop(first);
    assert_eq!(numbers(&layer), (1, 1, 1));
    drop(second);
    assert_eq!(numbers(&layer), (0, 1, 1));
    drop(third);
    assert_eq!(numbers(&layer), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn flows_take_turns() {
    let permits = Arc::new(Semaphore::new(0));
    let builder = FairnessLayer::builder().settings(settings());
    let layer = builder.build(one_level(queue(64, 100)), 1).unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let service = {
        let (permits, order) = (permits.clone(), order.clone());
        layer.layer(service_fn(move |request: Request<Empty<Bytes>>| {
            let (permits, order) = (permits.clone(), order.clone());
            async move {
                permits.acquire().await.unwrap().forget();
                let user = request.extensions().get::<User>().unwrap().name.clone();
                order.lock().unwrap().push(user);
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
            }
        }))
    };
    let mut tasks = Vec::new();
    for user in ["greedy", "greedy", "greedy", "greedy", "modest", "modest"] {
        tasks.push(tokio::spawn(service.clone().oneshot(request(user))));
        tokio::task::yield_now().await;
    }
    for _ in 0..6 {
        advance(Duration::from_millis(3)).await;
        permits.add_permits(1);
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
    }
    let order = order.lock().unwrap().clone();
    let modest = order.iter().rposition(|user| user == "modest").unwrap();
    assert!(modest <= 4 && order.len() == 6, "{order:?}");
    let flows = &layer.top_flows()[0];
    let weights: Vec<_> =
        flows.flows.iter().map(|flow| (&*flow.distinguisher, flow.weight)).collect();
    assert_eq!((flows.total, weights), (6, vec![("greedy", 4), ("modest", 2)]));
}

#[tokio::test(start_paused = true)]
async fn a_server_says_who_sends_what_it_costs_and_how_it_is_rejected() {
    let layer = FairnessLayer::builder()
        .identify(|head, plain| evenkeel_fairness::Request {
            user: head.headers.get("x-user").map_or("nobody", |user| user.to_str().unwrap()),
            ..plain
        })
        .estimate(|_, _, _| Estimate { width: Width::seats(2), watches: Some(3) })
        .rejection_response(|rejection| {
            let text = format!("{} of {} seats", rejection.seats_in_use, rejection.limit);
            Response::builder().status(503).body(Bytes::from(text)).unwrap()
        })
        .build(one_level(queue(2, 0)), 2)
        .unwrap();
    let none = Arc::new(Semaphore::new(0));
    let service = gated(&layer, &none);
    let mut sent = request("ignored");
    sent.headers_mut().insert("x-user", "jane".parse().unwrap());
    let running = tokio::spawn(service.clone().oneshot(sent));
    tokio::task::yield_now().await;
    assert_eq!(numbers(&layer), (0, 1, 2));
    assert_eq!(layer.top_flows()[0].flows[0].distinguisher, "jane");
    let rejected = service.oneshot(request("b")).await.unwrap();
    assert_eq!(rejected.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(rejected.into_body().collect().await.unwrap().to_bytes(), "2 of 2 seats");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn grpc_is_rejected_in_its_own_words() {
    let layer = FairnessLayer::new(one_level(Handling::Reject), 0).unwrap();
    let service = gated(&layer, &Arc::new(Semaphore::new(0)));
    let mut call = request("a");
    call.headers_mut().insert("content-type", "application/grpc+proto".parse().unwrap());
    let rejected = service.oneshot(call).await.unwrap();
    assert_eq!(rejected.status(), StatusCode::OK);
    assert_eq!(rejected.headers()["grpc-status"], "8");
    assert_eq!(rejected.headers()["grpc-retry-pushback-ms"], "1000");
}

#[test]
fn what_a_configuration_promises_is_checked() {
    let mut far = one_level(queue(1, 1));
    far.schemas[0].level = 7;
    let mut no_fallback = one_level(queue(1, 1));
    no_fallback.fallback = 3;
    let zero = with_exempt(queue(0, 1));
    let (mut levels, mut schemas) = (with_exempt(queue(1, 1)), with_exempt(queue(1, 1)));
    levels.levels[1].name = "exempt".into();
    schemas.schemas[1].name = "exempt".into();
    let errors = [levels, schemas].map(|bad| FairnessLayer::new(bad, 1).unwrap_err());
    let [ConfigureError::TwoLevels { .. }, ConfigureError::TwoSchemas { .. }] = errors else {
        panic!("{errors:?}")
    };
    let errors = [far, no_fallback, zero].map(|bad| FairnessLayer::new(bad, 1).unwrap_err());
    let [ConfigureError::NoLevel { .. }, ConfigureError::NoFallback { .. }, hand] = errors else {
        panic!("{errors:?}")
    };
    assert!(hand.to_string().contains("\"main\""), "{hand}");
}

#[tokio::test(start_paused = true)]
async fn a_header_alone_gets_nobody_past_the_limit() {
    let none = Arc::new(Semaphore::new(0));
    let builder = FairnessLayer::builder().details_for(|_| true);
    let layer = builder.build(one_level(Handling::Reject), 1).unwrap();
    let mut service = gated(&layer, &none);
    let _running = service.ready().await.unwrap().call(request("alice"));
    let mut upgrade = request("mallory");
    upgrade.headers_mut().insert("upgrade", "h2c".parse().unwrap());
    let answer = tokio::time::timeout(Duration::from_secs(60), service.oneshot(upgrade)).await;
    let answer = answer.expect("it is rejected, not called");
    assert_eq!(reason(&answer), (StatusCode::TOO_MANY_REQUESTS, "concurrency-limit".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_an_upgrade_and_gets_none_keeps_the_seat_until_the_body_ends() {
    let layer = FairnessLayer::new(one_level(Handling::Reject), 1).unwrap();
    let seats = || layer.dispatcher().levels()[0].view(|view| view.set.seats_in_use());
    let answers = [(StatusCode::OK, 1), (StatusCode::SWITCHING_PROTOCOLS, 0)];
    for (status, held) in answers {
        let service = layer.layer(service_fn(move |_: Request<Empty<Bytes>>| async move {
            let mut response = Response::new(Full::new(Bytes::from("a body")));
            *response.status_mut() = status;
            Ok::<_, Infallible>(response)
        }));
        let mut upgrade = request("mallory");
        upgrade.headers_mut().insert("upgrade", "h2c".parse().unwrap());
        let answer = service.oneshot(upgrade).await.unwrap();
        assert_eq!(seats(), held, "{status}");
        drop(answer);
        assert_eq!(seats(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_tunnel_and_gets_none_keeps_the_seat_until_the_body_ends() {
    let layer = FairnessLayer::new(one_level(Handling::Reject), 1).unwrap();
    for (status, held) in [(StatusCode::OK, 0), (StatusCode::FORBIDDEN, 1)] {
        let service = layer.layer(service_fn(move |_: Request<Empty<Bytes>>| async move {
            let mut response = Response::new(Full::new(Bytes::from("a body")));
            *response.status_mut() = status;
            Ok::<_, Infallible>(response)
        }));
        let connect = Request::connect("host:1").body(Empty::new()).unwrap();
        let answer = service.oneshot(connect).await.unwrap();
        assert_eq!(numbers(&layer), (0, held, held.into()), "{status}");
        drop(answer);
    }
}

/// The hash of the one flow that there was.
async fn flow_hash_of(settings: Settings) -> u64 {
    let builder = FairnessLayer::builder().settings(settings);
    let layer = builder.build(one_level(queue(8, 10)), 1).unwrap();
    gated(&layer, &Arc::new(Semaphore::new(1))).oneshot(request("alice")).await.unwrap();
    layer.top_flows()[0].flows[0].hash
}

#[tokio::test(start_paused = true)]
async fn each_layer_hashes_flows_under_a_key_of_its_own_unless_as_kubernetes() {
    let known = flow_hash("all", "alice");
    let keyed = [flow_hash_of(Settings::default()).await, flow_hash_of(Settings::default()).await];
    assert!(keyed[0] != keyed[1] && !keyed.contains(&known), "{keyed:?}");
    for settings in [Settings::kubernetes(), Settings::proposal()] {
        assert_eq!(flow_hash_of(settings).await, known);
    }
    let key = FlowHash::Keyed(Some(FlowKey::new([1; 32])));
    let chosen = Settings { flow_hash: key, ..Settings::default() };
    assert_eq!(flow_hash_of(chosen).await, FlowHasher::new(key).hash("all", "alice"));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_of_head_has_no_body_but_its_length() {
    let none = Arc::new(Semaphore::new(0));
    let layer = FairnessLayer::new(one_level(Handling::Reject), 1).unwrap();
    let mut service = gated(&layer, &none);
    let _running = service.ready().await.unwrap().call(request("alice"));
    let rejected = service.clone().oneshot(request("alice")).await.unwrap();
    let length = rejected.into_body().collect().await.unwrap().to_bytes().len();
    let mut head = request("alice");
    *head.method_mut() = http::Method::HEAD;
    let rejected = service.oneshot(head).await.unwrap();
    assert_eq!(rejected.headers().get("content-length").unwrap(), &length.to_string());
    assert!(http_body::Body::is_end_stream(rejected.body()));
}

#[test]
fn a_request_that_waits_in_another_runtime_outlives_the_driver() {
    let none = Arc::new(Semaphore::new(0));
    let layer = one_seat(FairnessLayer::builder().request_timeout(Duration::from_secs(8)));
    let mut service = gated(&layer, &none);
    let [first, second] = [(); 2].map(|()| tokio::runtime::Runtime::new().unwrap());
    let in_first = first.enter();
    let _running = service.call(request("alice"));
    drop(in_first);
    let waiting = second.spawn(service.oneshot(request("bob")));
    second.block_on(until(&layer, (1, 1, 1)));
    drop(first);
    let answer = second.block_on(async {
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it is answered")
    });
    assert_eq!(reason(&answer.unwrap()).1, "time-out");
}
