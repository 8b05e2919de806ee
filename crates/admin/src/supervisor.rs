//! Tasks that last as long as their process: one that ends is started again.
//!
//! A task that panics or returns before the process stops is logged, counted and started again after
//! a pause that doubles with each failure in a row, up to a bound. Its health check fails from then
//! on until the task has run for a while, so a task that fails again and again stays unhealthy and
//! one that has recovered does not. What is decided is in `record`; it has no clock.

mod record;

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
};

use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use self::record::Record;

pub use self::record::Pace;

/// Starts the long-lived tasks of a process, and starts them again. Clones are the same.
#[derive(Clone)]
pub struct Supervisor(Arc<Shared>);

struct Shared {
    stop: CancellationToken,
    pace: Pace,
    count: Count,
    tasks: Mutex<BTreeMap<&'static str, Record>>,
}

type Count = Box<dyn Fn(&'static str, u64) + Send + Sync>;

/// Runs a future, and turns a panic in it into its message.
pub async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    let polled = poll_fn(|context| {
        // After a panic the future is not polled again, and nobody sees what it left half done.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(message(&*panic))),
        }
    });
    polled.await
}

// === impl Supervisor ===

impl Supervisor {
    /// After `stop` a task may end. `count` is told of each task once with 0, and with 1 whenever it
    /// is started again.
    pub fn new(
        stop: CancellationToken,
        count: impl Fn(&'static str, u64) + Send + Sync + 'static,
    ) -> Supervisor {
        Supervisor::with_pace(stop, Pace::default(), count)
    }

    pub fn with_pace(
        stop: CancellationToken,
        pace: Pace,
        count: impl Fn(&'static str, u64) + Send + Sync + 'static,
    ) -> Supervisor {
        let (count, tasks) = (Box::new(count), Mutex::default());
        Supervisor(Arc::new(Shared { stop, pace, count, tasks }))
    }

    /// Starts a task: `make` gives the future to run, anew each time. An abort of the handle ends it
    /// for good.
    pub fn spawn<F>(
        &self,
        name: &'static str,
        make: impl FnMut() -> F + Send + 'static,
    ) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        (self.0.count)(name, 0);
        self.tasks().insert(name, Record::new(Instant::now()));
        tokio::spawn(self.clone().keep_running(name, make))
    }

    /// The names of all tasks, each of which is a health check.
    pub fn names(&self) -> Vec<&'static str> {
        self.tasks().keys().copied().collect()
    }

    /// Fails while a task is down, or was down and has not run for long enough since.
    pub fn check(&self, name: &str) -> Result<(), String> {
        let problem = |record: &Record| record.problem(Instant::now(), self.0.pace);
        self.tasks().get(name).and_then(problem).map_or(Ok(()), Err)
    }

    async fn keep_running<F>(self, name: &'static str, mut make: impl FnMut() -> F)
    where
        F: Future<Output = ()>,
    {
        loop {
            let ended = caught(async { make().await }).await;
            if self.0.stop.is_cancelled() {
                return;
            }
            let problem =
                ended.map_or_else(|panic| format!("panicked: {panic}"), |()| RETURNED.into());
            let pause = self
                .change(name, |record| record.failed(Instant::now(), problem.clone(), self.0.pace));
            tracing::error!(task = name, error = problem, "task failed, restarting in {pause:?}");
            tokio::select! {
                () = sleep(pause) => {}
                () = self.0.stop.cancelled() => return,
            }
            (self.0.count)(name, 1);
            self.change(name, |record| record.started(Instant::now()));
        }
    }

    fn change<T: Default>(&self, name: &str, change: impl FnOnce(&mut Record) -> T) -> T {
        self.tasks().get_mut(name).map(change).unwrap_or_default()
    }

    fn tasks(&self) -> MutexGuard<'_, BTreeMap<&'static str, Record>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const RETURNED: &str = "returned before the process stops";

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Supervisor").field(&self.names()).finish()
    }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").to_owned()
}

#[cfg(test)]
mod tests;
