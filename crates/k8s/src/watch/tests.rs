//! One watch against a server that does as it is told.

mod mesh;
mod script;

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use evenkeel_model::Watched;
use serde_json::json;
use tokio::task::JoinHandle;

use self::script::{Answer, Script, bookmark, changed, end_of_list, forbidden, listed, watch_of};
use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

const SETTINGS: WatchSettings = WatchSettings {
    timeout_seconds: 1,
    grace: Duration::from_millis(200),
    open: Duration::from_millis(500),
    list: Duration::from_millis(500),
};

/// Counts what is told of nodes.
#[derive(Debug, Default)]
struct Counted {
    restarted: AtomicUsize,
    ignored: AtomicUsize,
}

impl Counters for Counted {
    fn restarted(&self, resource: Resource) {
        assert_eq!(resource, Resource::Nodes);
        self.restarted.fetch_add(1, Ordering::Relaxed);
    }

    fn ignored(&self, resource: Resource) {
        assert_eq!(resource, Resource::Nodes);
        self.ignored.fetch_add(1, Ordering::Relaxed);
    }
}

fn said(watched: Watched<Node>) -> String {
    match watched {
        Watched::Restarted => "restarted".to_owned(),
        Watched::Listed(node) => format!("listed {}", node.gone().name),
        Watched::Complete => "complete".to_owned(),
        Watched::Applied(node) => format!("applied {}", node.gone().name),
        Watched::Deleted(gone) => format!("deleted {} {}", gone.name, gone.uid),
    }
}

/// A watch that runs, and what it has done so far.
struct Running {
    script: Script,
    batches: mpsc::Receiver<Received>,
    seen: Vec<String>,
    conditions: Arc<Conditions>,
    counted: Arc<Counted>,
    task: JoinHandle<()>,
}

impl Running {
    /// Of the nodes with one label.
    async fn new(answers: Vec<Answer>) -> Running {
        Running::selecting(Selector::labels("a=b"), answers).await
    }

    async fn selecting(selector: Selector, answers: Vec<Answer>) -> Running {
        let script = Script::start(answers).await;
        let selectors = Selectors { nodes: Some(selector), ..Selectors::default() };
        let conditions = Arc::new(Conditions::new(&selectors, &SETTINGS, Instant::now()));
        let counted = Arc::new(Counted::default());
        let (conditions_, counters) = (Arc::clone(&conditions), Arc::clone(&counted));
        let hooks = Hooks { conditions: conditions_, counters, address: None };
        let (batches, tasks) = prepare(&script.client(), &selectors, &SETTINGS, &hooks);
        let [task] = <[Task; 1]>::try_from(tasks).unwrap();
        let task = tokio::spawn(async move { task.run().await });
        Running { script, batches, seen: Vec::new(), conditions, counted, task }
    }

    /// Waits until so much has been told, and gives all of it.
    async fn told(&mut self, n: usize) -> &[String] {
        while self.seen.len() < n {
            let batch = tokio::time::timeout(PATIENCE, self.batches.recv()).await.unwrap();
            let Some(Received { batch: Batch::Nodes(batch), .. }) = batch else {
                panic!("a batch of nodes")
            };
            self.seen.extend(batch.into_iter().map(said));
        }
        &self.seen
    }

    fn problem(&self) -> Option<String> {
        self.conditions.problem(Resource::Nodes, Instant::now())
    }

    fn n_restarted(&self) -> usize {
        self.counted.restarted.load(Ordering::Relaxed)
    }

    fn n_ignored(&self) -> usize {
        self.counted.ignored.load(Ordering::Relaxed)
    }

    /// Waits until that many requests were answered.
    async fn asked(&mut self, n: usize) -> Vec<String> {
        tokio::time::timeout(PATIENCE, self.script.asked(n)).await.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn everything_is_listed_then_watched_and_a_watch_that_ends_goes_on() {
    let mut running = Running::new(vec![
        listed(&["a", "b"], "7", "more"),
        listed(&["c"], "7", ""),
        watch_of(&[changed("ADDED", "d", "8"), changed("DELETED", "a", "9")]).close(),
        watch_of(&[changed("MODIFIED", "d", "10"), bookmark("20")]).close(),
        watch_of(&[]).hold(),
    ])
    .await;
    let expected = [
        "restarted",
        "listed a",
        "listed b",
        "listed c",
        "complete",
        "applied d",
        "deleted a a-uid",
        "applied d",
    ];
    assert_eq!(running.told(8).await, expected);
    let asked = running.asked(5).await;
    let list = "/api/v1/nodes?&labelSelector=a%3Db&limit=500";
    assert_eq!(asked[..2], [list.to_owned(), format!("{list}&continue=more")]);
    let versions = asked[2..].iter().map(|path| path.split("resourceVersion=").nth(1).unwrap());
    assert_eq!(versions.collect::<Vec<_>>(), ["7", "9", "20"]);
    for path in &asked[2..] {
        for part in
            ["watch=true", "timeoutSeconds=1&", "labelSelector=a%3Db", "allowWatchBookmarks=true"]
        {
            assert!(path.contains(part), "{path}");
        }
    }
    assert_eq!(running.n_restarted(), 0, "a watch that ends in order is no failure");
}

#[tokio::test]
async fn a_version_that_is_forgotten_is_listed_anew() {
    let gone =
        json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}});
    let mut running = Running::new(vec![
        listed(&["a"], "7", ""),
        watch_of(&[changed("ADDED", "b", "8"), gone]).hold(),
        listed(&["b"], "9", ""),
        watch_of(&[]).hold(),
    ])
    .await;
    let expected =
        ["restarted", "listed a", "complete", "applied b", "restarted", "listed b", "complete"];
    assert_eq!(running.told(7).await, expected);
    running.asked(4).await;
    assert_eq!(running.n_restarted(), 1);
}

