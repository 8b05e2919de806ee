//! How long a change takes to each of a thousand watchers.

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use tokio::{task::LocalSet, time::interval};

use crate::{
    Failure,
    config_maps::{collection, create},
    load::{
        connection::Connection,
        server::{Folder, Server, runtime},
        table::Figure,
    },
};

const WATCHERS: usize = 1_000;
const CHANGES: usize = 80;
const BETWEEN: Duration = Duration::from_millis(100);

thread_local! {
    /// The delay of each change at each watcher, in milliseconds.
    static DELAYS: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

pub(crate) fn run() -> Result<Vec<Figure>, Failure> {
    let folder = Folder::new("watchers")?;
    let server = Server::start(&folder)?;
    let begun = Instant::now();
    LocalSet::new().block_on(&runtime(), changes(&server, begun))?;
    let mut delays = DELAYS.take();
    delays.sort_by(f64::total_cmp);
    if delays.len() != WATCHERS * CHANGES {
        return Err(format!("{} of {} changes came", delays.len(), WATCHERS * CHANGES).into());
    }
    let (median, late) = (delays[delays.len() / 2], delays[delays.len() * 99 / 100]);
    Ok(vec![Figure {
        what: "1,000 watchers, 10 changes/s: p99 (median)".into(),
        here: format!("{late:.1} ms ({median:.1} ms)"),
        target: "50 ms",
        kubernetes: "",
        met: late < 50.0,
    }])
}

/// Each change carries the time at which it was sent.
async fn changes(server: &Server, begun: Instant) -> Result<(), Failure> {
    let path = format!("{}?watch=1", collection());
    for _ in 0..WATCHERS {
        let mut connection = server.connect().await?;
        connection.stream(&path).await?;
        tokio::task::spawn_local(watch(connection, begun));
    }
    let mut connection = server.connect().await?;
    let mut ticks = interval(BETWEEN);
    for n in 0..CHANGES {
        ticks.tick().await;
        let sent = begun.elapsed().as_micros();
        connection.answer(&create(&format!("change-{n:04}"), &format!("sent={sent:012}="))).await?;
    }
    let enough = Instant::now() + Duration::from_secs(5);
    while DELAYS.with_borrow(Vec::len) < WATCHERS * CHANGES && Instant::now() < enough {
        ticks.tick().await;
    }
    Ok(())
}

async fn watch(mut connection: Connection, begun: Instant) {
    let note = |line: &[u8]| {
        if let Some(sent) = sent(line) {
            let delay = begun.elapsed().saturating_sub(sent);
            DELAYS.with_borrow_mut(|delays| delays.push(delay.as_secs_f64() * 1e3));
        }
    };
    while connection.more(note).await.is_ok() {}
}

fn sent(line: &[u8]) -> Option<Duration> {
    let at = line.windows(5).position(|five| five == b"sent=")? + 5;
    let digits = std::str::from_utf8(line.get(at..at + 12)?).ok()?;
    digits.parse().ok().map(Duration::from_micros)
}
