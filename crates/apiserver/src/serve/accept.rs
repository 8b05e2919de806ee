//! The accept loop, and its shutdown.

use std::{io, sync::Arc, time::Duration};

use rustix::io::Errno;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{Answers, Limits, connection::Server};

/// How many connections are evicted when the system runs out of files.
const CUT_FOR_FILES: usize = 8;

/// Pause between attempts while the system is out of resources, such as files.
const LEAST_PAUSE: Duration = Duration::from_millis(5);
const MOST_PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run<S: Answers>(listener: TcpListener, server: Arc<Server<S>>) -> usize {
    let mut connections = JoinSet::new();
    tokio::select! {
        never = accept(&listener, &server, &mut connections) => match never {},
        () = server.connections.close_idle() => {}
        () = unready(&server) => {}
    }
    // From here on the system refuses connections.
    drop(listener);
    finish(&server, connections).await
}

/// Readiness fails for a while before connections are refused.
async fn unready<S>(server: &Server<S>) {
    server.stop.stopping().await;
    tracing::info!(in_flight = server.stop.in_flight().requests(), "shutting down");
    sleep(server.limits.unready).await;
}

enum Never {}

async fn accept<S: Answers>(
    listener: &TcpListener,
    server: &Arc<Server<S>>,
    connections: &mut JoinSet<()>,
) -> Never {
    let mut pause = LEAST_PAUSE;
    loop {
        // Removes finished tasks, so that the set does not grow.
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, address)) => {
                pause = LEAST_PAUSE;
                let guard = server.connections.admit().await;
                let server = Arc::clone(server);
                connections.spawn(async move { server.connection(stream, address, guard).await });
            }
            Err(error) if is_of_one_peer(&error) => {}
            Err(error) => {
                let evicted = if is_exhausted(&error) { make_room(server) } else { 0 };
                pause = if evicted > 0 { LEAST_PAUSE } else { pause };
                tracing::warn!(%error, evicted, "accepting a connection failed, retrying in {pause:?}");
                sleep(pause).await;
                pause = (pause * 2).min(MOST_PAUSE);
            }
        }
    }
}

/// This peer is already gone; the next one may be fine.
fn is_of_one_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// The process or the system can't open another file.
fn is_exhausted(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// Evicts idle connections, to free files for others and for the journal. Returns how many.
fn make_room<S>(server: &Server<S>) -> usize {
    (0..CUT_FOR_FILES).take_while(|_| server.connections.evict()).count()
}

async fn finish<S: Answers>(server: &Server<S>, mut connections: JoinSet<()>) -> usize {
    let Limits { drain, close, .. } = server.limits;
    server.closing.cancel();
    if timeout(drain, server.stop.in_flight().drained()).await.is_err() {
        let in_flight = server.stop.in_flight().requests();
        tracing::warn!(
            in_flight,
            waited_s = drain.as_secs(),
            "timed out waiting for requests to finish"
        );
    }
    server.stop.end_watches();
    let all_closed = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(close, all_closed).await;
    let cut = connections.len();
    if cut > 0 {
        tracing::warn!(connections = cut, "aborting open connections");
    }
    connections.shutdown().await;
    cut
}

/// Sends an error to a client without TLS, as Go's servers do. `false` if it speaks TLS.
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
