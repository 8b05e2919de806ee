use evenkeel_model::{Autoscaler, PodCause, ServiceKey, ServiceState, Snapshot};

use crate::snapshot;

const CLUSTER: &str = "\
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {topology.kubernetes.io/zone: b}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop, uid: u1},
  spec: {selector: {app: web, tier: front}}}
---
{apiVersion: v1, kind: Service, metadata: {name: all, namespace: shop},
  spec: {selector: {app: web}}}
---
{apiVersion: v1, kind: Service, metadata: {name: bare, namespace: shop}, spec: {}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-9, namespace: shop,
  labels: {app: web, tier: front, extra: x},
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d4f, uid: r}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-1, namespace: shop,
  labels: {app: web, tier: front}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-back, namespace: shop,
  labels: {app: web, tier: back},
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: back, uid: r}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: shop}}
---
{apiVersion: v1, kind: Pod, metadata: {name: elsewhere, namespace: other, labels: {app: web}}}
";

fn state<'a>(snapshot: &'a Snapshot, namespace: &str, name: &str) -> &'a ServiceState {
    snapshot.service(&ServiceKey::new(namespace, name)).unwrap()
}

fn pod_names(state: &ServiceState) -> Vec<&str> {
    state.pods.iter().map(|pod| &*pod.name).collect()
}

/// The cluster with some more documents.
fn cluster(more: &str) -> Snapshot {
    snapshot(&format!("{CLUSTER}---\n{more}")).unwrap()
}

fn slice(name: &str, meta: &str) -> String {
    format!(
        "---\n{{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, \
         endpoints: [], metadata: {{name: {name}, namespace: shop, {meta}}}}}\n"
    )
}

#[test]
fn everything_is_sorted_by_name() {
    let snapshot = cluster("");
    let nodes: Vec<&str> =
        snapshot.nodes.iter().map(|n| &**snapshot.topology.nodes.name(n.id)).collect();
    assert_eq!(nodes, ["n1", "n2"]);
    let services: Vec<String> =
        snapshot.services.iter().map(|s| s.service.key.to_string()).collect();
    assert_eq!(services, ["default/web", "shop/all", "shop/bare", "shop/web"]);
}

#[test]
fn selectors_pick_pods_of_their_namespace_that_carry_every_pair() {
    let snapshot = cluster("");
    assert_eq!(pod_names(state(&snapshot, "shop", "web")), ["web-1", "web-9"]);
    assert_eq!(pod_names(state(&snapshot, "shop", "all")), ["web-1", "web-9", "web-back"]);
    assert_eq!(pod_names(state(&snapshot, "default", "web")), [""; 0]);
}

#[test]
fn a_service_without_selector_has_its_slices_and_no_pods() {
    let slices = slice("bare-1", "labels: {kubernetes.io/service-name: bare}");
    let snapshot = cluster(&slices);
    let bare = state(&snapshot, "shop", "bare");
    assert_eq!(bare.service.selector, None);
    assert_eq!(pod_names(bare), [""; 0]);
    assert_eq!(bare.slices.len(), 1);
}

#[test]
fn slices_go_to_the_service_their_label_names_or_are_orphans() {
    let gone = "labels: {kubernetes.io/service-name: gone}";
    let web = "labels: {kubernetes.io/service-name: web}";
    let deleted = format!("{web}, deletionTimestamp: '2025-01-01T00:00:00Z'");
    let slices = [
        slice("web-2", web),
        slice("web-1", web),
        slice("web-0", &deleted),
        slice("gone-1", gone),
        slice("gone-2", gone),
        slice("free", "labels: {a: b}"),
    ];
    let snapshot = cluster(&slices.concat());
    let names: Vec<&str> =
        state(&snapshot, "shop", "web").slices.iter().map(|s| &*s.name).collect();
    assert_eq!(names, ["web-1", "web-2"]);
    assert!(state(&snapshot, "default", "web").slices.is_empty());
    assert_eq!(snapshot.orphans, [ServiceKey::new("shop", "gone")]);
}

#[test]
fn events_of_either_api_are_ordered_by_when_they_were_last_seen() {
    let core = |name: &str, about: &str, rest: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Event, metadata: {{name: {name}, namespace: shop}}, \
             involvedObject: {{kind: Service, name: web, {about}}}, reason: {name}, {rest}}}\n"
        )
    };
    let newer = "---\n{apiVersion: events.k8s.io/v1, kind: Event, type: Warning, note: hello, \
         metadata: {name: newer, namespace: shop}, reason: newer, \
         regarding: {kind: Service, namespace: shop, name: web, uid: u1}, \
         eventTime: '2025-01-01T00:00:02.000000Z'}\n";
    let events = [
        core("last", "namespace: shop", "lastTimestamp: '2025-01-01T00:00:03Z'"),
        newer.to_owned(),
        core(
            "series",
            "apiVersion: v1",
            "eventTime: '2025-01-01T00:00:00.000000Z', \
             series: {count: 4, lastObservedTime: '2025-01-01T00:00:01.500000Z'}",
        ),
        core("first", "uid: u1", "firstTimestamp: '2025-01-01T00:00:01Z'"),
        core("timeless", "namespace: ''", "type: Normal"),
        core("former", "uid: u0", "type: Normal"),
        core("knative", "apiVersion: serving.knative.dev/v1", "type: Normal"),
        core("elsewhere", "namespace: nowhere", "type: Normal"),
    ];
    let snapshot = cluster(&events.concat());
    let events = &state(&snapshot, "shop", "web").events;
    let reasons: Vec<&str> = events.iter().map(|event| &*event.reason).collect();
    assert_eq!(reasons, ["timeless", "first", "series", "newer", "last"]);
    let warnings: Vec<&str> = events.iter().filter(|e| e.warning).map(|e| &*e.message).collect();
    assert_eq!(warnings, ["hello"]);
}

