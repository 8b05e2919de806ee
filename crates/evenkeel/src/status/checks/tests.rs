use evenkeel_model::{ServiceKey, label};
use evenkeel_topology::Policy;

use super::*;
use crate::{
    controller::access,
    status::{
        LeaseName,
        facts::{
            Condition, ControlPlane, Facts, Failure, Lease, Mesh, Metrics, Node, Proxy, Service,
            Shares, Slice, Syncs,
        },
    },
};

const NOW: i64 = 1_800_000_000;

fn node(name: &str, zone: &str) -> Node {
    let zone = (!zone.is_empty()).then(|| zone.to_owned());
    Node { name: name.into(), is_ready: true, zone, has_cpu: true, ..Node::default() }
}

fn key(name: &str) -> ServiceKey {
    ServiceKey::new("shop", name)
}

fn service(name: &str) -> Service {
    Service {
        key: key(name),
        created: Some(NOW - 60),
        has_selector: true,
        policy: Policy::None,
        conditions: vec![],
    }
}

fn slice(service: &str, manager: &str, endpoints: usize) -> Slice {
    let shares = Shares::None;
    Slice { service: key(service), manager: manager.into(), endpoints, ready: endpoints, shares }
}

fn condition(kind: &str, status: bool) -> Condition {
    Condition { kind: kind.into(), status, reason: "Why".into(), message: "so it is".into() }
}

fn syncs(success: u64, stale: u64, error: u64) -> Metrics {
    Metrics::Read { url: "http://m".into(), syncs: Syncs { success, stale, error } }
}

fn lease(holder: &str, renewed: i64) -> Lease {
    let name = LeaseName { namespace: "kube-system".into(), name: "evenkeel".into() };
    Lease { name, holder: Some(holder.into()), renewed: Some(renewed), duration_seconds: 15 }
}

fn elsewhere(lease: Lease) -> Lease {
    let name = LeaseName { namespace: "elsewhere".into(), name: "evenkeel".into() };
    Lease { name, ..lease }
}

fn all_checks(cluster: Cluster) -> Vec<Check> {
    checks(&Facts { source: None, cluster: Ok(Box::new(cluster)) })
}

/// A cluster in which all is well.
fn healthy() -> Cluster {
    Cluster {
        version: Ok("v1.36.0".into()),
        now: NOW,
        access: access::needed().map(|permission| (permission, Answer::Allowed)).collect(),
        nodes: Ok(vec![node("a1", "a"), node("b1", "b")]),
        leases: Ok(vec![lease("me", NOW - 2)]),
        proxies: Ok(vec![]),
        services: Ok(vec![service("web")]),
        slices: Ok(vec![slice("web", label::EVENKEEL, 3)]),
        failures: Ok(vec![]),
        metrics: syncs(100, 5, 0),
        mesh: None,
    }
}

/// The checks that are not ok, after `change` to a healthy cluster.
fn found(change: impl FnOnce(&mut Cluster)) -> Vec<Check> {
    let mut cluster = healthy();
    change(&mut cluster);
    all_checks(cluster).into_iter().filter(|check| check.outcome != Outcome::Ok).collect()
}

type Change = fn(&mut Cluster);

