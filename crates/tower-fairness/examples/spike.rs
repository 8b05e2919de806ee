//! A twelvefold spike of low-priority requests against an axum server, over real sockets, for a
//! minute: `cargo xtask load spike`. Fails unless, after two adjustment periods of the spike, at
//! least 99.9 % of the critical requests are served while at least 95 % of the seats are in use.

#![expect(clippy::print_stdout, reason = "a command line tool")]

#[expect(dead_code, reason = "the scenarios use all of it")]
#[path = "../tests/scenarios/clients.rs"]
mod clients;

use std::{
    error::Error,
    net::SocketAddr,
    process::ExitCode,
    time::{Duration, Instant},
};

use axum::{Router, extract::Request, middleware, routing::any};
use tokio::net::TcpListener;
use tower_fairness::{
    FairnessLayer, User,
    evenkeel_fairness::{dialect, dispatcher::ADJUSTMENT_PERIOD},
};

use crate::clients::{Caller, Load, Tally, run};

const SEATS: u32 = 40;
const SERVICE: Duration = Duration::from_millis(20);
/// How long it is calm, then how long the spike lasts, of which two adjustments are not counted.
const CALM: Duration = Duration::from_secs(10);
const SPIKE: Duration = Duration::from_secs(50);
const BULK: usize = 20;

const CONFIG: &str = "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: critical}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 50
    lendablePercent: 90
    limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 50}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: bulk}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 50
    lendablePercent: 90
    limitResponse: {type: Queue, queuing: {queues: 64, handSize: 6, queueLengthLimit: 10}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: critical}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: critical}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: critical}}]
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: bulk}
spec:
  matchingPrecedence: 9000
  priorityLevelConfiguration: {name: bulk}
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: '*'}}]
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]
";

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let compiled = dialect::load("spike.yaml", CONFIG).compile();
    let config = compiled.map_err(|problems| problems[0].to_string())?.config;
    let layer = FairnessLayer::new(config, SEATS)?;
    let address = serve(layer.clone()).await?;
    println!("{SEATS} seats, requests of {SERVICE:?}, {BULK} connections with bulk requests");
    run(address, vec![load(BULK)], critical(), CALM).await;
    println!("a spike: {} connections", 12 * BULK);
    let unsettled = 2 * ADJUSTMENT_PERIOD;
    run(address, vec![load(12 * BULK)], critical(), unsettled).await;
    let measured = SPIKE - unsettled;
    let (outcome, in_use) = tokio::join!(
        run(address, vec![load(12 * BULK)], critical(), measured),
        seats_in_use(layer, measured)
    );
    Ok(report(&outcome.innocent, &outcome.loads[0], in_use))
}

async fn serve(layer: FairnessLayer) -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Router::new()
        .fallback(any(|| tokio::time::sleep(SERVICE)))
        .layer(layer)
        .layer(middleware::map_request(authenticate));
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(address)
}

async fn authenticate(mut request: Request) -> Request {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let name = header("x-user").unwrap_or_default().to_owned();
    let groups = vec![header("x-groups").unwrap_or_default().to_owned()];
    request.extensions_mut().insert(User { name, groups });
    request
}

/// Connections of many users that send one request after another.
fn load(connections: usize) -> Load {
    let user = |n| Caller::new(&format!("bulk-{n}"), &["bulk"]);
    Load::among((0..connections).map(user).collect())
}

fn critical() -> Vec<Caller> {
    (0..10).map(|n| Caller::new(&format!("operator-{n}"), &["critical"])).collect()
}

/// The part of the seats that is in use, over time.
async fn seats_in_use(layer: FairnessLayer, time: Duration) -> f64 {
    let end = Instant::now() + time;
    let (mut samples, mut used) = (0_u64, 0.0);
    let mut ticks = tokio::time::interval(Duration::from_millis(7));
    while Instant::now() < end {
        ticks.tick().await;
        let levels = layer.dispatcher().levels();
        let seats: u64 =
            levels.iter().map(|level| level.view(|view| view.set.seats_in_use())).sum();
        used += (seats as f64 / f64::from(SEATS)).min(1.0);
        samples += 1;
    }
    used / samples as f64
}

fn report(critical: &[Tally], bulk: &Tally, in_use: f64) -> ExitCode {
    let served: usize = critical.iter().map(Tally::served).sum();
    let failed: usize = critical.iter().map(Tally::failed).sum();
    let share = served as f64 / (served + failed).max(1) as f64;
    let slowest = critical.iter().map(Tally::median).max().unwrap_or_default();
    println!("critical: {served} served, {failed} not: {:.3} %, median {slowest:?}", share * 100.0);
    println!("bulk: {} served, {} not, median {:?}", bulk.served(), bulk.failed(), bulk.median());
    println!("seats in use: {:.1} %", in_use * 100.0);
    match share >= 0.999 && in_use >= 0.95 && served > 1000 {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
