//! Deployments and ReplicaSets, from the first Pod to the last.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Cluster, Part, cluster, key, keys, pod_keys};
use crate::sandbox::workloads::pods;

const REVISION: &str = "deployment.kubernetes.io/revision";

fn deployment(replicas: usize, image: &str, changes: &Value) -> Value {
    let mut object = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
            "strategy": {"type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
        },
    });
    super::merge(&mut object["spec"], changes);
    object
}

fn use_image(cluster: &mut Cluster, image: &str) {
    let containers = json!([{"name": "c", "image": image}]);
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    cluster.patch("deployments", &key("web"), &patch);
}

fn scale(cluster: &mut Cluster, replicas: usize) {
    cluster.patch("deployments", &key("web"), &json!({"spec": {"replicas": replicas}}));
}

fn rolled_out(replicas: usize, changes: &Value) -> Cluster {
    let mut cluster = cluster(1);
    cluster.create("deployments", deployment(replicas, "a", changes));
    cluster.run_until_idle(|_| {});
    cluster
}

fn status(cluster: &Cluster) -> Value {
    cluster.value("deployments", &key("web"))["status"].clone()
}

fn condition(cluster: &Cluster, type_: &str) -> (String, String, String) {
    let status = status(cluster);
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == type_).unwrap();
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

/// As `kubectl rollout status` sees it.
fn is_done(cluster: &Cluster) -> bool {
    let object = cluster.value("deployments", &key("web"));
    let (spec, status) = (&object["spec"], &object["status"]);
    status["observedGeneration"] == object["metadata"]["generation"]
        && status["updatedReplicas"] == spec["replicas"]
        && status["replicas"] == status["updatedReplicas"]
        && status["availableReplicas"] == status["updatedReplicas"]
}

fn images(cluster: &Cluster) -> Vec<&str> {
    let mut images: Vec<&str> = cluster.active().map(Cluster::image).collect();
    images.dedup();
    images
}

fn revisions(cluster: &Cluster) -> Vec<(String, usize)> {
    let mut revisions: Vec<(String, usize)> = cluster
        .world
        .replica_sets
        .values()
        .map(|set| {
            let revision = set.metadata.annotations.as_ref().unwrap()[REVISION].clone();
            let size = set.spec.as_ref().unwrap().replicas.unwrap();
            (revision, usize::try_from(size).unwrap())
        })
        .collect();
    revisions.sort();
    revisions
}

#[test]
fn a_deployment_becomes_available() {
    let cluster = rolled_out(3, &json!({}));
    assert!(is_done(&cluster), "{}", status(&cluster));
    assert_eq!(
        condition(&cluster, "Available"),
        (
            "True".to_owned(),
            "MinimumReplicasAvailable".to_owned(),
            "Deployment has minimum availability.".to_owned()
        )
    );
    let set = cluster.world.replica_sets.values().next().unwrap();
    let name = set.metadata.name.clone().unwrap();
    assert_eq!(
        condition(&cluster, "Progressing"),
        (
            "True".to_owned(),
            "NewReplicaSetAvailable".to_owned(),
            format!("ReplicaSet \"{name}\" has successfully progressed.")
        )
    );
    let hash = name.strip_prefix("web-").unwrap();
    let shown = cluster.value("replicasets", &key(&name));
    assert_eq!(shown["spec"]["selector"]["matchLabels"]["pod-template-hash"], hash);
    assert_eq!(shown["spec"]["template"]["metadata"]["labels"]["pod-template-hash"], hash);
    assert_eq!(shown["metadata"]["labels"], json!({"app": "web", "pod-template-hash": hash}));
    assert_eq!(shown["metadata"]["ownerReferences"][0]["kind"], "Deployment");
    assert_eq!(
        shown["status"],
        json!({"replicas": 3, "fullyLabeledReplicas": 3, "readyReplicas": 3,
            "availableReplicas": 3, "terminatingReplicas": 0, "observedGeneration": 1})
    );
    for pod in cluster.active() {
        let pod_name = pod.metadata.name.as_deref().unwrap();
        assert!(pod_name.starts_with(&format!("{name}-")), "{pod_name}");
        assert_eq!(pods::label(pod, "pod-template-hash"), Some(hash));
    }
    assert_eq!(cluster.value("deployments", &key("web"))["metadata"]["annotations"][REVISION], "1");
    let scaled = format!("ScalingReplicaSet: Scaled up replica set {name} from 0 to 3");
    assert!(cluster.news.contains(&scaled), "{:?}", cluster.news);
    let created =
        cluster.news.iter().filter(|news| news.starts_with("SuccessfulCreate: Created pod: "));
    assert_eq!(created.count(), 3);
}

