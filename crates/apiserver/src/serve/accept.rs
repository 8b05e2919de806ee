//! The loop that accepts, and the end of it.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{Answers, Limits, connection::Server};

/// Between two attempts when the system has no more to give, as when all files are in use.
const LEAST_PAUSE: Duration = Duration::from_millis(5);
const MOST_PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run<S: Answers>(listener: TcpListener, server: Arc<Server<S>>) -> usize {
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(server.limits.connections));
    tokio::select! {
        never = accept(&listener, &server, &places, &mut connections) => match never {},
        () = unready(&server) => {}
    }
    // From here on the system refuses connections.
    drop(listener);
    finish(&server, connections).await
}

/// Readiness fails for a while before connections do.
async fn unready<S>(server: &Server<S>) {
    server.stop.stopping().await;
    tracing::info!(in_flight = server.stop.in_flight().requests(), "stopping");
    sleep(server.limits.unready).await;
}

enum Never {}

async fn accept<S: Answers>(
    listener: &TcpListener,
    server: &Arc<Server<S>>,
    places: &Arc<Semaphore>,
    connections: &mut JoinSet<()>,
) -> Never {
    let mut pause = LEAST_PAUSE;
    loop {
        let place =
            Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
        // What has ended is let go of here, so that the set does not grow.
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, address)) => {
                pause = LEAST_PAUSE;
                let server = Arc::clone(server);
                connections.spawn(async move {
                    let _place = place;
                    server.connection(stream, address).await;
                });
            }
            Err(error) if is_of_one_peer(&error) => {}
            Err(error) => {
                tracing::warn!(%error, pause_ms = pause.as_millis(), "can't accept a connection");
                sleep(pause).await;
                pause = (pause * 2).min(MOST_PAUSE);
            }
        }
    }
}

/// The peer is gone already; the next one may be well.
fn is_of_one_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn finish<S: Answers>(server: &Server<S>, mut connections: JoinSet<()>) -> usize {
    let Limits { drain, close, .. } = server.limits;
    server.closing.cancel();
    if timeout(drain, server.stop.in_flight().drained()).await.is_err() {
        let in_flight = server.stop.in_flight().requests();
        tracing::warn!(in_flight, waited_s = drain.as_secs(), "requests did not finish in time");
    }
    server.stop.end_watches();
    let all_closed = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(close, all_closed).await;
    let cut = connections.len();
    if cut > 0 {
        tracing::warn!(connections = cut, "connections are cut");
    }
    connections.shutdown().await;
    cut
}

/// Tells a client without TLS what is wrong, as Go's servers do. `false` if it speaks TLS.
pub(super) async fn is_plain_http(stream: &mut TcpStream) -> io::Result<bool> {
    use tokio::io::AsyncWriteExt;

    const ANSWER: &[u8] =
        b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    const TLS_HANDSHAKE: u8 = 22;
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 || first[0] == TLS_HANDSHAKE {
        return Ok(false);
    }
    if first[0].is_ascii_alphabetic() {
        stream.write_all(ANSWER).await?;
    }
    stream.shutdown().await?;
    Ok(true)
}
