//! Custom resources, whose definition may not be there.

use evenkeel_model::Watched;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{
    PATIENCE, SETTINGS,
    script::{Answer, Script, changed, forbidden, listed, not_found, watch_of},
};
use crate::{
    watch::*,
    watched::{MeshKind, MeshObject},
};

const KIND: MeshKind = MeshKind::MeshHttpRoute;

/// A watch of routes that runs, and what it told.
struct Running {
    script: Script,
    batches: mpsc::Receiver<Received>,
    seen: Vec<String>,
    conditions: Arc<Conditions>,
    task: JoinHandle<()>,
}

impl Running {
    async fn new(answers: Vec<Answer>) -> Running {
        let script = Script::start(answers).await;
        let selectors = Selectors { mesh: [KIND].into(), ..Selectors::default() };
        let conditions = Arc::new(Conditions::new(&selectors, &SETTINGS, Instant::now()));
        let hooks =
            Hooks { conditions: Arc::clone(&conditions), counters: Arc::new(()), address: None };
        let (batches, tasks) = prepare(&script.client(), &selectors, &SETTINGS, &hooks);
        let [task] = <[Task; 1]>::try_from(tasks).unwrap();
        assert_eq!(task.name(), "watcher-meshhttproutes");
        let task = tokio::spawn(async move { task.run().await });
        Running { script, batches, seen: Vec::new(), conditions, task }
    }

    async fn told(&mut self, n: usize) -> &[String] {
        while self.seen.len() < n {
            let batch = tokio::time::timeout(PATIENCE, self.batches.recv()).await.unwrap();
            let Some(Received { batch: Batch::Mesh(KIND, batch), .. }) = batch else {
                panic!("a batch of routes")
            };
            self.seen.extend(batch.into_iter().map(said));
        }
        &self.seen
    }

    async fn asked(&mut self, n: usize) -> Vec<String> {
        tokio::time::timeout(PATIENCE, self.script.asked(n)).await.unwrap()
    }

    fn problem(&self) -> Option<String> {
        self.conditions.problem(Resource::Mesh(KIND), Instant::now())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn said(watched: Watched<MeshObject>) -> String {
    match watched {
        Watched::Restarted => "restarted".to_owned(),
        Watched::Listed(object) => format!("listed {}", object.name()),
        Watched::Complete => "complete".to_owned(),
        Watched::Applied(object) => format!("applied {}", object.name()),
        Watched::Deleted(gone) => format!("deleted {} {}", gone.name, gone.uid),
    }
}

#[tokio::test]
async fn a_kind_without_definition_is_complete_at_once_and_followed_once_it_is_there() {
    let mut running = Running::new(vec![
        not_found(),
        not_found(),
        not_found(),
        listed(&["a"], "7", ""),
        watch_of(&[changed("ADDED", "b", "8"), changed("DELETED", "a", "9")]).hold(),
    ])
    .await;
    assert_eq!(running.told(2).await, ["restarted", "complete"]);
    running.asked(3).await;
    assert_eq!(running.problem(), None);
    let after = ["restarted", "listed a", "complete", "applied b", "deleted a a-uid"];
    assert_eq!(running.told(7).await[2..], after, "it is not told again to be empty");
    let asked = running.asked(5).await;
    let list = "/apis/kuma.io/v1alpha1/meshhttproutes?&limit=500";
    assert_eq!(asked[..4], [list; 4]);
    assert!(asked[4].contains("watch=true") && asked[4].contains("resourceVersion=7"), "{asked:?}");
}

/// An API server that was just started may not know all of its kinds yet.
#[tokio::test]
async fn what_was_seen_is_not_taken_back_at_the_first_404() {
    let mut running = Running::new(vec![
        listed(&["a"], "7", ""),
        watch_of(&[]).close(),
        not_found(),
        not_found(),
        watch_of(&[changed("ADDED", "b", "8")]).hold(),
    ])
    .await;
    let expected = ["restarted", "listed a", "complete", "applied b"];
    assert_eq!(running.told(4).await, expected);
    let asked = running.asked(5).await;
    assert!(asked[4].ends_with("resourceVersion=7"), "it goes on: {asked:?}");
}

#[tokio::test]
async fn what_is_forbidden_is_a_problem_and_not_complete() {
    let mut running = Running::new(vec![forbidden(), Answer::never()]).await;
    running.asked(2).await;
    let problem = running.problem().unwrap();
    assert!(problem.starts_with("watch of meshhttproutes has been down for "), "{problem}");
    assert!(running.batches.try_recv().is_err(), "nobody may take it for empty");
}

/// The schema of some kinds accepts everything, so one object must not spoil the list.
#[tokio::test]
async fn an_object_that_is_nested_too_deep_spoils_only_itself() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let list = format!(
        r#"{{"metadata":{{"resourceVersion":"7"}},"items":[
            {{"metadata":{{"name":"deep"}},"spec":{deep}}},
            {{"metadata":{{"name":"a"}},"spec":{{"to":[1,-2,0.5,"x",true,null]}}}}]}}"#
    );
    let mut running = Running::new(vec![Answer::of(list), watch_of(&[]).hold()]).await;
    let received = tokio::time::timeout(PATIENCE, running.batches.recv()).await.unwrap().unwrap();
    let Batch::Mesh(KIND, batch) = received.batch else { panic!("a batch of routes") };
    let specs: Vec<Result<Value, String>> = batch
        .into_iter()
        .filter_map(|watched| match watched {
            Watched::Listed(object) => Some(object.into_spec().map_err(|error| error.to_string())),
            _ => None,
        })
        .collect();
    let expected = [
        Err("spec: is nested deeper than 64 levels".to_owned()),
        Ok(serde_json::json!({"to": [1, -2, 0.5, "x", true, null]})),
    ];
    assert_eq!(specs, expected);
}