#[test]
fn a_rolling_update_of_a_hundred_pods_stays_within_its_limits() {
    for (surge, unavailable, most, least) in [
        (json!("25%"), json!("25%"), 125, 75),
        (json!(1), json!(0), 101, 100),
        (json!(0), json!(10), 100, 90),
        (json!("100%"), json!("100%"), 200, 0),
    ] {
        let rolling = json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}});
        let mut cluster = rolled_out(100, &json!({"strategy": rolling}));
        use_image(&mut cluster, "b");
        cluster.run_until_idle(|cluster| {
            let (active, ready) = (cluster.active().count(), cluster.n_ready());
            assert!(active <= most && ready >= least, "{active} {ready} {surge} {unavailable}");
        });
        assert!(is_done(&cluster) && images(&cluster) == ["b"], "{}", status(&cluster));
        assert_eq!(revisions(&cluster), [("1".to_owned(), 0), ("2".to_owned(), 100)]);
    }
}

#[test]
fn a_step_waits_until_the_replica_sets_have_observed_the_previous_one() {
    let mut cluster = rolled_out(10, &json!({}));
    use_image(&mut cluster, "b");
    let look = |cluster: &mut Cluster| cluster.turn(Part::Deployments, &key("web"), &mut |_| {});
    let sizes = |old, new| [("1".to_owned(), old), ("2".to_owned(), new)];
    for _ in 0..3 {
        look(&mut cluster);
        assert_eq!(revisions(&cluster), sizes(10, 3));
    }
    for set in keys(&cluster.world.replica_sets) {
        cluster.turn(Part::ReplicaSets, &set, &mut |_| {});
    }
    look(&mut cluster);
    assert_eq!(revisions(&cluster), sizes(8, 3));
}

#[test]
fn scaling_makes_and_deletes_just_the_difference() {
    let mut cluster = rolled_out(5, &json!({}));
    let before = pod_keys(&cluster);
    scale(&mut cluster, 8);
    cluster.run_until_idle(|cluster| assert!(cluster.n_ready() >= 5));
    assert!(is_done(&cluster));
    assert!(before.iter().all(|key| cluster.world.pods.contains_key(key.as_str())));
    scale(&mut cluster, 2);
    cluster.run_until_idle(|cluster| assert!(cluster.n_ready() >= 2));
    assert!(is_done(&cluster) && cluster.world.pods.len() == 2);
    scale(&mut cluster, 0);
    cluster.run_until_idle(|_| {});
    assert!(is_done(&cluster) && cluster.world.pods.is_empty());
    scale(&mut cluster, 1);
    cluster.run_until_idle(|_| {});
    assert!(is_done(&cluster) && cluster.world.pods.len() == 1);
    assert_eq!(revisions(&cluster), [("1".to_owned(), 1)]);
    let deleted = cluster.news.iter().filter(|news| news.starts_with("SuccessfulDelete: "));
    assert_eq!(deleted.count(), 8);
}

#[test]
fn going_back_to_a_template_uses_its_replica_set_again() {
    let mut cluster = rolled_out(4, &json!({}));
    use_image(&mut cluster, "b");
    cluster.run_until_idle(|_| {});
    use_image(&mut cluster, "a");
    cluster.run_until_idle(|cluster| assert!(cluster.n_ready() >= 3));
    assert!(is_done(&cluster) && images(&cluster) == ["a"]);
    assert_eq!(revisions(&cluster), [("2".to_owned(), 0), ("3".to_owned(), 4)]);
    let object = cluster.value("deployments", &key("web"));
    assert_eq!(object["metadata"]["annotations"][REVISION], "3");
}

