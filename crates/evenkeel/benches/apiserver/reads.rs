//! Single objects by `wrk`, and lists of 10,000.

use std::time::Instant;

use crate::{
    Failure,
    config_maps::collection,
    load::{
        server::{Folder, Server, runtime},
        table::{Figure, grouped},
    },
    memory::fill,
    wrk,
};

const OBJECTS: usize = 10_000;
const SECONDS: u32 = 8;
const LISTS: usize = 40;

pub(crate) fn run() -> Result<Vec<Figure>, Failure> {
    let folder = Folder::new("reads")?;
    let server = Server::start(&folder)?;
    runtime().block_on(fill(&server, 0..OBJECTS))?;
    let (seconds, bytes) = runtime().block_on(lists(&server))?;
    let names = (0..OBJECTS).step_by(10).map(|n| format!("object-{n:08}"));
    let gets = wrk::gets(&server, &folder, SECONDS, names)?;
    let megabytes = bytes as f64 / 1e6;
    Ok(vec![
        Figure {
            what: "gets/s, 64 connections".into(),
            here: grouped(gets),
            target: "40,000",
            kubernetes: "4,200",
            met: gets >= 40_000.0,
        },
        Figure {
            what: "list of 10,000 ConfigMaps".into(),
            here: format!("{seconds:.4} s ({megabytes:.1} MB)"),
            target: "0.02 s",
            kubernetes: "0.12 s",
            met: seconds <= 0.02,
        },
    ])
}

/// The median of several, and the length of one.
async fn lists(server: &Server) -> Result<(f64, usize), Failure> {
    let mut connection = server.connect().await?;
    let (mut took, mut bytes) = (Vec::new(), 0);
    for _ in 0..LISTS {
        let begun = Instant::now();
        bytes = connection.get(collection()).await?.len();
        took.push(begun.elapsed().as_secs_f64());
    }
    took.sort_by(f64::total_cmp);
    Ok((took[LISTS / 2], bytes))
}