/// A change to a healthy cluster, and the one finding it leads to.
const FINDINGS: &[(Code, Outcome, &str, Change)] = &[
    (
        Code::ApiServerVersionUnknown,
        Outcome::Failed,
        "API server does not report its version: Unauthorized",
        |c| c.version = Err("Unauthorized".into()),
    ),
    (
        Code::PermissionsMissing,
        Outcome::Failed,
        "credentials lack permissions the controller needs: list nodes",
        |c| c.access[0].1 = Answer::Denied,
    ),
    (Code::PermissionsMissing, Outcome::Failed, "and 3 more", |c| {
        c.access.iter_mut().take(8).for_each(|(_, answer)| *answer = Answer::Denied);
    }),
    (Code::PermissionsUnknown, Outcome::Warning, "can't be checked: forbidden", |c| {
        c.access[3].1 = Answer::Unknown("forbidden".into());
    }),
    (Code::NodesWithoutZone, Outcome::Failed, "zone: x", |c| nodes(c).push(node("x", ""))),
    (Code::NodesWithoutCpu, Outcome::Failed, "cpu: x", |c| {
        nodes(c).push(Node { has_cpu: false, ..node("x", "a") });
    }),
    (Code::NodesInOneZone, Outcome::Failed, "in one zone: a", |c| nodes(c).truncate(1)),
    (Code::NoReadyNodes, Outcome::Failed, "no worker node is ready", |c| nodes(c).clear()),
    (Code::NodesNotReady, Outcome::Warning, "2 of 3 worker nodes are ready; not ready: x", |c| {
        nodes(c).push(Node { is_ready: false, ..node("x", "") });
    }),
    (Code::NodesCordoned, Outcome::Warning, "1 of 3 ready nodes cordoned: x", |c| {
        nodes(c).push(Node { is_cordoned: true, ..node("x", "a") });
    }),
    (
        Code::NodesCordoned,
        Outcome::Warning,
        "1 of 2 ready nodes cordoned: a1; no schedulable node in a",
        |c| nodes(c)[0].is_cordoned = true,
    ),
    (Code::NodesNotListed, Outcome::Warning, "cannot list nodes: no", |c| {
        c.nodes = Err("no".into());
    }),
    (
        Code::LeaseNotFound,
        Outcome::Failed,
        "lease evenkeel-endpointslice-controller not found",
        |c| c.leases = Ok(vec![]),
    ),
    (Code::LeasesNotListed, Outcome::Warning, "cannot list leases: no", |c| {
        c.leases = Err("no".into());
    }),
    (Code::LeaseNotHeld, Outcome::Failed, "kube-system/evenkeel has no holder", |c| {
        c.leases = Ok(vec![lease("", NOW)]);
    }),
    (
        Code::LeaseExpired,
        Outcome::Failed,
        "lease kube-system/evenkeel of me has expired: last renewed 16 s ago",
        |c| c.leases = Ok(vec![elsewhere(lease("old", 0)), lease("me", NOW - 16)]),
    ),
    (
        Code::StaleLease,
        Outcome::Warning,
        "stale lease elsewhere/evenkeel of old: last renewed 3 d ago",
        |c| c.leases.as_mut().unwrap().insert(0, elsewhere(lease("old", NOW - 3 * 86_400))),
    ),
    (Code::StaleLease, Outcome::Warning, "stale lease elsewhere/evenkeel without a holder", |c| {
        c.leases.as_mut().unwrap().insert(0, elsewhere(lease("", NOW)));
    }),
    (Code::SeveralLeaders, Outcome::Failed, "me holds lease kube-system/evenkeel too", |c| {
        c.leases.as_mut().unwrap().insert(0, elsewhere(lease("other", NOW)));
    }),
    (
        Code::RecentSyncFailures,
        Outcome::Warning,
        "failed syncs in the last hour: shop/web: conflict",
        |c| c.failures = Ok(vec![failure(Some(NOW - 3600)), failure(Some(NOW))]),
    ),
    (Code::RecentSyncFailures, Outcome::Warning, "shop/web", |c| {
        c.failures = Ok(vec![failure(None)]);
    }),
    (Code::EventsNotListed, Outcome::Warning, "cannot list events", |c| {
        c.failures = Err("no".into());
    }),
    (Code::SyncErrorsHigh, Outcome::Failed, "11 of 100 syncs failed, more than 10 %", |c| {
        c.metrics = syncs(89, 0, 11);
    }),
    (Code::SyncErrorsHigh, Outcome::Failed, "1 of 1 syncs failed", |c| c.metrics = syncs(0, 0, 1)),
    (Code::MetricsNotChecked, Outcome::Warning, "were not checked", |c| {
        c.metrics = Metrics::NotChecked;
    }),
    (Code::MetricsUnreachable, Outcome::Warning, "at http://m: refused", |c| {
        c.metrics = Metrics::Unreachable { url: "http://m".into(), problem: "refused".into() };
    }),
    (
        Code::TwoSliceManagers,
        Outcome::Failed,
        "Evenkeel and kube-controller-manager both write EndpointSlices of shop/web",
        |c| c.slices.as_mut().unwrap().push(slice("web", label::BUILT_IN, 1)),
    ),
    (Code::ServicesWithoutSlices, Outcome::Failed, "no EndpointSlices for shop/web", |c| {
        c.slices = Ok(vec![slice("web", "somebody", 3)]);
    }),
    (Code::SlicesNotListed, Outcome::Warning, "cannot list endpointslices", |c| {
        c.slices = Err("no".into());
    }),
    (Code::ServicesNotListed, Outcome::Warning, "cannot list services", |c| {
        c.services = Err("no".into());
    }),
    (Code::ZoneSharesMissing, Outcome::Warning, "without zone shares: shop/web", |c| {
        set_policy(c, Policy::Balanced);
    }),
    (Code::ZoneSharesBroken, Outcome::Warning, "can't be used: shop/web (sums to 7)", |c| {
        set_policy(c, Policy::Balanced);
        c.slices.as_mut().unwrap()[0].shares = Shares::Invalid("sums to 7".into());
    }),
    (Code::NodesWithoutRegion, Outcome::Warning, "topology.kubernetes.io/region: b1", |c| {
        set_policy(c, Policy::PreferSameRegion);
        nodes(c)[0].region = Some("east".into());
    }),
    (Code::ZonesInSeveralRegions, Outcome::Warning, "several regions: a (east, west)", |c| {
        set_policy(c, Policy::PreferSameZoneThenRegion);
        nodes(c).push(node("a2", "a"));
        let regions = ["east", "east", "west"].map(|name| Some(name.to_owned()));
        nodes(c).iter_mut().zip(regions).for_each(|(node, region)| node.region = region);
    }),
    (
        Code::ConditionFalse,
        Outcome::Warning,
        "shop/web: TrafficDistributionProgrammed is False (Why): so it is",
        |c| set_conditions(c, &[(ACCEPTED, true), (PROGRAMMED, false)]),
    ),
    (
        Code::StaleConditions,
        Outcome::Warning,
        "conditions of an earlier controller mode on shop/web",
        |c| {
            set_conditions(
                c,
                &[(ACCEPTED, true), ("evenkeel.dev/TrafficDistributionAccepted", true)],
            );
        },
    ),
    (Code::StaleConditions, Outcome::Warning, "earlier controller mode on shop/web", |c| {
        set_conditions(c, &[(PROGRAMMED, false)]);
        c.slices = Ok(vec![slice("web", label::BUILT_IN, 3)]);
    }),
    (Code::ProxiesStale, Outcome::Warning, "no longer report: b1", |cluster| {
        cluster.proxies = Ok(vec![proxy("a1", 3), proxy("b1", 121)]);
    }),
    (Code::NodesWithoutProxy, Outcome::Warning, "without Evenkeel's proxy: b1", |cluster| {
        cluster.proxies = Ok(vec![proxy("a1", 3)]);
    }),
    (Code::ProxyExceptions, Outcome::Warning, "can't serve some Services: a1 (7)", |cluster| {
        let excepting = Proxy { exceptions: 7, ..proxy("a1", 3) };
        cluster.proxies = Ok(vec![excepting, proxy("b1", 3)]);
    }),
    (Code::ProxiesNotListed, Outcome::Warning, "cannot list leases: forbidden", |cluster| {
        cluster.proxies = Err("forbidden".into());
    }),
    (Code::ControlPlaneUnreachable, Outcome::Warning, "at http://a: refused", |c| {
        c.mesh = Some(Mesh { url: "http://a".into(), found: Err("refused".into()) });
    }),
    (Code::ControlPlaneNotReady, Outcome::Failed, "not ready: caches", |c| {
        c.mesh = mesh(|it| it.unready = Some("caches failed".into()));
    }),
    (Code::EnvoyRejects, Outcome::Failed, "what they were sent: default/web-1", |c| {
        c.mesh = mesh(|it| it.rejecting = vec!["default/web-1".into()]);
    }),
    (
        Code::MeshResourcesInvalid,
        Outcome::Warning,
        "2 invalid resources not in force: a: no",
        |c| {
            c.mesh = mesh(|it| it.invalid = vec!["a: no".into(), "b".into()]);
        },
    ),
];

