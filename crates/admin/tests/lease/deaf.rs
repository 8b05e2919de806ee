//! An API server that makes the Lease and then never answers again, in virtual time.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use evenkeel_admin::lease::{self, Settings};
use http::{Request, Response};
use kube::{Client, client::Body};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

const LEASE: &str = r#"{
  "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
  "metadata": {"name": "election", "namespace": "kube-system", "resourceVersion": "1"},
  "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}
}"#;
const NOT_FOUND: &str = r#"{
  "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404
}"#;

fn client() -> Client {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let answer = |_: Request<Body>| async {
        let (code, text) = match ASKED.fetch_add(1, Ordering::Relaxed) {
            0 => (404, NOT_FOUND),
            1 => (201, LEASE),
            _ => std::future::pending().await,
        };
        let body = Body::from(text.as_bytes().to_vec());
        Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
    };
    Client::new(tower::service_fn(answer), "default")
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_hears_nothing_stands_down_in_time_and_stops_in_time() {
    let (tell, mut leads) = watch::channel(false);
    let stop = CancellationToken::new();
    let settings = Settings::new("kube-system", "election", "me");
    let begin = Instant::now();
    let task = tokio::spawn(lease::run(client(), settings, tell, stop.clone()));
    leads.wait_for(|leads| *leads).await.unwrap();
    assert!(begin.elapsed() < Duration::from_millis(100));

    leads.wait_for(|leads| !*leads).await.unwrap();
    let led = begin.elapsed();
    let (least, most) = (Duration::from_millis(9_900), Duration::from_millis(10_050));
    assert!(least < led && led < most, "stood down after {led:?}");

    // The Lease may be ours still, and nobody says so: half a deadline is all it gets.
    let stopped = Instant::now();
    stop.cancel();
    timeout(Duration::from_secs(60), task).await.unwrap().unwrap();
    assert!(stopped.elapsed() < Duration::from_millis(5_050), "{:?}", stopped.elapsed());
}
