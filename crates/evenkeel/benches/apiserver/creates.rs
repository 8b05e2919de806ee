//! Durable creates: over one connection, and over 64.

use std::time::{Duration, Instant};

use crate::{
    Failure,
    config_maps::create,
    load::{
        server::{Folder, Server, runtime},
        table::{Figure, grouped},
    },
    wrk,
};

const SECONDS: u32 = 8;

pub(crate) fn run() -> Result<Vec<Figure>, Failure> {
    let folder = Folder::new("creates")?;
    let server = Server::start(&folder)?;
    let one = runtime().block_on(alone(&server))?;
    let many = wrk::creates(&server, &folder, SECONDS)?;
    Ok(vec![
        Figure {
            what: "durable creates/s, 64 connections".into(),
            here: grouped(many),
            target: "10,000",
            kubernetes: "2,000",
            met: many >= 10_000.0,
        },
        Figure {
            what: "durable creates/s, one connection".into(),
            here: grouped(one),
            target: "1,500",
            kubernetes: "650",
            met: one >= 1_500.0,
        },
    ])
}

async fn alone(server: &Server) -> Result<f64, Failure> {
    let mut connection = server.connect().await?;
    let begun = Instant::now();
    let mut made = 0_u32;
    while begun.elapsed() < Duration::from_secs(4) {
        connection.answer(&create(&format!("alone-{made:08}"), "")).await?;
        made += 1;
    }
    Ok(f64::from(made) / begun.elapsed().as_secs_f64())
}
