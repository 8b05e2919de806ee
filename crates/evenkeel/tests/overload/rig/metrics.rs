//! What the server says of its seats: metrics and dumps of the same moment, as far as two requests
//! can be.

use std::{collections::BTreeMap, time::Duration};

use tokio::{sync::oneshot, time::timeout};

use super::{client::Client, server::Server};

/// Often enough to meet every phase of a load, seldom enough not to be one.
const BETWEEN_SAMPLES: Duration = Duration::from_millis(50);

/// One priority level.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Level {
    pub(crate) limit: f64,
    pub(crate) executing: f64,
    pub(crate) seats: f64,
    pub(crate) waiting: f64,
    /// Dispatched or rejected, since the server started.
    pub(crate) arrived: f64,
    /// Rows of `dump_requests` with a start.
    pub(crate) dumped: usize,
    /// Since the server started, how long more seats were in use than the nominal limit, in
    /// nanoseconds.
    pub(crate) over_nominal: f64,
}

pub(crate) type Levels = BTreeMap<String, Level>;

pub(crate) async fn levels(client: &mut Client) -> Levels {
    let mut levels = Levels::new();
    let metrics = client.get("/metrics").await.text();
    for line in metrics.lines().filter_map(|line| line.strip_prefix("apiserver_flowcontrol_")) {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let Some(name) = label(series, "priority_level") else { continue };
        let level = levels.entry(name.to_owned()).or_default();
        level.add(series, value.parse().unwrap());
    }
    let dump = client.get("/debug/api_priority_and_fairness/dump_requests").await.text();
    for row in dump.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        // A request that waits has no start.
        if cells.last().is_some_and(|start| !start.starts_with("0001-01-01")) {
            levels.entry(cells[0].to_owned()).or_default().dumped += 1;
        }
    }
    levels
}

/// Samples in a task of its own while something else happens, and once more.
pub(crate) async fn sample_while<T>(
    server: &Server,
    other: impl Future<Output = T>,
) -> (T, Vec<Levels>) {
    let (stop, mut stopped) = oneshot::channel();
    let mut client = server.admin().await;
    let sampler = tokio::spawn(async move {
        let mut samples = Vec::new();
        loop {
            let ended = timeout(BETWEEN_SAMPLES, &mut stopped).await.is_ok();
            samples.push(levels(&mut client).await);
            if ended {
                return samples;
            }
        }
    });
    let result = other.await;
    let _ = stop.send(());
    (result, sampler.await.unwrap())
}

impl Level {
    fn add(&mut self, series: &str, value: f64) {
        let name = series.split('{').next().unwrap_or_default();
        match (name, label(series, "le")) {
            ("current_limit_seats", _) => self.limit = value,
            ("current_executing_requests", _) => self.executing += value,
            ("current_executing_seats", _) => self.seats += value,
            ("dispatched_requests_total" | "rejected_requests_total", _) => self.arrived += value,
            ("current_inqueue_requests", _) => self.waiting += value,
            ("priority_level_seat_utilization_bucket", Some("1.0")) => self.over_nominal -= value,
            ("priority_level_seat_utilization_bucket", Some("+Inf")) => self.over_nominal += value,
            _ => {}
        }
    }
}

fn label<'s>(series: &'s str, name: &str) -> Option<&'s str> {
    let labels = series.split_once('{')?.1.trim_end_matches('}');
    labels
        .split(',')
        .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
        .map(|(_, value)| value.trim_matches('"'))
}
