//! One Service over many Pods: from its creation until all its slices are there.

use std::time::{Duration, Instant};

use crate::{
    Found,
    cluster::{SERVICES, create_nodes, create_pods, create_service},
    controller::Controller,
    load::{
        Failure,
        connection::request,
        server::{Folder, Server},
        table::{Figure, grouped},
    },
    watch::{OURS, Watch, until},
};

const ROUNDS: usize = 15;
const PER_SLICE: usize = 100;
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn run(
    server: &Server,
    folder: &Folder,
    n_pods: usize,
    milliseconds: Option<f64>,
) -> Result<Found, Failure> {
    create_nodes(server).await?;
    create_pods(server, n_pods, |_| 0).await?;
    let mut controller = Controller::start(folder, false)?;
    controller.ready().await?;
    let mut took = Vec::new();
    for round in 0..ROUNDS {
        took.push(one(server, n_pods.div_ceil(PER_SLICE), round).await?);
    }
    took.sort_by(f64::total_cmp);
    let (median, most) = (took[ROUNDS / 2], took[ROUNDS - 1]);
    let figure = Figure {
        what: format!("1 x {}: Service created to all slices, p50 (most)", grouped(n_pods as f64)),
        here: format!("{median:.1} ms ({most:.1} ms)"),
        target: if milliseconds.is_some() { "20 ms" } else { "" },
        kubernetes: if milliseconds.is_some() { "103 ms" } else { "" },
        met: milliseconds.is_none_or(|target| median <= target),
    };
    Ok(Found { figures: vec![figure], ..Found::default() })
}

/// In milliseconds, from the API server's answer on.
async fn one(server: &Server, n_slices: usize, round: usize) -> Result<f64, Failure> {
    let path = format!("/apis/discovery.k8s.io/v1/endpointslices?watch=1&{OURS}");
    let (_added, added) = Watch::count(server, &path, &["ADDED"]).await?;
    let (_deleted, deleted) = Watch::count(server, &path, &["DELETED"]).await?;
    let mut connection = server.connect().await?;
    let name = format!("service-{round}");
    create_service(&mut connection, &name, 0, true).await?;
    let begun = Instant::now();
    until("all slices", PATIENCE, || added.number() >= n_slices).await?;
    let took = added.last().saturating_duration_since(begun).as_secs_f64() * 1e3;
    let delete = request("DELETE", &format!("{SERVICES}/{name}"), "application/json", "");
    connection.answer(&delete).await?;
    until("no slices", PATIENCE, || deleted.number() >= n_slices).await?;
    Ok(took)
}
