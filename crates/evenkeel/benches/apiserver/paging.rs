//! Writes beside clients that read a large list one object at a time, and lists for people.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use tokio::task::LocalSet;

use crate::{
    Failure,
    config_maps::{collection, create},
    load::{
        connection::Connection,
        server::{Folder, Server, runtime},
        table::Figure,
    },
    memory::{fill, resident},
};

const OBJECTS: usize = 20_000;
const CLIENTS: usize = 8;
const TIME: Duration = Duration::from_secs(5);

thread_local! {
    /// How long each page took, in milliseconds.
    static PAGES: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn run() -> Result<Vec<Figure>, Failure> {
    let folder = Folder::new("paging")?;
    let server = Server::start(&folder)?;
    runtime().block_on(fill(&server, 0..OBJECTS))?;
    let (_, alone) = middle_and_late(runtime().block_on(writes(&server, "alone"))?);
    let beside = LocalSet::new().block_on(&runtime(), beside_pages(&server))?;
    let (_, beside) = middle_and_late(beside);
    let (page, _) = middle_and_late(PAGES.take());
    let (first, grown) = runtime().block_on(pretty(&server))?;
    Ok(vec![
        Figure {
            what: "20,000 objects, 8 clients with limit=1: page, median".into(),
            here: format!("{page:.1} ms"),
            target: "10 ms",
            kubernetes: "",
            met: page < 10.0,
        },
        Figure {
            what: "… write beside them, p99 (alone)".into(),
            here: format!("{beside:.1} ms ({alone:.1} ms)"),
            target: "20 ms",
            kubernetes: "",
            met: beside < 20.0,
        },
        Figure {
            what: "… the list indented, first byte".into(),
            here: format!("{first:.0} ms"),
            target: "50 ms",
            kubernetes: "",
            met: first < 50.0,
        },
        Figure {
            what: "… memory it takes".into(),
            here: format!("{grown:.0} MB"),
            target: "16 MB",
            kubernetes: "",
            met: grown < 16.0,
        },
    ])
}

/// How long each write takes, one after the other.
async fn writes(server: &Server, name: &str) -> Result<Vec<f64>, Failure> {
    let mut connection = server.connect().await?;
    let (begun, mut took) = (Instant::now(), Vec::new());
    while begun.elapsed() < TIME {
        let sent = Instant::now();
        connection.answer(&create(&format!("{name}-{:06}", took.len()), "")).await?;
        took.push(sent.elapsed().as_secs_f64() * 1e3);
    }
    Ok(took)
}

async fn beside_pages(server: &Server) -> Result<Vec<f64>, Failure> {
    let mut readers = Vec::new();
    for _ in 0..CLIENTS {
        readers.push(tokio::task::spawn_local(pages(server.connect().await?)));
    }
    let took = writes(server, "beside").await;
    readers.iter().for_each(tokio::task::JoinHandle::abort);
    took
}

/// Follows the list from page to page, and begins again at its end.
async fn pages(mut connection: Connection) -> Result<(), Failure> {
    let mut continued = String::new();
    loop {
        let path = format!("{}?limit=1{continued}", collection());
        let sent = Instant::now();
        let page = connection.get(&path).await?;
        PAGES.with_borrow_mut(|pages| pages.push(sent.elapsed().as_secs_f64() * 1e3));
        let page = std::str::from_utf8(page)?;
        let token = page.split_once("\"continue\":\"").and_then(|(_, rest)| rest.split_once('"'));
        continued = token.map(|(token, _)| format!("&continue={token}")).unwrap_or_default();
    }
}

/// Milliseconds to the first byte of the whole list, and megabytes more when it was read.
async fn pretty(server: &Server) -> Result<(f64, f64), Failure> {
    let before = resident(server)?;
    let mut connection = server.connect().await?;
    let sent = Instant::now();
    connection.stream(&format!("{}?pretty=true", collection())).await?;
    let first = sent.elapsed().as_secs_f64() * 1e3;
    let mut read = 0;
    while read < OBJECTS * 1000 {
        connection.more(|line| read += line.len()).await?;
    }
    Ok((first, (resident(server)? - before) / 1e6))
}

fn middle_and_late(mut took: Vec<f64>) -> (f64, f64) {
    took.sort_by(f64::total_cmp);
    let at = |part: usize| took.get(took.len() * part / 100).copied().unwrap_or(f64::NAN);
    (at(50), at(99))
}
