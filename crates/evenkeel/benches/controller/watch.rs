//! Watches that note what comes and when.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use tokio::task::AbortHandle;

use crate::load::{Failure, server::Server};

/// Slices of this controller, in the query of a path.
pub(crate) const OURS: &str = "labelSelector=endpointslice.kubernetes.io%2Fmanaged-by%3Dendpointslice-controller.evenkeel.dev";

/// Ends when dropped.
pub(crate) struct Watch(AbortHandle);

/// How much a watch has shown, and when the last of it came.
#[derive(Clone)]
pub(crate) struct Count(Rc<Cell<(usize, Instant)>>);

impl Watch {
    /// Shows `each` line of the watch at `path`, from now on.
    pub(crate) async fn start(
        server: &Server,
        path: &str,
        mut each: impl FnMut(&[u8]) + 'static,
    ) -> Result<Watch, Failure> {
        let mut connection = server.connect().await?;
        connection.stream(path).await?;
        let task =
            tokio::task::spawn_local(
                async move { while connection.more(&mut each).await.is_ok() {} },
            );
        Ok(Watch(task.abort_handle()))
    }

    /// Counts the lines of these types.
    pub(crate) async fn count(
        server: &Server,
        path: &str,
        types: &'static [&str],
    ) -> Result<(Watch, Count), Failure> {
        let count = Count(Rc::new(Cell::new((0, Instant::now()))));
        let counted = count.clone();
        let each = move |line: &[u8]| {
            let is = |given: &&str| line.starts_with(format!("{{\"type\":\"{given}\"").as_bytes());
            if types.iter().any(is) {
                counted.0.set((counted.number() + 1, Instant::now()));
            }
        };
        Ok((Watch::start(server, path, each).await?, count))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Count {
    pub(crate) fn number(&self) -> usize {
        self.0.get().0
    }

    /// When the last came; before any, when the watch began.
    pub(crate) fn last(&self) -> Instant {
        self.0.get().1
    }
}

/// Waits for it, a bounded time; `what` says what did not happen then.
pub(crate) async fn until(
    what: &str,
    patience: Duration,
    mut is: impl FnMut() -> bool,
) -> Result<(), Failure> {
    let deadline = Instant::now() + patience;
    while !is() {
        if Instant::now() > deadline {
            return Err(format!("{what}: not within {patience:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}
