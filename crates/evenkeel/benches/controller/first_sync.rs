//! From the start of a controller until every Service has its slices.

use std::time::{Duration, Instant};

use crate::{
    controller::Controller,
    load::{
        Failure,
        server::{Folder, Server},
    },
    usage::Usage,
    watch::{OURS, Watch, until},
};

const PATIENCE: Duration = Duration::from_secs(120);
/// With no write for so long, the controller is done.
const QUIET: Duration = Duration::from_millis(1500);

pub(crate) struct FirstSync {
    pub(crate) controller: Controller,
    /// Seconds until the last slice was there, and until the last write of any kind.
    pub(crate) slices: f64,
    pub(crate) quiet: f64,
    /// When it was done.
    pub(crate) usage: Usage,
    /// CPU seconds of the API server meanwhile.
    pub(crate) server: f64,
    /// Changes of Services.
    pub(crate) conditions: usize,
}

pub(crate) async fn run(
    server: &Server,
    folder: &Folder,
    n_slices: usize,
    conditions: bool,
) -> Result<FirstSync, Failure> {
    let path = format!("/apis/discovery.k8s.io/v1/endpointslices?watch=1&{OURS}");
    let (_slices, slices) = Watch::count(server, &path, &["ADDED"]).await?;
    let (_services, services) =
        Watch::count(server, "/api/v1/services?watch=1", &["MODIFIED"]).await?;
    let before = Usage::of(server.id())?.cpu;
    let controller = Controller::start(folder, conditions)?;
    until("slices for all", PATIENCE, || slices.number() >= n_slices).await?;
    let last = || slices.last().max(services.last());
    until("quiet", PATIENCE, || last() + QUIET < Instant::now()).await?;
    if slices.number() != n_slices {
        return Err(format!("{} slices instead of {n_slices}", slices.number()).into());
    }
    Ok(FirstSync {
        slices: (slices.last() - controller.begun).as_secs_f64(),
        quiet: (last() - controller.begun).as_secs_f64(),
        usage: controller.usage()?,
        server: Usage::of(server.id())?.cpu - before,
        conditions: services.number(),
        controller,
    })
}