fn mesh(change: impl FnOnce(&mut ControlPlane)) -> Option<Mesh> {
    let mut found = ControlPlane { connected: 1, not_connected: 2, ..ControlPlane::default() };
    change(&mut found);
    Some(Mesh { url: "http://a".into(), found: Ok(found) })
}

const ACCEPTED: &str = "TrafficDistributionAccepted";
const PROGRAMMED: &str = "TrafficDistributionProgrammed";

fn set_policy(cluster: &mut Cluster, policy: Policy) {
    cluster.services.as_mut().unwrap()[0].policy = policy;
}

fn nodes(cluster: &mut Cluster) -> &mut Vec<Node> {
    cluster.nodes.as_mut().unwrap()
}

fn failure(at: Option<i64>) -> Failure {
    Failure { service: key("web"), at, message: "conflict".into() }
}

fn set_conditions(cluster: &mut Cluster, conditions: &[(&str, bool)]) {
    let conditions = conditions.iter().map(|&(kind, status)| condition(kind, status)).collect();
    cluster.services = Ok(vec![Service { conditions, ..service("web") }]);
}

#[test]
fn each_problem_is_one_finding_with_a_code_and_something_to_do() {
    for (code, outcome, words, change) in FINDINGS {
        let found = found(change);
        let [check] = found.as_slice() else { panic!("{words}: {found:?}") };
        assert_eq!((check.code, check.outcome), (*code, *outcome), "{check:?}");
        assert!(check.message.contains(words), "{words:?} is not in {:?}", check.message);
        assert!(check.help.as_ref().is_some_and(|help| !help.is_empty()), "{check:?}");
    }
}

