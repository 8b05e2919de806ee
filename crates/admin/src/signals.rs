//! The signals that end a process: once to stop in order, twice to stop at once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM, from the moment this is made.
#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Must be called within a runtime of tokio.
    pub fn new() -> io::Result<Signals> {
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Signals { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }

    /// Returns with the first signal, after `tell`; from then on the second ends the process.
    pub async fn first(mut self, tell: impl FnOnce()) {
        self.next().await;
        tell();
        tokio::spawn(async move {
            let code = self.next().await;
            std::process::exit(code);
        });
    }

    /// The exit code that tells of the next signal.
    async fn next(&mut self) -> i32 {
        let Signals { interrupt, terminate } = self;
        tokio::select! {
            _ = interrupt.recv() => 130,
            _ = terminate.recv() => 143,
        }
    }
}
