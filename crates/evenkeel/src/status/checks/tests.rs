use evenkeel_model::{ServiceKey, label};

use super::*;
use crate::{
    controller::access,
    status::{
        LeaseName,
        facts::{Condition, Failure, Lease, Metrics, Node, Service, Slice, Syncs},
    },
};

const NOW: i64 = 1_800_000_000;

fn node(name: &str, zone: &str) -> Node {
    let zone = (!zone.is_empty()).then(|| zone.to_owned());
    Node { name: name.into(), is_ready: true, is_control_plane: false, zone, has_cpu: true }
}

fn key(name: &str) -> ServiceKey {
    ServiceKey::new("shop", name)
}

fn service(name: &str) -> Service {
    Service { key: key(name), created: Some(NOW - 60), has_selector: true, conditions: vec![] }
}

fn slice(service: &str, manager: &str, endpoints: usize) -> Slice {
    Slice { service: key(service), manager: manager.into(), endpoints }
}

fn condition(kind: &str, status: bool) -> Condition {
    Condition { kind: kind.into(), status, reason: "Why".into(), message: "so it is".into() }
}

fn syncs(success: u64, stale: u64, error: u64) -> Metrics {
    Metrics::Read { url: "http://m".into(), syncs: Syncs { success, stale, error } }
}

fn lease(holder: &str, renewed: i64) -> Lease {
    Lease { holder: Some(holder.into()), renewed: Some(renewed), duration_seconds: 15 }
}

/// A cluster in which all is well.
fn healthy() -> Cluster {
    Cluster {
        version: Ok("v1.36.0".into()),
        now: NOW,
        access: access::needed().map(|permission| (permission, Answer::Allowed)).collect(),
        nodes: Ok(vec![node("a1", "a"), node("b1", "b")]),
        lease_name: LeaseName { namespace: "kube-system".into(), name: "evenkeel".into() },
        lease: Ok(Some(lease("me", NOW - 2))),
        services: Ok(vec![service("web")]),
        slices: Ok(vec![slice("web", label::EVENKEEL, 3)]),
        failures: Ok(vec![]),
        metrics: syncs(100, 5, 0),
    }
}

/// The checks that are not ok, after `change` to a healthy cluster.
fn found(change: impl FnOnce(&mut Cluster)) -> Vec<Check> {
    let mut cluster = healthy();
    change(&mut cluster);
    let all = checks(&Facts::Reached(Box::new(cluster)));
    all.into_iter().filter(|check| check.outcome != Outcome::Ok).collect()
}

/// Expects exactly one finding, of this weight, with these words and something to do about it.
fn one(outcome: Outcome, words: &str, change: impl FnOnce(&mut Cluster)) {
    let found = found(change);
    let [check] = found.as_slice() else { panic!("{words}: {found:?}") };
    assert_eq!(check.outcome, outcome, "{check:?}");
    assert!(check.text.contains(words), "{words:?} is not in {:?}", check.text);
    assert!(check.help.as_ref().is_some_and(|help| !help.is_empty()), "{check:?}");
}

#[test]
fn a_healthy_cluster_passes_every_check() {
    let all = checks(&Facts::Reached(Box::new(healthy())));
    assert!(all.iter().all(|check| check.outcome == Outcome::Ok && check.help.is_none()));
    for group in [Group::Api, Group::Access, Group::Nodes, Group::Controller, Group::Services] {
        assert!(all.iter().any(|check| check.group == group), "{group:?}");
    }
}

#[test]
fn without_an_api_server_nothing_else_is_looked_at() {
    let facts = Facts::Unreachable { problem: "no".into(), help: Some("start it".into()) };
    let all = checks(&facts);
    let [check] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((check.outcome, check.text.as_str()), (Outcome::Failed, "no"));
    assert_eq!(check.help.as_deref(), Some("start it"));
}

#[test]
fn the_api_and_what_may_be_done_there_are_checked() {
    one(Outcome::Failed, "Unauthorized", |c| c.version = Err("Unauthorized".into()));
    one(Outcome::Failed, "may not list nodes", |c| c.access[0].1 = Answer::Denied);
    one(Outcome::Failed, "and 3 more", |c| {
        c.access.iter_mut().take(8).for_each(|(_, answer)| *answer = Answer::Denied);
    });
    one(Outcome::Warning, "forbidden", |c| c.access[3].1 = Answer::Unknown("forbidden".into()));
}

#[test]
fn nodes_need_a_zone_and_cpu_in_two_zones() {
    fn nodes(c: &mut Cluster) -> &mut Vec<Node> {
        c.nodes.as_mut().unwrap()
    }
    one(Outcome::Failed, "zone: x", |c| nodes(c).push(node("x", "")));
    one(Outcome::Failed, "cpu: x", |c| {
        nodes(c).push(Node { has_cpu: false, ..node("x", "a") });
    });
    one(Outcome::Failed, "in 1 zone", |c| nodes(c).truncate(1));
    one(Outcome::Failed, "no worker node is ready", |c| nodes(c).clear());
    one(Outcome::Warning, "2 of 3 worker nodes are ready; not ready: x", |c| {
        nodes(c).push(Node { is_ready: false, ..node("x", "") });
    });
    one(Outcome::Warning, "nodes can't be listed: no", |c| c.nodes = Err("no".into()));
    let control_plane = Node { is_control_plane: true, has_cpu: false, ..node("x", "") };
    assert_eq!(found(|c| nodes(c).push(control_plane)), []);
}