/// Issue 12: it stood still for 295 s, and was ready all the while.
#[tokio::test]
async fn a_watch_that_does_not_end_in_time_is_given_up_and_well_once_there_is_another() {
    let mut running = Running::new(vec![
        end_of_list("7"),
        watch_of(&[bookmark("8")]).hold(),
        Answer::never(),
        watch_of(&[]).hold(),
    ])
    .await;
    running.asked(2).await;
    let asked = running.asked(3).await;
    assert!(asked[2].ends_with("resourceVersion=8"), "{asked:?}");
    let problem = running.problem().unwrap();
    assert!(problem.starts_with("watch of nodes has been down for "), "{problem}");
    assert!(problem.contains(" s: watch failed: "), "{problem}");
    running.asked(4).await;
    let established = async {
        while running.problem().is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, established).await.expect("nothing came, and all is well");
}

#[tokio::test]
async fn an_object_that_cannot_be_decoded_does_not_end_the_watch() {
    let odd = json!({"type": "MODIFIED", "object": {"metadata": {"name": ["odd"]}}});
    let mut running = Running::new(vec![
        end_of_list("7"),
        watch_of(&[changed("ADDED", "a", "8"), odd, changed("ADDED", "b", "10")]).hold(),
    ])
    .await;
    let expected = ["restarted", "complete", "applied a", "applied b"];
    assert_eq!(running.told(4).await, expected);
    assert_eq!(running.n_ignored(), 1);
    assert_eq!(running.problem(), None);
}

/// A list that is begun again and again and never answered is no sign of health.
#[tokio::test]
async fn a_watch_that_cannot_list_is_in_trouble() {
    let mut running = Running::new(vec![forbidden(), forbidden(), Answer::never()]).await;
    running.asked(3).await;
    let problem = running.problem().unwrap();
    assert!(problem.starts_with("watch of nodes has been down for "), "{problem}");
    assert!(problem.ends_with(" s: list failed: nodes is forbidden (403)"), "{problem}");
}

#[tokio::test]
async fn it_ends_when_nobody_takes_what_it_tells() {
    let mut running = Running::new(vec![listed(&["a"], "7", ""), watch_of(&[]).close()]).await;
    running.told(3).await;
    let Running { task, batches, .. } = &mut running;
    batches.close();
    tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap();
}

#[tokio::test]
async fn one_object_is_followed_by_its_name() {
    let answers = vec![listed(&["node-1"], "7", ""), watch_of(&[]).hold()];
    let mut running = Running::selecting(Selector::named("node-1"), answers).await;
    for path in running.asked(2).await {
        assert!(path.contains("fieldSelector=metadata.name%3Dnode-1&"), "{path}");
        assert!(!path.contains("labelSelector"), "{path}");
    }
}

/// While nobody takes batches, no more than fit into the channel are read.
#[tokio::test]
async fn a_slow_receiver_makes_the_watch_wait() {
    let pages = (0..20).map(|_| listed(&["a"], "7", "more"));
    let mut running = Running::new(pages.collect()).await;
    // Those in the channel, and the one that waits to be put there.
    running.asked(WAITING + 1).await;
    let more = tokio::time::timeout(Duration::from_millis(200), running.script.asked(WAITING + 2));
    assert!(more.await.is_err(), "nothing more is asked for");
    running.told(2).await;
    running.asked(WAITING + 2).await;
}

#[tokio::test]
async fn each_kind_that_is_followed_has_a_task() {
    let script = Script::start(Vec::new()).await;
    let selectors = Selectors {
        services: Some(Selector::labels("!service.kubernetes.io/service-proxy-name")),
        endpoint_slices: Some(Selector::labels("!service.kubernetes.io/headless")),
        ..Selectors::default()
    };
    let conditions = Arc::new(Conditions::new(&selectors, &SETTINGS, Instant::now()));
    let hooks = Hooks { conditions, counters: Arc::new(()), address: None };
    let (_, tasks) = prepare(&script.client(), &selectors, &SETTINGS, &hooks);
    let names: Vec<_> = tasks.iter().map(Task::name).collect();
    assert_eq!(names, ["watcher-services", "watcher-endpointslices"]);
}
