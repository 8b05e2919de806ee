//! DaemonSets on Nodes that come and go.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Cluster, cluster, key};
use crate::sandbox::world::node_of;

fn daemon_set(image: &str, changes: &Value) -> Value {
    let mut object = json!({
        "metadata": {"name": "agent"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "updateStrategy": {"type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
        },
    });
    super::merge(&mut object["spec"], changes);
    object
}

fn on_nodes(n: usize, changes: &Value) -> Cluster {
    let mut cluster = cluster(1);
    for index in 0..n {
        add_node(&mut cluster, &format!("n{index}"));
    }
    cluster.create("daemonsets", daemon_set("a", changes));
    cluster.run_until_idle(|_| {});
    cluster
}

fn add_node(cluster: &mut Cluster, name: &str) {
    cluster.create("nodes", json!({"metadata": {"name": name, "labels": {"name": name}}}));
}

fn taint(cluster: &mut Cluster, node: &str, key: &str, effect: &str) {
    let taints = json!([{"key": key, "effect": effect}]);
    cluster.patch("nodes", node, &json!({"spec": {"taints": taints}}));
}

fn use_image(cluster: &mut Cluster, image: &str) {
    let containers = json!([{"name": "c", "image": image}]);
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    cluster.patch("daemonsets", &key("agent"), &patch);
}

fn status(cluster: &Cluster) -> Value {
    cluster.value("daemonsets", &key("agent"))["status"].clone()
}

/// The node and image of every Pod that is not terminating.
fn places(cluster: &Cluster) -> Vec<(String, String)> {
    let place = |pod| (node_of(pod).to_owned(), Cluster::image(pod).to_owned());
    let mut places: Vec<(String, String)> = cluster.active().map(place).collect();
    places.sort();
    places
}

fn nodes(cluster: &Cluster) -> Vec<String> {
    places(cluster).into_iter().map(|(node, _)| node).collect()
}

#[test]
fn every_node_has_one_pod_as_nodes_come_and_go() {
    let mut cluster = on_nodes(3, &json!({}));
    assert_eq!(nodes(&cluster), ["n0", "n1", "n2"]);
    assert_eq!(
        status(&cluster),
        json!({"desiredNumberScheduled": 3, "currentNumberScheduled": 3, "numberReady": 3,
            "numberAvailable": 3, "updatedNumberScheduled": 3, "numberMisscheduled": 0,
            "numberUnavailable": 0, "observedGeneration": 1})
    );
    add_node(&mut cluster, "n9");
    cluster.remove("nodes", "n1");
    cluster.run_until_idle(|_| {});
    assert_eq!(nodes(&cluster), ["n0", "n2", "n9"]);
    assert_eq!(status(&cluster)["desiredNumberScheduled"], 3);
    let created = cluster.news.iter().filter(|news| news.starts_with("SuccessfulCreate: "));
    assert_eq!(created.count(), 4);
}

#[test]
fn pods_leave_nodes_that_no_longer_suit() {
    let mut cluster = on_nodes(3, &json!({}));
    taint(&mut cluster, "n0", "x", "NoExecute");
    taint(&mut cluster, "n1", "x", "NoSchedule");
    taint(&mut cluster, "n2", "node.kubernetes.io/unschedulable", "NoSchedule");
    cluster.run_until_idle(|_| {});
    assert_eq!(nodes(&cluster), ["n1", "n2"]);
    let told = status(&cluster);
    assert_eq!(
        (&told["desiredNumberScheduled"], &told["numberMisscheduled"]),
        (&json!(1), &json!(1))
    );
    let chosen = json!({"spec": {"template": {"spec": {"nodeSelector": {"name": "n2"}}}}});
    cluster.patch("daemonsets", &key("agent"), &chosen);
    cluster.run_until_idle(|_| {});
    assert_eq!(nodes(&cluster), ["n2"]);
}

#[test]
fn pods_are_replaced_one_node_at_a_time() {
    let mut cluster = on_nodes(5, &json!({}));
    use_image(&mut cluster, "b");
    cluster.run_until_idle(|cluster| {
        assert!(cluster.n_ready() >= 4, "{:?}", places(cluster));
        assert!(cluster.world.pods.len() <= 5, "{:?}", places(cluster));
    });
    assert!(places(&cluster).iter().all(|(_, image)| image == "b"));
    assert_eq!(status(&cluster)["updatedNumberScheduled"], 5);
}

#[test]
fn with_surge_the_new_pod_comes_before_the_old_one_goes() {
    let rolling = json!({"maxSurge": 2, "maxUnavailable": 0});
    let mut cluster = on_nodes(5, &json!({"updateStrategy": {"rollingUpdate": rolling}}));
    use_image(&mut cluster, "b");
    cluster.run_until_idle(|cluster| {
        assert!(cluster.n_ready() >= 5, "{:?}", places(cluster));
        assert!(cluster.active().count() <= 7, "{:?}", places(cluster));
    });
    assert_eq!(nodes(&cluster).len(), 5);
    assert!(places(&cluster).iter().all(|(_, image)| image == "b"));
}

#[test]
fn on_delete_replaces_only_deleted_pods() {
    let mut cluster =
        on_nodes(3, &json!({"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}));
    use_image(&mut cluster, "b");
    cluster.run_until_idle(|_| {});
    assert!(places(&cluster).iter().all(|(_, image)| image == "a"));
    assert_eq!(status(&cluster)["updatedNumberScheduled"], 0);
    let first = super::pod_keys(&cluster)[0].clone();
    cluster.remove("pods", &first);
    cluster.run_until_idle(|_| {});
    let new = places(&cluster).into_iter().filter(|(_, image)| image == "b").count();
    assert_eq!((new, nodes(&cluster).len()), (1, 3));
}

#[test]
fn failed_pods_are_replaced_with_patience() {
    let mut cluster = on_nodes(2, &json!({}));
    let first = super::pod_keys(&cluster)[0].clone();
    cluster.patch("pods", &first, &json!({"status": {"phase": "Failed"}}));
    cluster.run_until_idle(|_| {});
    assert_eq!((nodes(&cluster).len(), cluster.n_ready()), (2, 2));
    let told =
        |news: &String| news.starts_with("FailedDaemonPod: Found failed daemon pod default/");
    assert!(cluster.news.iter().any(told), "{:?}", cluster.news);
}

#[test]
fn a_second_pod_on_a_node_is_deleted() {
    let mut cluster = on_nodes(2, &json!({}));
    let mut second = cluster.value("pods", &super::pod_keys(&cluster)[0]);
    second["metadata"]["name"] = "agent-later".into();
    cluster.create("pods", second);
    cluster.run_until_idle(|_| {});
    assert_eq!(nodes(&cluster), ["n0", "n1"]);
    assert!(!cluster.world.pods.contains_key(key("agent-later").as_str()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever the order of steps: the limits hold on nodes that stay, and in the end each has its
    /// Pod of the last template.
    #[test]
    fn updates_stay_within_their_limits(
        seed: u64,
        n_nodes in 1_usize..8,
        surge in 0_usize..4,
        unavailable in 1_usize..4,
        steps in 0_usize..60,
    ) {
        let unavailable = if surge > 0 { 0 } else { unavailable };
        let rolling = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        let mut cluster = cluster(seed);
        for index in 0..n_nodes {
            add_node(&mut cluster, &format!("n{index}"));
        }
        let strategy = json!({"updateStrategy": {"rollingUpdate": rolling}});
        cluster.create("daemonsets", daemon_set("a", &strategy));
        cluster.run_until_idle(|_| {});
        let (most, least) = (n_nodes + surge, n_nodes.saturating_sub(unavailable));
        let check = |cluster: &Cluster| {
            let (active, ready) = (cluster.active().count(), cluster.n_ready());
            assert!(active <= most && ready >= least, "{active} <= {most}, {ready} >= {least}");
        };
        for image in ["b", "a", "c"] {
            use_image(&mut cluster, image);
            cluster.rush(steps, check);
        }
        cluster.run_until_idle(check);
        prop_assert_eq!(nodes(&cluster).len(), n_nodes);
        prop_assert!(places(&cluster).iter().all(|(_, image)| image == "c"));
        add_node(&mut cluster, "late");
        cluster.remove("nodes", "n0");
        cluster.run_until_idle(|_| {});
        prop_assert_eq!(nodes(&cluster).len(), n_nodes);
    }
}
