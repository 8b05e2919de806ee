//! What the view costs in memory. (What it costs in time: `cargo xtask bench consumer`.)

use std::sync::Arc;

use allocation_counter::measure;
use evenkeel_model::{
    Address, Candidate, Endpoint, Exposure, Few, Frontends, RareFrontends, Routing, Rule, Service,
    ServiceKey, Slice, Viewpoint, label,
};
use evenkeel_testkit::ServiceExt;
use evenkeel_topology::{
    consumer::{Delta, Selector, View},
    select,
};

use crate::world::{
    NOT_READY, annotation, hinted, node, service_of, settings, slice, table, view, zone,
};

fn slice_of(service: &str, nth: u32, n: u32) -> Slice {
    let endpoint = |i: u32| Endpoint {
        addresses: Few::One(Address::Ip([10, (i >> 16) as u8, (i >> 8) as u8, i as u8].into())),
        ..hinted(1, 1 + i % 3)
    };
    slice(&format!("{service}-{nth:05}"), service, (nth * n..nth * n + n).map(endpoint).collect())
}

fn from() -> Viewpoint {
    Viewpoint { node: Some(node(1)), zone: Some(zone(1)) }
}

fn follow(view: &mut View, selector: &mut Selector, delta: &mut Delta) -> usize {
    let changes = view.changes();
    let mut n = 0;
    for change in changes.ports() {
        selector.update(&changes, &change, delta);
        n += delta.cluster.added.len() + delta.cluster.removed.len();
    }
    n
}

/// The Services themselves, the view and a selector, while they are loaded.
#[test]
fn ten_thousand_services_of_ten_endpoints_fit_into_60_megabytes() {
    let namespace: Arc<str> = "default".into();
    let slices: Vec<Slice> = (0..10_000).map(|i| slice_of(&format!("web-{i}"), i, 10)).collect();
    let mut kept = None;
    let cost = measure(|| {
        let mut view = view();
        for (i, slice) in (0u32..).zip(&slices) {
            let name = format!("web-{i}");
            let ip = Few::One([11, 0, (i >> 8) as u8, i as u8].into());
            view.apply_service(Service {
                key: ServiceKey::new("default", name.as_str()),
                frontends: Frontends::new(ip, RareFrontends::default()),
                ..service_of(&name, &["http"])
            });
            view.apply_slice(&namespace, slice);
        }
        let mut selector = Selector::new(from());
        let used = follow(&mut view, &mut selector, &mut Delta::default());
        assert_eq!(used, 33_334, "a third is hinted for the zone");
        kept = Some((view, selector));
    });
    let megabytes = cost.bytes_max as f64 / 1e6;
    assert!(megabytes < 60.0, "{megabytes} MB");
    println!("{megabytes:.1} MB");
}

/// Two states of a slice, in turn, after a few rounds in which lists grow to their size.
fn cost_of_a_change(slices: u32, balanced: bool, change: impl Fn(&mut Slice)) -> u64 {
    let namespace: Arc<str> = "default".into();
    let mut view = view();
    let service = service_of("web", &["http"]);
    view.apply_service(match balanced {
        true => service.annotated(label::TRAFFIC_DISTRIBUTION, "Balanced"),
        false => service,
    });
    let mut all: Vec<Slice> = (0..slices).map(|nth| slice_of("web", nth, 100)).collect();
    all[0].shares = annotation(&[(1, &[(1, 750), (2, 250)])]);
    all.iter().for_each(|slice| view.apply_slice(&namespace, slice));
    let before = all.pop().expect("at least one slice");
    let mut after = before.clone();
    change(&mut after);
    let (mut selector, mut delta) = (Selector::new(from()), Delta::default());
    let mut cost = 0;
    for round in 0..8 {
        cost = measure(|| {
            for slice in [&after, &before] {
                view.apply_slice(&namespace, slice);
                let n = follow(&mut view, &mut selector, &mut delta);
                assert!(round == 0 || n <= 2, "{n} endpoints");
            }
        })
        .count_total;
    }
    cost
}

#[test]
fn one_change_allocates_nothing() {
    for slices in [1, 50] {
        for balanced in [false, true] {
            let unready = |slice: &mut Slice| slice.endpoints[57].conditions = NOT_READY;
            assert_eq!(cost_of_a_change(slices, balanced, unready), 0, "{slices} slices");
            let gone = |slice: &mut Slice| drop(slice.endpoints.remove(57));
            assert_eq!(cost_of_a_change(slices, balanced, gone), 0, "{slices} slices");
            let reversed = |slice: &mut Slice| slice.endpoints.reverse();
            assert_eq!(cost_of_a_change(slices, balanced, reversed), 0, "{slices} slices");
        }
    }
}

#[test]
fn selection_by_shares_allocates_nothing_but_its_result() {
    let slice = slice_of("web", 0, 5_000);
    let candidates: Vec<Candidate> = slice.endpoints.iter().map(Candidate::from).collect();
    let table = table(&[(1, &[(1, 750), (2, 250)])]);
    let (exposure, settings) = (Exposure::default(), settings());
    let cost = measure(|| {
        let selected = select(from(), exposure, &candidates, Routing::Shares(&table), &settings);
        assert_eq!(selected.cluster.unwrap().rule, Rule::ZoneShares);
    });
    assert_eq!(cost.count_total, 1, "one list");
}
