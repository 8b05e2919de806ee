//! What objects cost in memory, and how long a start with them takes.

use std::{fs, time::Instant};

use crate::{
    Failure,
    config_maps::{collection, create},
    load::{
        server::{Folder, Server, runtime},
        table::{Figure, grouped},
    },
};

const SOME: usize = 20_000;
const MANY: usize = 100_000;
const CONNECTIONS: usize = 64;
const STARTS: usize = 5;

pub(crate) fn run() -> Result<Vec<Figure>, Failure> {
    let folder = Folder::new("memory")?;
    let server = Server::start(&folder)?;
    let empty = resident(&server)?;
    runtime().block_on(fill(&server, 0..SOME))?;
    let some = resident(&server)? / 1e6;
    drop(server);
    let (server, ready) = started(&folder)?;
    runtime().block_on(fill(&server, SOME..MANY))?;
    let json = runtime().block_on(json(&server))?;
    let each = (resident(&server)? - empty - json) / MANY as f64;
    Ok(vec![
        Figure {
            what: "memory, 20,000 ConfigMaps".into(),
            here: format!("{some:.0} MB"),
            target: "60 MB",
            kubernetes: "610 MB",
            met: some <= 60.0,
        },
        Figure {
            what: "memory an object above its JSON, 100,000".into(),
            here: format!("{} B", grouped(each)),
            target: "1,024 B",
            kubernetes: "",
            met: each <= 1024.0,
        },
        Figure {
            what: "ready with 20,000 objects".into(),
            here: format!("{ready:.0} ms"),
            target: "200 ms",
            kubernetes: "",
            met: ready < 200.0,
        },
    ])
}

/// Started again, several times; the last server, and the median until it was ready.
fn started(folder: &Folder) -> Result<(Server, f64), Failure> {
    let mut took = Vec::new();
    loop {
        let begun = Instant::now();
        let server = Server::start(folder)?;
        took.push(begun.elapsed().as_secs_f64() * 1e3);
        if took.len() == STARTS {
            took.sort_by(f64::total_cmp);
            return Ok((server, took[STARTS / 2]));
        }
    }
}

/// What of the process is in memory, in bytes.
pub(crate) fn resident(server: &Server) -> Result<f64, Failure> {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
    Ok(kilobytes.parse::<f64>()? * 1024.0)
}

/// Creates over several connections.
pub(crate) async fn fill(server: &Server, range: std::ops::Range<usize>) -> Result<(), Failure> {
    let shares = (0..CONNECTIONS).map(|share| {
        let mine = (range.start + share..range.end).step_by(CONNECTIONS);
        async move {
            let mut connection = server.connect().await?;
            for n in mine {
                connection.answer(&create(&format!("object-{n:08}"), "")).await?;
            }
            Ok::<(), Failure>(())
        }
    });
    futures_util::future::try_join_all(shares).await.map(|_| ())
}

/// Bytes of all objects in a list. Read in pages, so that no answer swells the server.
async fn json(server: &Server) -> Result<f64, Failure> {
    let page = 500;
    let mut connection = server.connect().await?;
    let path = format!("{}?limit={page}", collection());
    let length = connection.get(&path).await?.len();
    Ok(length as f64 / page as f64 * MANY as f64)
}
