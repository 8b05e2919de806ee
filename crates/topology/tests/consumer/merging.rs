//! Which endpoints a port has.

use std::sync::Arc;

use evenkeel_model::{AddressType, Endpoint, Protocol, Selectable, Service, Slice, Target, label};
use evenkeel_testkit::ServiceExt;
use evenkeel_topology::consumer::View;

use crate::world::{
    NOT_READY, TERMINATING, at, changed, endpoints, hinted, key, namespace, ports, service_of,
    settings, slice, view, zone,
};

#[test]
fn slices_come_before_their_service_or_after_it() {
    let mut view = view();
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(2)]));
    assert!(changed(&mut view).is_empty());
    view.apply_service(service_of("web", &["http"]));
    view.apply_slice(&namespace(), &slice("s2", "web", vec![at(1)]));
    assert_eq!(endpoints(&view, "web", 0), ["10.0.0.1:8080", "10.0.0.2:8080"]);
    assert_eq!(changed(&mut view).len(), 1);
    assert!(changed(&mut view).is_empty());
}

#[test]
fn a_service_that_goes_and_comes_again_finds_its_slices() {
    let mut view = view();
    view.apply_service(service_of("web", &["http"]));
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(1)]));
    let added = changed(&mut view);
    view.delete_service(&key("web"));
    assert_eq!(changed(&mut view), [(added[0].0, "removed")]);
    assert_eq!(view.find(&key("web")), None);
    view.apply_service(service_of("web", &["http"]));
    assert_eq!(endpoints(&view, "web", 0), ["10.0.0.1:8080"]);
    view.delete_service(&key("web"));
    assert!(changed(&mut view).is_empty(), "never seen");
}

#[test]
fn the_id_of_a_port_that_went_means_nothing_else_until_its_end_was_seen() {
    let mut view = view();
    view.apply_service(service_of("web", &["http"]));
    let old = changed(&mut view)[0].0;
    view.delete_service(&key("web"));
    view.apply_service(service_of("api", &["http"]));
    let seen = changed(&mut view);
    assert_eq!(seen[0], (old, "removed"));
    assert_ne!(seen[1].0, old);
}

#[test]
fn a_slice_whose_label_names_another_service_moves() {
    let mut view = view();
    view.apply_service(service_of("web", &["http"]));
    view.apply_service(service_of("api", &["http"]));
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(1)]));
    view.apply_slice(&namespace(), &slice("s1", "api", vec![at(1)]));
    assert!(endpoints(&view, "web", 0).is_empty());
    assert_eq!(endpoints(&view, "api", 0), ["10.0.0.1:8080"]);
    let mut unlabelled = slice("s1", "api", vec![at(1)]);
    unlabelled.labels.remove(label::SERVICE_NAME);
    view.apply_slice(&namespace(), &unlabelled);
    assert!(endpoints(&view, "api", 0).is_empty());
}

#[test]
fn slices_of_one_name_in_two_namespaces_are_two() {
    let mut view = view();
    view.apply_service(service_of("web", &["http"]));
    view.apply_slice(&"other".into(), &slice("s1", "web", vec![at(1)]));
    assert!(endpoints(&view, "web", 0).is_empty());
}

#[test]
fn of_an_address_in_two_slices_the_ready_one_counts_then_the_first_slice() {
    let with = |conditions| Endpoint { conditions, ..hinted(1, 2) };
    let other = hinted(1, 3);
    let count = |first: Endpoint, second: Endpoint| {
        let mut view = view();
        view.apply_service(service_of("web", &["http"]));
        // The later one by name comes first.
        view.apply_slice(&namespace(), &slice("s2", "web", vec![second]));
        view.apply_slice(&namespace(), &slice("s1", "web", vec![first]));
        let id = changed(&mut view)[0].0;
        let seen: Vec<_> = view.port(id).unwrap().endpoints().collect();
        assert_eq!(seen.len(), 1);
        [2, 3].into_iter().find(|z| seen[0].candidate.is_for_zone(zone(*z))).unwrap()
    };
    assert_eq!(count(hinted(1, 2), other.clone()), 2, "by name");
    assert_eq!(count(with(TERMINATING), other.clone()), 3, "ready before terminating");
    assert_eq!(count(with(NOT_READY), other.clone()), 3, "ready before not ready");
    let ending = Endpoint { conditions: TERMINATING, ..other };
    assert_eq!(count(with(NOT_READY), ending), 3, "serving before not ready");
}

#[test]
fn an_endpoint_that_moves_between_slices_is_never_gone() {
    let mut view = view();
    view.apply_service(service_of("web", &["http"]));
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(1), at(2)]));
    changed(&mut view);
    view.apply_slice(&namespace(), &slice("s2", "web", vec![at(2)]));
    assert!(changed(&mut view).is_empty(), "s1 still counts");
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(1)]));
    assert_eq!(endpoints(&view, "web", 0).len(), 2);
}