#[test]
fn a_stuck_rollout_keeps_the_old_pods_reports_it_and_can_be_rolled_back() {
    let mut cluster = rolled_out(4, &json!({"progressDeadlineSeconds": 60}));
    use_image(&mut cluster, "broken");
    cluster.run_until_idle(|cluster| assert!(cluster.n_ready() >= 3));
    let (status, reason, message) = condition(&cluster, "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ProgressDeadlineExceeded"));
    assert!(message.ends_with("has timed out progressing."), "{message}");
    assert!(!is_done(&cluster));
    use_image(&mut cluster, "a");
    cluster.run_until_idle(|cluster| assert!(cluster.n_ready() >= 3));
    assert!(is_done(&cluster) && images(&cluster) == ["a"]);
    assert_eq!(condition(&cluster, "Progressing").1, "NewReplicaSetAvailable");
}

#[test]
fn recreate_ends_all_old_pods_before_the_first_new_one() {
    let mut cluster =
        rolled_out(4, &json!({"strategy": {"type": "Recreate", "rollingUpdate": null}}));
    use_image(&mut cluster, "b");
    cluster.run_until_idle(|cluster| {
        // Terminating ones count, too.
        let mut images: Vec<&str> =
            cluster.world.pods.values().map(|pod| Cluster::image(pod)).collect();
        images.sort_unstable();
        images.dedup();
        assert!(images.len() <= 1, "{images:?}");
    });
    assert!(is_done(&cluster) && images(&cluster) == ["b"]);
}

#[test]
fn a_paused_deployment_is_scaled_but_not_rolled_out() {
    let mut cluster = rolled_out(4, &json!({}));
    cluster.patch("deployments", &key("web"), &json!({"spec": {"paused": true}}));
    use_image(&mut cluster, "b");
    scale(&mut cluster, 6);
    cluster.run_until_idle(|_| {});
    assert_eq!((images(&cluster), cluster.n_ready()), (vec!["a"], 6));
    assert_eq!(condition(&cluster, "Progressing").1, "DeploymentPaused");
    cluster.patch("deployments", &key("web"), &json!({"spec": {"paused": false}}));
    cluster.run_until_idle(|cluster| assert!(cluster.n_ready() >= 5));
    assert!(is_done(&cluster) && images(&cluster) == ["b"]);
    assert_eq!(condition(&cluster, "Progressing").1, "NewReplicaSetAvailable");
}

#[test]
fn old_replica_sets_beyond_the_history_limit_are_deleted() {
    let mut cluster = rolled_out(2, &json!({"revisionHistoryLimit": 2}));
    for image in ["b", "c", "d", "e"] {
        use_image(&mut cluster, image);
        cluster.run_until_idle(|_| {});
    }
    let kept = [("3".to_owned(), 0), ("4".to_owned(), 0), ("5".to_owned(), 2)];
    assert_eq!(revisions(&cluster), kept);
}

#[test]
fn pods_are_available_only_after_their_time() {
    let mut cluster = rolled_out(2, &json!({"minReadySeconds": 30}));
    assert!(is_done(&cluster), "{}", status(&cluster));
    let start = cluster.now;
    let rolling = json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    cluster.patch("deployments", &key("web"), &json!({"spec": {"strategy": rolling}}));
    use_image(&mut cluster, "b");
    cluster.run_until_idle(|cluster| assert!(cluster.n_ready() >= 2));
    assert!(is_done(&cluster));
    assert!((cluster.now - start).get_seconds() >= 60, "{} {start}", cluster.now);
}

