//! Pods that become ready and unready, a hundred a second: how long until their slices say so, and
//! what the controller uses for it.

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use crate::{
    cluster::{address, set_ready},
    controller::Controller,
    load::{Failure, server::Server},
    usage::running,
    watch::{OURS, Watch, until},
};

const SLICES: &str = "/apis/discovery.k8s.io/v1/endpointslices";
const CHANGES: usize = 1_000;
const PER_SECOND: usize = 100;
const CONNECTIONS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Churn {
    /// From the API server's answer to the watch of slices, in milliseconds.
    pub(crate) median: f64,
    pub(crate) late: f64,
    /// CPU of the controller for one change, in milliseconds.
    pub(crate) cost: f64,
}

/// One change, by its Pod's address: when the API server had it, and when its slice was seen.
#[derive(Default)]
struct Change {
    ready: bool,
    answered: Option<Instant>,
    seen: Option<Instant>,
}

type Changes = Rc<RefCell<HashMap<String, Change>>>;

/// Changes go round the Services; all Pods are ready before and after.
pub(crate) async fn run(
    server: &Server,
    controller: &Controller,
    n_pods: usize,
) -> Result<Churn, Failure> {
    let changes = Changes::default();
    let noted = Rc::clone(&changes);
    let path = format!("{SLICES}?watch=1&{OURS}&resourceVersion={}", revision(server).await?);
    let _watch = Watch::start(server, &path, move |line| note(&noted, line)).await?;
    let (mut delays, mut used) = (Vec::new(), 0.0);
    for ready in [false, true] {
        let number = (CHANGES / 2).min(n_pods);
        let before = running(controller.id())?;
        write(server, &changes, number, ready).await?;
        let all_seen = || changes.borrow().values().all(|change| change.seen.is_some());
        until("slices of changed Pods", PATIENCE, all_seen).await?;
        used += running(controller.id())? - before;
        delays.extend(changes.borrow_mut().drain().filter_map(|(_, change)| {
            let delay = change.seen?.saturating_duration_since(change.answered?);
            Some(delay.as_secs_f64() * 1e3)
        }));
    }
    delays.sort_by(f64::total_cmp);
    Ok(Churn {
        median: delays[delays.len() / 2],
        late: delays[delays.len() * 99 / 100],
        cost: used * 1e3 / delays.len() as f64,
    })
}

/// A watch from here on has changes only. Without, it begins with every slice there is, and the
/// first changes are seen when all of these were read.
async fn revision(server: &Server) -> Result<String, Failure> {
    let mut connection = server.connect().await?;
    let list: Value = serde_json::from_slice(connection.get(&format!("{SLICES}?limit=1")).await?)?;
    let revision = list["metadata"]["resourceVersion"].as_str();
    Ok(revision.ok_or("a list without a resourceVersion")?.to_owned())
}

async fn write(
    server: &Server,
    changes: &Changes,
    number: usize,
    ready: bool,
) -> Result<(), Failure> {
    let begun = tokio::time::Instant::now();
    let shares = (0..CONNECTIONS).map(|share| async move {
        let mut connection = server.connect().await?;
        let between = Duration::from_secs(1) / PER_SECOND as u32;
        sleep_until(begun + between * share as u32).await;
        let mut ticks = interval(between * CONNECTIONS as u32);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for pod in (share..number).step_by(CONNECTIONS) {
            ticks.tick().await;
            changes.borrow_mut().insert(address(pod), Change { ready, ..Change::default() });
            set_ready(&mut connection, pod, ready).await?;
            if let Some(change) = changes.borrow_mut().get_mut(&address(pod)) {
                change.answered = Some(Instant::now());
            }
        }
        Ok::<(), Failure>(())
    });
    futures_util::future::try_join_all(shares).await.map(drop)
}

/// Notes the Pods whose change is in the slice.
fn note(changes: &Changes, line: &[u8]) {
    let (now, mut changes) = (Instant::now(), changes.borrow_mut());
    // What is no object is the length of a piece.
    let Ok(event) = serde_json::from_slice::<Value>(line) else { return };
    let endpoints = event["object"]["endpoints"].as_array();
    for endpoint in endpoints.into_iter().flatten() {
        let address = endpoint["addresses"][0].as_str().unwrap_or_default();
        let is_ready = endpoint["conditions"]["ready"] == Value::Bool(true);
        if let Some(change) = changes.get_mut(address)
            && change.seen.is_none()
            && change.ready == is_ready
        {
            change.seen = Some(now);
        }
    }
}
