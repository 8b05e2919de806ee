//! What becomes of lists and changes of custom resources.

use std::{
    collections::BTreeSet,
    sync::{Arc, mpsc as blocking},
    thread,
    time::Duration,
};

use evenkeel_k8s::{
    watch::{Batch, Received},
    watched::{MeshKind, MeshObject},
};
use evenkeel_locality::{
    Compat,
    resource::Kind,
    view::{self, ProxyKey, View},
};
use evenkeel_model::{Gone, Watched};
use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, mpsc},
    time::Instant,
};

use super::Cluster;
use crate::{control::Control, metrics::Metrics, source::Intake};

struct World {
    control: Arc<Control>,
    cluster: Cluster,
    watches: mpsc::Sender<Received>,
}

impl World {
    fn new() -> Self {
        let view = View::new(view::Settings::default());
        let control = Control::new(view, Compat::default(), Arc::new(Metrics::new()));
        let control = Arc::new(control);
        let intake = Intake::new(Arc::clone(&control), Compat::default());
        let (watches, batches) = mpsc::channel(1);
        World { control, cluster: Cluster::new(batches, intake), watches }
    }

    fn list(&mut self, kind: MeshKind, objects: &[Value]) {
        let listed = objects.iter().map(|value| Watched::Listed(object(value)));
        let mut changes = vec![Watched::Restarted];
        changes.extend(listed);
        changes.push(Watched::Complete);
        self.cluster.take(Batch::Mesh(kind, changes));
    }

    /// The names of the Dataplanes in force, in mesh `default`.
    fn dataplanes(&self) -> Vec<String> {
        let mut engine = self.control.engine();
        let proxies: Vec<ProxyKey> = engine.view().proxies().collect();
        proxies.iter().map(|proxy| proxy.name.to_string()).collect()
    }

    /// The objects that have some.
    fn problems(&self) -> Vec<String> {
        let problems = self.control.problems();
        let mut origins: Vec<String> =
            problems.iter().map(|problem| problem.origin.to_string()).collect();
        origins.dedup();
        origins
    }
}

fn object(value: &Value) -> MeshObject {
    serde_json::from_value(value.clone()).unwrap()
}

fn dataplane(name: &str, address: &str) -> Value {
    json!({
        "apiVersion": "kuma.io/v1alpha1",
        "kind": "Dataplane",
        "mesh": "default",
        "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1"},
        "spec": {"networking": {"address": address, "inbound": [
            {"port": 8080, "tags": {"kuma.io/service": "web", "kuma.io/zone": "z1"}},
        ]}},
    })
}

fn gone(name: &str) -> Watched<MeshObject> {
    let of = |text: &str| Arc::from(text);
    Watched::Deleted(Gone { namespace: of("shop"), name: of(name), uid: of(name) })
}

/// Crates `k8s` and `locality` do not know each other.
#[test]
fn what_is_followed_is_what_is_understood() {
    let followed: BTreeSet<&str> = MeshKind::ALL.into_iter().map(MeshKind::name).collect();
    let understood: BTreeSet<&str> = Kind::ALL.into_iter().map(|(name, _)| name).collect();
    assert_eq!(followed, understood);
}

#[test]
fn proxies_are_answered_when_every_kind_is_listed() {
    let mut world = World::new();
    for kind in MeshKind::ALL {
        assert!(!world.control.is_synced(), "before {}", kind.name());
        world.list(kind, &[]);
    }
    assert!(world.control.is_synced());
}

#[test]
fn changes_follow_the_list() {
    let mut world = World::new();
    world.list(MeshKind::Dataplane, &[dataplane("a", "10.0.0.1"), dataplane("b", "10.0.0.2")]);
    assert_eq!(world.dataplanes(), ["a.shop", "b.shop"]);
    let added = Watched::Applied(object(&dataplane("c", "10.0.0.3")));
    world.cluster.take(Batch::Mesh(MeshKind::Dataplane, vec![added, gone("a")]));
    assert_eq!(world.dataplanes(), ["b.shop", "c.shop"]);
}

#[test]
fn what_a_new_list_does_not_have_is_gone_once_it_is_complete() {
    let mut world = World::new();
    world.list(MeshKind::Dataplane, &[dataplane("a", "10.0.0.1"), dataplane("b", "10.0.0.2")]);
    let begun = vec![Watched::Restarted, Watched::Listed(object(&dataplane("b", "10.0.0.2")))];
    world.cluster.take(Batch::Mesh(MeshKind::Dataplane, begun));
    assert_eq!(world.dataplanes(), ["a.shop", "b.shop"], "until then the old one counts");
    // A list of another kind says nothing about Dataplanes.
    world.list(MeshKind::MeshService, &[]);
    assert_eq!(world.dataplanes(), ["a.shop", "b.shop"]);
    world.cluster.take(Batch::Mesh(MeshKind::Dataplane, vec![Watched::Complete]));
    assert_eq!(world.dataplanes(), ["b.shop"]);
}