#[test]
fn pods_that_ended_are_replaced() {
    let mut cluster = rolled_out(3, &json!({}));
    let keys = pod_keys(&cluster);
    cluster.patch("pods", &keys[0], &json!({"status": {"phase": "Failed"}}));
    cluster.patch("pods", &keys[1], &json!({"status": {"phase": "Succeeded"}}));
    cluster.remove("pods", &keys[2]);
    cluster.run_until_idle(|_| {});
    assert_eq!((cluster.n_ready(), cluster.world.pods.len()), (3, 5));
    assert!(is_done(&cluster));
}

#[test]
fn orphans_are_adopted_and_pods_that_no_longer_match_are_released() {
    let mut cluster = rolled_out(2, &json!({}));
    let freed = pod_keys(&cluster)[0].clone();
    cluster.patch("pods", &freed, &json!({"metadata": {"labels": {"app": "other"}}}));
    cluster.run_until_idle(|_| {});
    let owners = |cluster: &Cluster| {
        cluster.value("pods", &freed)["metadata"]["ownerReferences"].as_array().map(Vec::len)
    };
    assert_eq!((owners(&cluster).unwrap_or_default(), cluster.n_ready()), (0, 3));
    cluster.patch("pods", &freed, &json!({"metadata": {"labels": {"app": "web"}}}));
    cluster.run_until_idle(|_| {});
    assert_eq!(cluster.n_ready(), 2);
    let owned = cluster.active().filter(|pod| {
        pod.metadata.owner_references.as_ref().is_some_and(|owners| owners.len() == 1)
    });
    assert_eq!(owned.count(), 2);
}

#[test]
fn an_existing_name_is_avoided() {
    let mut cluster = rolled_out(1, &json!({}));
    let mut foreign = cluster.value("replicasets", &{
        let set = cluster.world.replica_sets.values().next().unwrap();
        key(set.metadata.name.as_deref().unwrap())
    });
    let taken = foreign["metadata"]["name"].as_str().unwrap().to_owned();
    cluster = super::cluster(1);
    // Not available for adoption.
    foreign["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "v1", "kind": "Other", "name": "x", "uid": "x", "controller": true}
    ]);
    foreign["spec"]["replicas"] = 0.into();
    foreign["status"] = Value::Null;
    cluster.create("replicasets", foreign);
    cluster.create("deployments", deployment(1, "a", &json!({})));
    cluster.run_until_idle(|_| {});
    assert!(is_done(&cluster), "{}", status(&cluster));
    assert_eq!(status(&cluster)["collisionCount"], 1);
    let names = cluster.world.replica_sets.keys().filter(|name| name.as_ref() != key(&taken));
    assert_eq!(names.count(), 1);
}

#[test]
fn a_deployment_being_deleted_creates_nothing() {
    let mut cluster = cluster(1);
    let made = cluster.create("deployments", deployment(3, "a", &json!({})));
    let dying = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    cluster.patch("deployments", &made, &dying);
    cluster.run_until_idle(|_| {});
    assert!(cluster.world.replica_sets.is_empty());
}

