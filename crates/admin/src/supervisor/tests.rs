//! Tasks that fail, in paused time.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::time::{advance, timeout};

use super::*;
use crate::health::Health;

#[derive(Clone, Default)]
struct Counted(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Counted {
    fn supervisor(&self) -> Supervisor {
        let counted = self.clone();
        Supervisor::new(CancellationToken::new(), move |task, n| {
            *counted.0.lock().unwrap().entry(task).or_default() += n;
        })
    }

    fn of(&self, task: &str) -> Option<u64> {
        self.0.lock().unwrap().get(task).copied()
    }
}

/// Fails the first `n` times, then runs for ever. Counts its starts.
fn fragile(n: u64, starts: &Arc<AtomicU64>) -> impl FnMut() -> BoxFuture + Send + 'static {
    let starts = starts.clone();
    move || {
        let start = starts.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match start {
                start if start >= n => std::future::pending().await,
                start if start % 2 == 0 => panic!("broken the {start}th time"),
                _ => {}
            }
        })
    }
}

type BoxFuture = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

async fn until(starts: &AtomicU64, n: u64) {
    let reached = async {
        while starts.load(Ordering::SeqCst) < n {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(600), reached).await.expect("it is started again");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_panics_or_returns_is_started_again_and_counted() {
    let (counted, starts) = (Counted::default(), Arc::default());
    let supervisor = counted.supervisor();
    let begin = Instant::now();
    supervisor.spawn("fragile", fragile(3, &starts));
    assert_eq!(counted.of("fragile"), Some(0), "a metric is there before anything fails");
    until(&starts, 4).await;
    assert_eq!(counted.of("fragile"), Some(3));
    // 100, 200 and 400 ms.
    let took = begin.elapsed();
    assert!((700..760).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn health_fails_while_a_task_is_down_or_fails_again_and_again_and_recovers() {
    let (counted, starts) = (Counted::default(), Arc::default());
    let supervisor = counted.supervisor();
    let health = Health::new().with_tasks(&supervisor);
    let code = |path: &str| health.answer(path, None).unwrap().status().as_u16();
    supervisor.spawn("fragile", fragile(2, &starts));
    supervisor.spawn("sound", std::future::pending::<()>);
    assert_eq!(code("/readyz"), 200);
    tokio::task::yield_now().await;
    let problem = "is down after 1 failures in a row, the last: panicked: broken the 0th time";
    assert_eq!(supervisor.check("fragile"), Err(problem.to_owned()));
    assert_eq!(["/readyz", "/readyz/fragile", "/readyz/sound"].map(code), [500, 500, 200]);
    assert_eq!(["/livez", "/healthz"].map(code), [200, 200], "a restart of the process is no help");
    until(&starts, 3).await;
    let problem = supervisor.check("fragile").unwrap_err();
    assert!(problem.starts_with("was restarted after 2 failures in a row"), "{problem}");
    advance(Duration::from_secs(9)).await;
    assert_eq!(code("/readyz"), 500, "it has not run for long enough");
    advance(Duration::from_secs(1)).await;
    assert_eq!(["/readyz", "/readyz/fragile"].map(code), [200, 200]);
    let text = health.answer("/readyz", Some("verbose")).unwrap().into_body();
    assert!(text.contains("[+]fragile ok\n[+]sound ok\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn after_the_stop_nothing_is_started_again() {
    let stop = CancellationToken::new();
    let supervisor = Supervisor::new(stop.clone(), |_, _| {});
    let until_stop = {
        let stop = stop.clone();
        move || stop.clone().cancelled_owned()
    };
    let orderly = supervisor.spawn("orderly", until_stop);
    let starts = Arc::default();
    let failing = supervisor.spawn("failing", fragile(u64::MAX, &starts));
    until(&starts, 9).await;
    stop.cancel();
    timeout(Duration::from_secs(1), orderly).await.unwrap().unwrap();
    timeout(Duration::from_secs(1), failing).await.unwrap().unwrap();
}

#[test]
fn pauses_double_up_to_a_bound_and_begin_anew_after_a_stable_run() {
    let pace = Pace::default();
    let mut now = Instant::now();
    let mut record = Record::new(now);
    let mut fail_after = |run: Duration| {
        record.started(now);
        now += run;
        record.failed(now, "why".to_owned(), pace).as_millis()
    };
    let short = Duration::from_secs(1);
    let pauses: Vec<u128> = (0..40).map(|_| fail_after(short)).collect();
    assert_eq!(pauses[..5], [100, 200, 400, 800, 1600]);
    assert!(pauses[9..].iter().all(|pause| *pause == 30_000), "{pauses:?}");
    assert_eq!(fail_after(pace.stable), 100);
}

#[tokio::test]
async fn a_panic_is_caught_with_its_message() {
    assert_eq!(caught(async { 7 }).await, Ok(7));
    let late = async {
        tokio::task::yield_now().await;
        panic!("{} too many", 1)
    };
    assert_eq!(caught(late).await, Err::<(), _>("1 too many".to_owned()));
    let wordless = async { std::panic::panic_any(7) };
    assert_eq!(caught(wordless).await, Err::<(), _>("without a message".to_owned()));
}