#[test]
fn an_invalid_object_keeps_its_last_good_form_and_is_reported() {
    let mut world = World::new();
    world.list(MeshKind::Dataplane, &[dataplane("a", "10.0.0.1")]);
    let invalid = Watched::Applied(object(&dataplane("a", "banana")));
    world.cluster.take(Batch::Mesh(MeshKind::Dataplane, vec![invalid]));
    assert_eq!(world.dataplanes(), ["a.shop"]);
    assert_eq!(world.problems(), ["Dataplane shop/a"]);
    let mut deep = dataplane("b", "10.0.0.2");
    let nested = (0..100).fold(json!(1), |inner, _| json!({ "x": inner }));
    deep["spec"]["networking"]["metrics"] = nested;
    world.cluster.take(Batch::Mesh(MeshKind::Dataplane, vec![Watched::Applied(object(&deep))]));
    assert_eq!(world.dataplanes(), ["a.shop"]);
    assert_eq!(world.problems(), ["Dataplane shop/a", "Dataplane shop/b"]);
    world.list(MeshKind::Dataplane, &[dataplane("a", "10.0.0.1")]);
    assert!(world.problems().is_empty());
}

#[test]
fn of_several_invalid_objects_each_is_mended_by_itself() {
    let mut world = World::new();
    world.list(MeshKind::Dataplane, &[dataplane("a", "banana"), dataplane("b", "banana")]);
    assert_eq!(world.problems(), ["Dataplane shop/a", "Dataplane shop/b"]);
    let count = |n| format!("evenkeel_xds_invalid_resources {n}\n");
    assert!(world.control.metrics.text().contains(&count(2)));
    let applied = |name, address| Watched::Applied(object(&dataplane(name, address)));
    world.cluster.take(Batch::Mesh(MeshKind::Dataplane, vec![applied("a", "10.0.0.1")]));
    assert_eq!(world.problems(), ["Dataplane shop/b"]);
    world.cluster.take(Batch::Mesh(MeshKind::Dataplane, vec![applied("c", "banana"), gone("b")]));
    assert_eq!(world.problems(), ["Dataplane shop/c"]);
    assert!(world.control.metrics.text().contains(&count(1)));
    // Never valid and not in the new list: only its problem is there to go.
    world.list(MeshKind::Dataplane, &[dataplane("a", "10.0.0.1")]);
    assert!(world.problems().is_empty());
    assert!(world.control.metrics.text().contains(&count(0)));
}

#[test]
fn of_a_list_with_many_parts_everything_is_in_force() {
    let mut world = World::new();
    let names: Vec<String> = (0..2000).map(|n| format!("d{n:04}")).collect();
    let all: Vec<Value> = names.iter().map(|name| dataplane(name, "10.0.0.1")).collect();
    world.list(MeshKind::Dataplane, &all);
    let expected: Vec<String> = names.iter().map(|name| format!("{name}.shop")).collect();
    assert_eq!(world.dataplanes(), expected);
    world.list(MeshKind::Dataplane, &all[1999..]);
    assert_eq!(world.dataplanes(), ["d1999.shop"]);
}

/// The test has one thread for tasks. If the batch waited for the engine there, nothing else would run.
#[tokio::test]
async fn tasks_run_while_a_batch_waits_for_the_engine() {
    let World { control, cluster, watches } = World::new();
    let (tell, told) = blocking::channel();
    let (locked, is_locked) = tokio::sync::oneshot::channel();
    let holding = Arc::clone(&control);
    let holder = thread::spawn(move || {
        let _engine = holding.engine();
        locked.send(()).unwrap();
        told.recv_timeout(Duration::from_secs(10))
    });
    is_locked.await.unwrap();
    let running = tokio::spawn(Cluster::run(Arc::new(Mutex::new(cluster))));
    let listed = Watched::Applied(object(&dataplane("a", "10.0.0.1")));
    let batch = Batch::Mesh(MeshKind::Dataplane, vec![listed]);
    watches.send(Received { at: Instant::now(), batch }).await.unwrap();
    // The next one is accepted when this one is taken.
    let permit = watches.reserve().await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let _ = tell.send(());
    assert_eq!(holder.join().unwrap(), Ok(()), "the batch held the other tasks up");
    drop(permit);
    drop(watches);
    running.await.unwrap();
    assert!(control.engine().view().proxies().any(|proxy| &*proxy.name == "a.shop"));
}

mod services;