#[test]
fn target_ports_are_those_of_each_slice() {
    let mut view = view();
    view.apply_service(service_of("web", &["http", "metrics"]));
    let with = |name: &str, numbers: &[(&str, u16)], last| Slice {
        ports: ports(numbers),
        ..slice(name, "web", vec![at(last)])
    };
    view.apply_slice(&namespace(), &with("s1", &[("http", 8080), ("metrics", 9090)], 1));
    view.apply_slice(&namespace(), &with("s2", &[("http", 8081)], 2));
    view.apply_slice(&namespace(), &with("s3", &[("http", 0), ("other", 1)], 3));
    assert_eq!(endpoints(&view, "web", 0), ["10.0.0.1:8080", "10.0.0.2:8081"]);
    assert_eq!(endpoints(&view, "web", 1), ["10.0.0.1:9090"]);
    // The same address at two target ports is two endpoints, as in kube-proxy.
    view.apply_slice(&namespace(), &with("s2", &[("http", 8081)], 1));
    assert_eq!(endpoints(&view, "web", 0), ["10.0.0.1:8080", "10.0.0.1:8081"]);
    view.apply_slice(&namespace(), &with("s2", &[("metrics", 1)], 1));
    assert_eq!(endpoints(&view, "web", 0), ["10.0.0.1:8080"]);
    assert_eq!(endpoints(&view, "web", 1), ["10.0.0.1:1", "10.0.0.1:9090"]);
}

#[test]
fn ports_match_by_name_and_protocol() {
    let mut view = view();
    let mut service = service_of("dns", &["dns"]);
    service.ports[0].protocol = Protocol::Udp;
    view.apply_service(service);
    let tcp = Slice { ports: ports(&[("dns", 53)]), ..slice("s1", "dns", vec![at(1)]) };
    view.apply_slice(&namespace(), &tcp);
    assert!(endpoints(&view, "dns", 0).is_empty());
}

#[test]
fn families_are_apart_and_names_are_ignored() {
    let mut view = view();
    view.apply_service(service_of("web", &["http"]).dual_stack());
    let of = |family, name| Slice { address_type: family, ..slice(name, "web", vec![at(1)]) };
    view.apply_slice(&namespace(), &of(AddressType::IPv4, "s1"));
    // An address of the wrong family is no endpoint.
    view.apply_slice(&namespace(), &of(AddressType::IPv6, "s2"));
    view.apply_slice(&namespace(), &of(AddressType::Fqdn, "s3"));
    assert_eq!(endpoints(&view, "web", 0), ["10.0.0.1:8080"]);
    assert!(endpoints(&view, "web", 1).is_empty());
}

#[test]
fn ports_that_stay_keep_their_id() {
    let mut view = view();
    view.apply_service(service_of("web", &["http", "metrics"]));
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(1)]));
    let ids = changed(&mut view);
    view.apply_service(service_of("web", &["more", "http"]));
    let id = view.find(&key("web")).unwrap();
    assert_eq!(view.ports_of(id)[1], ids[0].0);
    assert_eq!(view.port(ids[0].0).unwrap().port().port, 81);
    let mut seen = changed(&mut view);
    seen.sort_unstable_by_key(|(_, kind)| *kind);
    let kinds: Vec<_> = seen.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, ["added", "removed", "service"]);
}

#[test]
fn what_is_applied_again_is_no_change() {
    let mut view = view();
    view.apply_service(service_of("web", &["http"]));
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(1), at(2)]));
    changed(&mut view);
    view.apply_service(service_of("web", &["http"]));
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(1), at(2)]));
    // Another order is no change either.
    view.apply_slice(&namespace(), &slice("s1", "web", vec![at(2), at(1)]));
    assert!(changed(&mut view).is_empty());
    let annotated = service_of("web", &["http"]).annotated("x", "y");
    view.apply_service(Service { labels: annotated.annotations.clone(), ..annotated });
    assert_eq!(changed(&mut view)[0].1, "service");
}

#[test]
fn an_endpoint_of_another_pod_is_a_change_where_pods_are_kept() {
    let of_pod = |name: &str| {
        let [kind, namespace, uid] = ["Pod", "default", "u"].map(Arc::from);
        let target = Target { kind, namespace, name: name.into(), uid };
        slice("s1", "web", vec![Endpoint { target: Some(Arc::new(target)), ..at(1) }])
    };
    let mut view: View<Option<Arc<Target>>> = View::new(settings());
    view.apply_service(service_of("web", &["http"]));
    view.apply_slice(&namespace(), &of_pod("a"));
    drop(view.changes());
    view.apply_slice(&namespace(), &of_pod("a"));
    assert!(view.changes().is_empty());
    view.apply_slice(&namespace(), &of_pod("b"));
    let id = view.changes().ports().next().unwrap().id;
    let names: Vec<_> = view.port(id).unwrap().endpoints().collect();
    assert_eq!(&*names[0].detail.as_ref().unwrap().name, "b");
}