/// A ReplicaSet created by hand, without the label of a hash.
fn lone_set(image: &str, app: &str) -> Value {
    json!({
        "metadata": {"name": "lone", "labels": {"app": app},
            "annotations": {REVISION: "3546343826724305832"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": app}},
            "template": {
                "metadata": {"labels": {"app": app}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
        },
    })
}

// Kubernetes' specs "RollingUpdateDeployment should delete old pods and create new ones" and
// "should support rollover".
#[test]
fn a_deployment_takes_a_matching_orphan_and_replaces_its_pods() {
    let mut cluster = cluster(1);
    let lone = cluster.create("replicasets", lone_set("old", "web"));
    cluster.run_until_idle(|_| {});
    assert_eq!(images(&cluster), ["old"]);
    cluster.create("deployments", deployment(2, "new", &json!({})));
    cluster.run_until_idle(|cluster| assert!(cluster.n_ready() >= 1));
    let set = cluster.value("replicasets", &lone);
    let owner = &set["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["controller"]), (&json!("Deployment"), &json!(true)));
    assert_eq!(set["spec"]["replicas"], 0);
    assert_eq!((images(&cluster), cluster.n_ready()), (vec!["new"], 2));
    let revision = &cluster.value("deployments", &key("web"))["metadata"]["annotations"][REVISION];
    assert_eq!(revision, "3546343826724305833");
    assert!(is_done(&cluster), "{}", status(&cluster));
}

#[test]
fn an_orphan_with_the_template_is_the_set_of_the_template() {
    let mut cluster = cluster(1);
    cluster.create("replicasets", lone_set("a", "web"));
    cluster.create("deployments", deployment(3, "a", &json!({})));
    cluster.run_until_idle(|_| {});
    assert_eq!(cluster.world.replica_sets.len(), 1);
    assert_eq!(cluster.value("replicasets", &key("lone"))["spec"]["replicas"], 3);
    assert!(is_done(&cluster), "{}", status(&cluster));
}

#[test]
fn a_deployment_adopts_only_matching_orphans_and_releases_mismatches() {
    let mut cluster = rolled_out(2, &json!({}));
    cluster.create("replicasets", lone_set("a", "db"));
    let other =
        json!({"uid": "x", "kind": "Other", "apiVersion": "v1", "name": "x", "controller": true});
    let mut owned = lone_set("a", "web");
    owned["metadata"]["name"] = "owned".into();
    owned["metadata"]["ownerReferences"] = json!([other]);
    cluster.create("replicasets", owned);
    let own =
        cluster.world.replica_sets.keys().find(|key| key.contains("/web-")).unwrap().to_string();
    cluster.patch("replicasets", &own, &json!({"metadata": {"labels": {"app": "else"}}}));
    cluster.run_until_idle(|_| {});
    let owners =
        |key: &str| cluster.value("replicasets", key)["metadata"]["ownerReferences"].clone();
    assert_eq!(owners(&own), json!([]));
    assert_eq!(owners(&key("lone")), Value::Null);
    assert_eq!(owners(&key("owned"))[0]["kind"], "Other");
}

#[test]
fn a_deployment_being_deleted_adopts_nothing() {
    let mut cluster = cluster(1);
    cluster.create("replicasets", lone_set("a", "web"));
    let made = cluster.create("deployments", deployment(3, "a", &json!({})));
    let dying = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    cluster.patch("deployments", &made, &dying);
    cluster.run_until_idle(|_| {});
    let set = cluster.value("replicasets", &key("lone"));
    assert_eq!(set["metadata"]["ownerReferences"], Value::Null);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever the order of steps, the sizes, and the changes in between: a new template, the old
    /// one again, or one whose Pods never become ready.
    #[test]
    fn updates_stay_within_their_limits(
        seed: u64,
        replicas in 1_usize..12,
        surge in 0_usize..5,
        unavailable in 0_usize..5,
        slow in 0_i64..4,
        images in proptest::collection::vec("[abcx]", 1..4),
        steps in 0_usize..60,
    ) {
        let rolling = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        let mut cluster = cluster(seed);
        cluster.broken_image = "x";
        cluster.ready_after = jiff::SignedDuration::from_secs(slow);
        let given = json!({"strategy": {"rollingUpdate": rolling}, "progressDeadlineSeconds": 20});
        cluster.create("deployments", deployment(replicas, "a", &given));
        cluster.run_until_idle(|_| {});
        let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
        let (most, least) = (replicas + surge, replicas.saturating_sub(unavailable));
        let check = |cluster: &Cluster| {
            let (active, ready) = (cluster.active().count(), cluster.n_ready());
            assert!(active <= most && ready >= least, "{active} <= {most}, {ready} >= {least}");
        };
        for image in images {
            use_image(&mut cluster, &image);
            cluster.rush(steps, check);
        }
        use_image(&mut cluster, "d");
        cluster.run_until_idle(check);
        prop_assert!(is_done(&cluster), "{}", status(&cluster));
        prop_assert_eq!(cluster.n_ready(), replicas);
    }
}