#[test]
fn a_healthy_cluster_passes_every_check_and_every_code_is_in_use() {
    let mut cluster = healthy();
    set_conditions(&mut cluster, &[(ACCEPTED, true), (PROGRAMMED, true)]);
    set_policy(&mut cluster, Policy::Balanced);
    cluster
        .services
        .as_mut()
        .unwrap()
        .push(Service { policy: Policy::PreferSameRegion, ..service("other") });
    let other = slice("other", label::EVENKEEL, 1);
    cluster.slices.as_mut().unwrap().push(other);
    cluster.slices.as_mut().unwrap()[0].shares = Shares::Valid;
    nodes(&mut cluster).iter_mut().for_each(|node| node.region = Some("east".into()));
    cluster.proxies = Ok(vec![proxy("a1", 3), proxy("b1", 119)]);
    cluster.mesh = mesh(|_| {});
    let all = all_checks(cluster);
    assert!(all.iter().all(|check| check.outcome == Outcome::Ok && check.help.is_none()));
    let groups = [Group::Api, Group::Access, Group::Nodes, Group::Controller, Group::Proxies];
    for group in groups.into_iter().chain([Group::Services, Group::Mesh]) {
        assert!(all.iter().any(|check| check.group == group), "{group:?}");
    }
    let mut used: Vec<Code> = all.iter().map(|check| check.code).collect();
    used.extend(FINDINGS.iter().map(|(code, ..)| *code));
    used.push(Code::ApiServerUnreachable);
    let unused: Vec<&Code> = Code::ALL.iter().filter(|code| !used.contains(code)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn an_unreachable_api_server_is_the_only_finding() {
    let unreachable = Unreachable { problem: "no".into(), help: Some("start it".into()) };
    let all = checks(&Facts { source: None, cluster: Err(unreachable) });
    let [check] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((check.outcome, check.message.as_str()), (Outcome::Failed, "no"));
    assert_eq!(check.code, Code::ApiServerUnreachable);
    assert_eq!(check.help.as_deref(), Some("start it"));
}

#[test]
fn what_is_harmless_is_no_finding() {
    let control_plane = Node { is_control_plane: true, has_cpu: false, ..node("x", "") };
    assert_eq!(found(|c| nodes(c).push(control_plane)), []);
    assert_eq!(found(|c| c.leases = Ok(vec![lease("me", NOW - 15)])), []);
    // A clock that is ahead is no fault of the controller.
    assert_eq!(found(|c| c.leases = Ok(vec![lease("me", NOW + 5)])), []);
    assert_eq!(found(|c| c.failures = Ok(vec![failure(Some(NOW - 3601))])), []);
    assert_eq!(found(|c| c.metrics = syncs(0, 0, 0)), []);
    assert_eq!(found(|c| c.metrics = syncs(80, 10, 10)), []);
    // Not ready, or of another controller: no zone shares are expected.
    assert_eq!(
        found(|c| {
            set_policy(c, Policy::Balanced);
            c.slices.as_mut().unwrap()[0].ready = 0;
        }),
        []
    );
    let built_in = |endpoints| slice("web", label::BUILT_IN, endpoints);
    assert_eq!(found(|c| c.slices.as_mut().unwrap().push(built_in(0))), []);
    assert_eq!(found(|c| c.slices = Ok(vec![built_in(3)])), []);
}

/// It leads, although a Lease of an earlier installation comes first.
#[test]
fn the_lease_that_is_held_is_reported() {
    let mut cluster = healthy();
    cluster.leases.as_mut().unwrap().insert(0, elsewhere(lease("old", NOW - 60)));
    let all = all_checks(cluster);
    let leader = all.iter().find(|check| check.code == Code::LeaderActive).unwrap();
    assert_eq!(leader.message, "me is leader; lease kube-system/evenkeel renewed 2 s ago");
}

#[test]
fn a_service_that_is_new_or_has_no_selector_needs_no_slices() {
    let new = Service { created: Some(NOW - 9), ..service("new") };
    let bare = Service { has_selector: false, ..service("bare") };
    let mut cluster = healthy();
    cluster.services.as_mut().unwrap().extend([new, bare]);
    let all = all_checks(cluster);
    assert!(all.iter().all(|check| check.outcome == Outcome::Ok), "{all:?}");
    let words = "1 Services have EndpointSlices; 1 created just now";
    assert!(all.iter().any(|check| check.message == words), "{all:?}");
}

#[test]
fn a_service_that_cannot_be_planned_has_current_conditions_without_slices() {
    let invalid = Condition { reason: "InvalidService".into(), ..condition(ACCEPTED, false) };
    let found = found(|c| {
        c.services = Ok(vec![Service { conditions: vec![invalid], ..service("web") }]);
        c.slices = Ok(vec![slice("web", label::BUILT_IN, 3)]);
    });
    assert_eq!(found.iter().map(|check| check.code).collect::<Vec<_>>(), [Code::ConditionFalse]);
}

#[test]
fn many_conditions_are_summed_up() {
    let many = found(|c| set_conditions(c, &[("X", false); 13]));
    assert_eq!(many.len(), 11);
    assert_eq!(many[10].message, "3 more conditions are False");
}

fn proxy(node: &str, age: i64) -> Proxy {
    Proxy { node: node.into(), renewed: Some(NOW - age), valid_for_seconds: 120, exceptions: 0 }
}

#[test]
fn a_cluster_without_proxies_is_told_nothing_of_them() {
    for proxies in [vec![], vec![proxy("elsewhere", 3)]] {
        let checks = all_checks(Cluster { proxies: Ok(proxies), ..healthy() });
        assert!(checks.iter().all(|check| check.group != Group::Proxies), "{checks:?}");
    }
}