#[test]
fn the_lease_must_be_held_and_fresh() {
    one(Outcome::Failed, "there is no lease kube-system/evenkeel", |c| c.lease = Ok(None));
    one(Outcome::Warning, "can't be read: no", |c| c.lease = Err("no".into()));
    one(Outcome::Failed, "nobody holds", |c| c.lease = Ok(Some(Lease::default())));
    one(Outcome::Failed, "nobody holds", |c| c.lease = Ok(Some(lease("", NOW))));
    one(Outcome::Failed, "me holds the lease", |c| c.lease = Ok(Some(lease("me", NOW - 16))));
    assert_eq!(found(|c| c.lease = Ok(Some(lease("me", NOW - 15)))), []);
    // A clock that is ahead is no fault of the controller.
    assert_eq!(found(|c| c.lease = Ok(Some(lease("me", NOW + 5)))), []);
}

#[test]
fn recent_failures_are_told_and_old_ones_are_not() {
    let failure = |at| Failure { service: key("web"), at, message: "conflict".into() };
    one(Outcome::Warning, "FailedToUpdateEndpointSlices: shop/web: conflict", |c| {
        c.failures = Ok(vec![failure(Some(NOW - 3600)), failure(Some(NOW))]);
    });
    one(Outcome::Warning, "shop/web", |c| c.failures = Ok(vec![failure(None)]));
    assert_eq!(found(|c| c.failures = Ok(vec![failure(Some(NOW - 3601))])), []);
    one(Outcome::Warning, "events can't be listed", |c| c.failures = Err("no".into()));
}

#[test]
fn more_than_ten_percent_failed_syncs_is_a_failure() {
    assert_eq!(found(|c| c.metrics = syncs(0, 0, 0)), []);
    assert_eq!(found(|c| c.metrics = syncs(80, 10, 10)), []);
    one(Outcome::Failed, "11 of 100 syncs failed", |c| c.metrics = syncs(89, 0, 11));
    one(Outcome::Failed, "1 of 1 syncs failed", |c| c.metrics = syncs(0, 0, 1));
    one(Outcome::Warning, "were not looked at", |c| c.metrics = Metrics::NotAsked);
    one(Outcome::Warning, "at http://m: refused", |c| {
        c.metrics = Metrics::Unreachable { url: "http://m".into(), problem: "refused".into() };
    });
}

#[test]
fn a_service_has_slices_of_one_controller() {
    let built_in = |endpoints| slice("web", label::BUILT_IN, endpoints);
    one(Outcome::Failed, "both write slices of shop/web", |c| {
        c.slices.as_mut().unwrap().push(built_in(1));
    });
    assert_eq!(found(|c| c.slices.as_mut().unwrap().push(built_in(0))), []);
    assert_eq!(found(|c| c.slices = Ok(vec![built_in(3)])), []);
    one(Outcome::Failed, "no controller has written slices of shop/web", |c| {
        c.slices = Ok(vec![slice("web", "somebody", 3)]);
    });
    one(Outcome::Warning, "endpointslices can't be listed", |c| c.slices = Err("no".into()));
    one(Outcome::Warning, "services can't be listed", |c| c.services = Err("no".into()));
}

#[test]
fn services_that_need_no_slices_yet_are_not_missed() {
    let new = Service { created: Some(NOW - 9), ..service("new") };
    let bare = Service { has_selector: false, ..service("bare") };
    let mut cluster = healthy();
    cluster.services.as_mut().unwrap().extend([new, bare]);
    let all = checks(&Facts::Reached(Box::new(cluster)));
    assert!(all.iter().all(|check| check.outcome == Outcome::Ok), "{all:?}");
    let words = "1 Services have slices, and 1 are too new to have any";
    assert!(all.iter().any(|check| check.text == words), "{all:?}");
}

#[test]
fn conditions_that_are_false_are_listed_with_their_reason() {
    let with = |conditions| Service { conditions, ..service("web") };
    one(Outcome::Warning, "shop/web: TrafficDistributionProgrammed is False: Why: so it is", |c| {
        let kinds =
            [("TrafficDistributionAccepted", true), ("TrafficDistributionProgrammed", false)];
        let conditions = kinds.map(|(kind, status)| condition(kind, status));
        c.services = Ok(vec![with(conditions.into())]);
    });
    let many = found(|c| c.services = Ok(vec![with(vec![condition("X", false); 13])]));
    assert_eq!(many.len(), 11);
    assert_eq!(many[10].text, "and 3 more such conditions");
}
