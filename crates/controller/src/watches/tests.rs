//! One watch against a server that does as it is told.

mod script;

use std::time::Duration;

use serde_json::json;

use self::script::{Answer, Script, bookmark, changed, end_of_list, forbidden, listed, watch_of};
use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

fn watch(send: mpsc::Sender<Batch>) -> Watch<watched::Node> {
    let settings = WatchSettings {
        timeout_seconds: 1,
        grace: Duration::from_millis(200),
        open: Duration::from_millis(500),
        list: Duration::from_millis(500),
    };
    Watch {
        resource: Resource::Nodes,
        labels: Some("a=b"),
        settings,
        gone: watched::Node::gone,
        batch: Batch::Nodes,
        send,
        conditions: Arc::new(Conditions::new(&settings, Instant::now())),
        metrics: Arc::new(Metrics::new()),
    }
}

fn said(watched: Watched<watched::Node>) -> String {
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
    receive: mpsc::Receiver<Batch>,
    seen: Vec<String>,
    watch: Watch<watched::Node>,
    task: JoinHandle<()>,
}

impl Running {
    async fn new(answers: Vec<Answer>) -> Running {
        let script = Script::start(answers).await;
        let (send, receive) = mpsc::channel(8);
        let watch = watch(send);
        let task = tokio::spawn(watch.clone().follow(Api::all(script.client())));
        Running { script, receive, seen: Vec::new(), watch, task }
    }

    /// Waits until so much has been told, and gives all of it.
    async fn told(&mut self, n: usize) -> &[String] {
        while self.seen.len() < n {
            let batch = tokio::time::timeout(PATIENCE, self.receive.recv()).await.unwrap();
            let Some(Batch::Nodes(batch)) = batch else { panic!("a batch of nodes") };
            self.seen.extend(batch.into_iter().map(said));
        }
        &self.seen
    }

    fn problem(&self) -> Option<String> {
        self.watch.conditions.problem(Resource::Nodes, Instant::now())
    }

    fn metric(&self, line: &str) -> bool {
        self.watch.metrics.text().lines().any(|given| given == line)
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
    let line = r#"evenkeel_controller_watch_restarts_total{resource="nodes"} 1"#;
    assert!(!running.metric(line), "a watch that ends in order is no failure");
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
    let line = r#"evenkeel_controller_watch_restarts_total{resource="nodes"} 1"#;
    assert!(running.metric(line), "{}", running.watch.metrics.text());
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
    assert!(running.metric(r#"evenkeel_controller_refused_objects_total{resource="nodes"} 1"#));
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
    assert_eq!(running.watch.conditions.problem(Resource::Pods, Instant::now()), None);
}

#[tokio::test]
async fn it_ends_when_nobody_takes_what_it_tells() {
    let mut running = Running::new(vec![listed(&["a"], "7", ""), watch_of(&[]).close()]).await;
    running.told(3).await;
    let Running { task, receive, .. } = &mut running;
    receive.close();
    tokio::time::timeout(PATIENCE, task).await.unwrap().unwrap();
}
