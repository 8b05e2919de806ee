//! Accepting connections, a bounded number at the same time.
//!
//! Who finds all places taken waits in the listener's queue. Each connection must end by itself: its
//! handler bounds how long it may take.

use std::{sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// How many connections, and how long those that are open may take once the process stops.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    pub connections: usize,
    pub drain: Duration,
}

/// Handles each connection in a task of its own until `stop`.
pub async fn each<F>(
    listener: TcpListener,
    places: Places,
    stop: CancellationToken,
    handle: impl Fn(TcpStream) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let free = Arc::new(Semaphore::new(places.connections));
    let mut connections = JoinSet::new();
    while let Some((stream, place)) = next(&listener, &free, &stop).await {
        let handled = handle(stream);
        connections.spawn(async move {
            handled.await;
            drop(place);
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    // What has not ended by then is cut when the set is dropped.
    let _ = timeout(places.drain, ended).await;
}

/// The next connection and its place; `None` when the process stops.
async fn next(
    listener: &TcpListener,
    free: &Arc<Semaphore>,
    stop: &CancellationToken,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let accepted = async {
        let place = Arc::clone(free).acquire_owned().await.ok()?;
        Some((accept(listener).await, place))
    };
    stop.run_until_cancelled(accepted).await?
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                // Without files left, the next try fails at once as well.
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
