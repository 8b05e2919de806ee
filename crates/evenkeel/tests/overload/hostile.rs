//! Clients that take seats and do nothing with them: streams that are reset, responses that nobody
//! reads, bodies that never come.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use http_body_util::{BodyExt, StreamBody};
use hyper::Response;
use hyper::body::Incoming;
use serde_json::json;
use tokio::time::timeout;

use crate::{
    alone::turn,
    h2::{Body, Http2, whole},
    rig::{metrics, server::Target},
    seats::{Narrow, PATH, SEATS, hostile, never_more_than_configured},
};

/// Of all connections together.
const RESETS: usize = 10_000;
const CONNECTIONS: usize = 20;
/// At once, on each. A connection with more resets that the server has not seen yet is closed.
const STREAMS: usize = 15;
/// How long the default profile keeps the seat of an unread response.
const PATIENCE: Duration = Duration::from_secs(60);
const RESPONSE_HOLD: Duration = Duration::from_secs(10);
/// How long the server waits for the next piece of a body.
const BODY_PAUSE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reset_streams_never_run_more_than_the_level_has_seats() {
    let _turn = turn().await;
    let narrow = Narrow::start("resets", &[]).await;
    let before = narrow.level().await.arrived;
    let resets = async {
        let resets = (0..CONNECTIONS).map(|n| tokio::spawn(reset(narrow.server.target.clone(), n)));
        join_all(resets).await.into_iter().map(Result::unwrap).sum::<usize>()
    };
    let samples = metrics::sample_while(&narrow.server, resets);
    let (n, samples) = timeout(PATIENCE, samples).await.expect("the server answers in time");
    let arrived = narrow.level().await.arrived - before;
    assert!(n >= RESETS, "{n} streams are reset before they are answered");
    // Most are reset before the server has read them.
    assert!(arrived > n as f64 / 10.0, "{arrived} of {n} asked for a seat before their reset");
    never_more_than_configured(&samples);
    narrow.all_seats_are_free().await;
    narrow.others_are_served("after").await;
}

/// This connection's share of the resets. Each stream is reset at another moment; those that are
/// answered before it don't count.
async fn reset(target: Target, connection: usize) -> usize {
    let mut client = Http2::connect(&target, &hostile()).await;
    let (mut sent, mut done) = (0, 0);
    while done < RESETS / CONNECTIONS {
        if !client.is_open() {
            client = Http2::connect(&target, &hostile()).await;
        }
        let streams = sent..sent + STREAMS;
        sent = streams.end;
        let streams: Vec<_> =
            streams.map(|i| timeout(moment(i), stream(&mut client, connection, i))).collect();
        done += join_all(streams).await.iter().filter(|ended| ended.is_err()).count();
    }
    done
}

/// Lists and creates in turn.
fn stream(
    client: &mut Http2,
    connection: usize,
    i: usize,
) -> impl Future<Output = hyper::Result<Response<Incoming>>> + use<> {
    match i % 2 {
        0 => client.request("GET", PATH, whole(String::new())),
        _ => {
            let name = format!("reset-{connection}-{i}");
            let object = json!({"metadata": {"name": name}}).to_string();
            client.request("POST", PATH, whole(object))
        }
    }
}

/// From the time it takes to send to some milliseconds later, each slightly different.
fn moment(i: usize) -> Duration {
    let scattered = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51;
    Duration::from_micros(500 + scattered)
}

#[tokio::test]
async fn a_watch_list_that_nobody_reads_gives_its_seat_back() {
    let narrow = Narrow::start("unread", &[]).await;
    let path = format!(
        "{PATH}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
         &allowWatchBookmarks=true"
    );
    let mut client = Http2::connect_narrow(&narrow.server.target, &hostile()).await;
    let started = Instant::now();
    let unread: Vec<_> =
        (0..SEATS as usize).map(|_| client.request("GET", &path, whole(String::new()))).collect();
    let unread = join_all(unread).await;
    assert!(unread.iter().all(|response| response.as_ref().is_ok_and(|it| it.status() == 200)));
    let held = narrow.level().await;
    assert_eq!(held.seats, SEATS, "they hold all seats: {held:?}");
    // Waits for a seat, as nobody else can free one.
    narrow.others_are_served("waited").await;
    let waited = started.elapsed();
    assert!(waited + Duration::from_secs(1) > RESPONSE_HOLD, "{waited:?}");
    assert!(waited < RESPONSE_HOLD + Duration::from_secs(4), "{waited:?}");
    narrow.all_seats_are_free().await;
    drop(unread);
}

#[tokio::test]
async fn bodies_that_never_come_hold_no_seats_for_long() {
    let narrow = Narrow::start("stalled", &[]).await;
    let mut client = Http2::connect(&narrow.server.target, &hostile()).await;
    let stalled: Vec<_> = (0..2 * SEATS as usize)
        .map(|_| tokio::spawn(client.request("POST", PATH, never())))
        .collect();
    while narrow.level().await.seats < SEATS {
        assert!(stalled.iter().all(|one| !one.is_finished()));
    }
    let started = Instant::now();
    narrow.others_are_served("waited").await;
    let waited = started.elapsed();
    assert!(waited < BODY_PAUSE + Duration::from_secs(4), "{waited:?}");
    for one in stalled {
        one.abort();
    }
    narrow.all_seats_are_free().await;
    narrow.others_are_served("after").await;
}

fn never() -> Body {
    BodyExt::boxed(StreamBody::new(futures_util::stream::pending()))
}
