//! Parts that run, and their shutdown: the last one started is the first one stopped.

use futures_util::future::select_all;
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::error::Error;

#[derive(Debug, Default)]
pub(super) struct Running(Vec<Part>);

#[derive(Debug)]
struct Part {
    name: &'static str,
    task: JoinHandle<Result<(), Error>>,
    stop: CancellationToken,
}

impl Running {
    /// Starts a part, and waits until it is ready.
    ///
    /// Cancelled on the way, it leaves a part that is started and can be stopped.
    pub(super) async fn start<R, F>(
        &mut self,
        name: &'static str,
        part: impl FnOnce(oneshot::Sender<R>, CancellationToken) -> F,
    ) -> Result<R, Error>
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let (sender, ready) = oneshot::channel();
        let stop = CancellationToken::new();
        let task = tokio::spawn(part(sender, stop.clone()));
        self.0.push(Part { name, task, stop });
        match ready.await {
            Ok(ready) => Ok(ready),
            // It ended before it was ready: its result says why.
            Err(_) => Err(self.ended().await),
        }
    }

    /// Waits until one of the parts ends, which is always an error. Waits forever without parts.
    pub(super) async fn ended(&mut self) -> Error {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        let (outcome, index, _) = select_all(self.0.iter_mut().map(|part| &mut part.task)).await;
        let Part { name, .. } = self.0.remove(index);
        match outcome {
            Ok(Err(error)) => error,
            // It returned, or it panicked, which the panic handler has printed.
            Ok(Ok(())) | Err(_) => Error::PartEnded { part: name },
        }
    }

    /// Stops one part after the other. Returns the first error once all have ended.
    pub(super) async fn stop(mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        while let Some(Part { name, task, stop }) = self.0.pop() {
            stop.cancel();
            let ended = task.await.unwrap_or(Err(Error::PartEnded { part: name }));
            outcome = outcome.and(ended);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    type Log = Arc<Mutex<Vec<&'static str>>>;

    async fn started(running: &mut Running, name: &'static str, log: &Log) {
        let log = log.clone();
        let part = |ready: oneshot::Sender<()>, stop: CancellationToken| async move {
            let _ = ready.send(());
            stop.cancelled().await;
            log.lock().unwrap().push(name);
            Ok(())
        };
        running.start(name, part).await.unwrap();
    }

    fn failing(problem: &'static str) -> Error {
        Error::Start(std::io::Error::other(problem))
    }

    #[tokio::test]
    async fn parts_stop_in_reverse_order() {
        let (mut running, log) = (Running::default(), Log::default());
        for name in ["api", "controller", "proxy"] {
            started(&mut running, name, &log).await;
        }
        running.stop().await.unwrap();
        assert_eq!(*log.lock().unwrap(), ["proxy", "controller", "api"]);
    }

    #[tokio::test]
    async fn a_part_that_cannot_start_says_why() {
        let mut running = Running::default();
        let part = |_: oneshot::Sender<()>, _| async { Err(failing("no port")) };
        let error = running.start("api", part).await.unwrap_err();
        assert!(error.to_string().contains("no port"), "{error}");
        running.stop().await.unwrap();
    }

    #[tokio::test]
    async fn the_part_that_ends_is_named_and_the_others_are_stopped() {
        let (mut running, log) = (Running::default(), Log::default());
        started(&mut running, "api", &log).await;
        let part = |ready: oneshot::Sender<()>, _| async {
            let _ = ready.send(());
            Ok(())
        };
        running.start("controller", part).await.unwrap();
        assert!(matches!(running.ended().await, Error::PartEnded { part: "controller" }));
        running.stop().await.unwrap();
        assert_eq!(*log.lock().unwrap(), ["api"]);
    }

    #[tokio::test]
    async fn an_error_on_the_way_out_is_told_and_the_rest_still_stops() {
        let (mut running, log) = (Running::default(), Log::default());
        started(&mut running, "api", &log).await;
        let part = |ready: oneshot::Sender<()>, stop: CancellationToken| async move {
            let _ = ready.send(());
            stop.cancelled().await;
            Err(failing("late"))
        };
        running.start("controller", part).await.unwrap();
        assert!(running.stop().await.unwrap_err().to_string().contains("late"));
        assert_eq!(*log.lock().unwrap(), ["api"]);
    }
}