#[test]
fn an_autoscaler_belongs_to_the_service_whose_pods_it_scales() {
    let scaler = |name: &str, kind: &str, target: &str, rest: &str| {
        format!(
            "---\n{{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, \
             metadata: {{name: {name}, namespace: shop}}, \
             spec: {{maxReplicas: 9, {rest} scaleTargetRef: {{kind: {kind}, name: {target}}}}}}}\n"
        )
    };
    let expected = |name: &str, min_replicas| {
        Some(Autoscaler { name: name.into(), min_replicas, max_replicas: 9 })
    };
    let cases = [
        (scaler("h", "Deployment", "web", "minReplicas: 2,"), expected("h", 2)),
        (scaler("h", "Deployment", "web", ""), expected("h", 1)),
        (scaler("h", "Deployment", "web", "minReplicas: -2,"), expected("h", 0)),
        (scaler("h", "ReplicaSet", "web-5d4f", ""), expected("h", 1)),
        (scaler("h", "Deployment", "we", ""), None),
        (scaler("h", "StatefulSet", "web", ""), None),
        (scaler("h", "StatefulSet", "back", ""), None),
        (
            scaler("h2", "Deployment", "web", "") + &scaler("h1", "Deployment", "web", ""),
            expected("h1", 1),
        ),
    ];
    for (text, expected) in cases {
        let snapshot = cluster(&text);
        assert_eq!(state(&snapshot, "shop", "web").autoscaler, expected, "{text}");
        assert_eq!(state(&snapshot, "shop", "bare").autoscaler, None);
    }
    let both = scaler("h2", "Deployment", "web", "") + &scaler("h1", "StatefulSet", "back", "");
    let snapshot = cluster(&both);
    assert_eq!(state(&snapshot, "shop", "all").autoscaler, expected("h1", 1));
}

#[test]
fn nothing_at_all_is_an_empty_cluster() {
    let empty = snapshot("").unwrap();
    assert!(empty.services.is_empty() && empty.nodes.is_empty() && empty.orphans.is_empty());
}

#[test]
fn the_reason_why_a_pod_is_not_ready_is_read_from_its_status() {
    let cause = |status: &str| {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: shop, \
             labels: {{app: x}}}}, status: {status}}}\n---\n{{apiVersion: v1, kind: Service, \
             metadata: {{name: x, namespace: shop}}, spec: {{selector: {{app: x}}}}}}"
        );
        let snapshot = cluster(&pod);
        let problems = &state(&snapshot, "shop", "x").pod_problems;
        problems.first().map(|problem| problem.cause.clone())
    };
    let waiting = "{phase: Pending, containerStatuses: [{name: main, ready: false, image: x, \
        imageID: x, restartCount: 0, state: {waiting: {reason: REASON, message: m}}}]}";
    let cases = [
        ("{phase: Running, conditions: [{type: Ready, status: 'True'}]}".to_owned(), None),
        ("{phase: Succeeded}".to_owned(), None),
        ("{}".to_owned(), Some(PodCause::Pending)),
        (
            "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', message: m}]}"
                .to_owned(),
            Some(PodCause::Unschedulable { message: "m".into() }),
        ),
        (
            waiting.replace("REASON", "ImagePullBackOff"),
            Some(PodCause::ContainerWaiting {
                container: "main".into(),
                reason: "ImagePullBackOff".into(),
                message: "m".into(),
            }),
        ),
        (waiting.replace("REASON", "ContainerCreating"), Some(PodCause::Pending)),
        (
            "{phase: Running, conditions: [{type: Ready, status: 'False', message: m}]}".to_owned(),
            Some(PodCause::NotReady { message: "m".into() }),
        ),
        (
            "{phase: Failed, reason: Evicted, message: m}".to_owned(),
            Some(PodCause::Failed { reason: "Evicted".into(), message: "m".into() }),
        ),
    ];
    for (status, expected) in cases {
        assert_eq!(cause(&status), expected, "{status}");
    }
}

#[test]
fn labels_are_kept_only_where_a_selector_matches_no_pods() {
    assert!(cluster("").pod_labels.keys().all(|namespace| &**namespace != "shop"));
    let missed = "{apiVersion: v1, kind: Service, metadata: {name: x, namespace: shop}, \
                  spec: {selector: {app: wep}}}";
    let snapshot = cluster(missed);
    let values: Vec<&str> = snapshot.pod_labels["shop"]["tier"].iter().map(|v| &**v).collect();
    assert_eq!(values, ["back", "front"]);
    assert!(snapshot.has_pods);
}

#[test]
fn cordoned_nodes_are_listed() {
    let closed = "{apiVersion: v1, kind: Node, metadata: {name: n0}, spec: {unschedulable: true}}";
    let snapshot = cluster(closed);
    let names: Vec<&str> =
        snapshot.cordoned.iter().map(|&node| &**snapshot.topology.nodes.name(node)).collect();
    assert_eq!(names, ["n0"]);
}
