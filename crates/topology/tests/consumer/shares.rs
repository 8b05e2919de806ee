//! Zone shares of a port: whose count, which, and what is averaged.

use evenkeel_model::{
    HintsIgnored, Names, Routing, Rule, Service, SharesAnnotation, SharesError, Slice, Viewpoint,
    ZoneId, label,
};
use evenkeel_testkit::ServiceExt;
use evenkeel_topology::{
    Gates, PortRouting, Settings, SharesIgnored,
    consumer::{Delta, Path, Selector, View, merge},
    routing, shares_ignored,
};

use crate::world::{
    Rows, annotation, hinted, in_zone, namespace, ports, service_of, settings, slice, table, view,
    zone,
};

const TABLE: Rows<'static> = &[(1, &[(1, 1000)]), (2, &[(1, 250), (2, 750)])];

fn policy(name: &str) -> Service {
    service_of("web", &["http"]).annotated(label::TRAFFIC_DISTRIBUTION, name)
}

fn carrier(name: &str, rows: Rows<'_>) -> Slice {
    Slice { shares: annotation(rows), ..slice(name, "web", vec![in_zone(1, 1), in_zone(2, 2)]) }
}

/// By the slices alone, and in a view of them.
fn both(service: &Service, slices: &[Slice], settings: &Settings) -> PortRouting {
    let all: Vec<&Slice> = slices.iter().collect();
    let merged = merge(&all, |slice| slice.ports[0].port);
    let expected = PortRouting::new(service, all, &merged, settings);
    let mut view: View = View::new(settings.clone());
    view.apply_service(service.clone());
    for slice in slices.iter().rev() {
        view.apply_slice(&namespace(), slice);
    }
    let (_, port) = view.ports().next().expect("one port");
    assert_eq!(port.routing(), expected.routing());
    expected
}

#[test]
fn shares_count_on_our_slices_for_policies_that_write_them_with_gates_on() {
    let ours = [carrier("s1", TABLE)];
    let shares = PortRouting::Shares(std::sync::Arc::new(table(TABLE)));
    assert_eq!(both(&policy("Balanced"), &ours, &settings()), shares);
    assert_eq!(both(&policy("PreferSameRegion"), &ours, &settings()), shares);
    assert_eq!(both(&policy("PreferSameZone"), &ours, &settings()), PortRouting::Hints);
    assert_eq!(both(&service_of("web", &["http"]), &ours, &settings()), PortRouting::Hints);
    let off = Gates { service_traffic_distribution: false, ..Gates::ALL_ON };
    let off = Settings { gates: off, ..settings() };
    assert_eq!(both(&policy("Balanced"), &ours, &off), PortRouting::IgnoreHints);
    // Kubernetes' controller keeps annotations on slices that it takes over.
    let mut foreign = carrier("s1", TABLE);
    foreign.labels.insert(label::MANAGED_BY.into(), label::BUILT_IN.into());
    let missing = both(&policy("Balanced"), &[foreign.clone()], &settings());
    assert_eq!(missing, PortRouting::SharesMissing);
    assert_eq!(both(&policy("PreferSameRegion"), &[foreign], &settings()), PortRouting::Hints);
}

#[test]
fn while_the_carrier_changes_the_first_by_name_counts() {
    let other: Rows<'_> = &[(1, &[(2, 1000)])];
    let slices = [carrier("s2", other), carrier("s1", TABLE)];
    let found = both(&policy("Balanced"), &slices, &settings());
    assert_eq!(found.routing(), Routing::Shares(&table(TABLE)));
    assert_eq!(routing(&policy("Balanced"), &slices, &settings()), found.routing());
    let empty = slice("s0", "web", vec![]);
    let [new, old] = slices;
    let found = both(&policy("Balanced"), &[empty, new, old], &settings());
    assert_eq!(found.routing(), Routing::Shares(&table(TABLE)), "a slice without one is none");
}

/// Three ready endpoints at port 80 and one at 81: rows are averaged 3 to 1.
#[test]
fn tables_of_several_sets_of_ports_are_averaged_by_ready_endpoints() {
    let at_81 = Slice {
        ports: ports(&[("http", 81)]),
        endpoints: vec![in_zone(9, 2)],
        ..carrier("s2", &[(1, &[(2, 1000)]), (3, &[(2, 1000)])])
    };
    let mut at_80 = carrier("s1", &[(1, &[(1, 1000)]), (2, &[(2, 1000)])]);
    at_80.endpoints.push(in_zone(3, 1));
    let found = both(&policy("Balanced"), &[at_80.clone(), at_81.clone()], &settings());
    let average = table(&[(1, &[(1, 750), (2, 250)])]);
    assert_eq!(found.routing(), Routing::Shares(&average), "rows that one lacks are left out");
    // A set of ports without a ready endpoint has no say, even with a broken table.
    let wrong = SharesError::SharesTooLong { bytes: 2, limit: 1 };
    let broken = Some(SharesAnnotation::Invalid(wrong.clone()));
    let idle = Slice { endpoints: vec![], shares: broken.clone(), ..at_81.clone() };
    let found = both(&policy("Balanced"), &[at_80.clone(), idle], &settings());
    assert_eq!(found.routing(), Routing::Shares(at_80.shares.as_ref().unwrap().valid().unwrap()));
    let busy = Slice { shares: broken, ..at_81 };
    let found = both(&policy("Balanced"), &[at_80, busy], &settings());
    assert_eq!(found, PortRouting::SharesInvalid(Box::new(wrong)));
}

#[test]
fn averages_sum_to_the_whole() {
    let rows: [Rows<'_>; 3] =
        [&[(1, &[(1, 333), (2, 667)])], &[(1, &[(1, 1), (2, 998), (3, 1)])], &[(1, &[(3, 1000)])]];
    let slices: Vec<Slice> = (1u8..)
        .zip(rows)
        .map(|(nth, rows)| Slice {
            ports: ports(&[("http", u16::from(nth))]),
            endpoints: vec![in_zone(nth, 1)],
            ..carrier(&format!("s{nth}"), rows)
        })
        .collect();
    let found = both(&policy("Balanced"), &slices, &settings());
    let Routing::Shares(average) = found.routing() else { panic!("{found:?}") };
    let row: Vec<u16> = average.row(zone(1)).unwrap().iter().map(|(_, part)| *part).collect();
    // 111.3, 555 and 333.7.
    assert_eq!(row, [111, 555, 334]);
}

#[test]
fn why_shares_are_not_applied_is_told() {
    let mut zones = Names::<ZoneId>::default();
    let [a, b] = ["zone-a", "zone-b"].map(|name| zones.intern(name));
    let why = |routing: &PortRouting, zone| shares_ignored(routing.routing(), zone, &zones);
    let shares = PortRouting::Shares(std::sync::Arc::new(table(&[(1, &[(1, 1000)])])));
    assert_eq!(why(&shares, Some(a)), None);
    let row = why(&shares, Some(b)).unwrap();
    assert_eq!(row.to_string(), "the zone shares have no row for zone-b, so hints decide");
    let unzoned = why(&shares, None).unwrap();
    assert_eq!(unzoned.to_string(), "the client's node has no zone, so hints decide");
    assert_eq!(why(&PortRouting::SharesMissing, Some(a)), Some(SharesIgnored::SharesMissing));
    let error = SharesError::SharesTooLong { bytes: 2, limit: 1 };
    let invalid = PortRouting::SharesInvalid(Box::new(error.clone()));
    assert_eq!(why(&invalid, Some(a)), Some(SharesIgnored::SharesInvalid { error }));
    assert_eq!(why(&PortRouting::Hints, Some(a)), None);
}

struct Node {
    view: View,
    selector: Selector,
    delta: Delta,
}

impl Node {
    fn of_zone(index: u32, service: Service) -> Self {
        let from = Viewpoint { node: None, zone: Some(zone(index)) };
        let mut view = view();
        view.apply_service(service);
        Node { view, selector: Selector::new(from), delta: Delta::default() }
    }

    /// Takes in a slice. The rule, and each endpoint's part by its last number.
    fn apply(&mut self, slice: &Slice) -> (Rule, Vec<(u8, f64)>) {
        self.view.apply_slice(&namespace(), slice);
        let changes = self.view.changes();
        let change = changes.ports().next().expect("a change");
        self.selector.update(&changes, &change, &mut self.delta);
        let id = change.id;
        drop(changes);
        let members: Vec<_> = self.selector.members(&self.view, id, Path::Cluster).collect();
        let total: u32 = members.iter().map(|(_, weight)| weight).sum();
        let last =
            |ip: std::net::IpAddr| ip.to_string().rsplit('.').next().expect("a number").parse();
        let part = |weight: u32| f64::from(weight) / f64::from(total);
        let parts = members.iter().map(|(m, w)| (last(m.backend.ip).expect("IPv4"), part(*w)));
        (self.delta.cluster.rule.expect("traffic may leave"), parts.collect())
    }
}

/// The example of the docs: 2, 1 and 1 endpoints in three zones.
#[test]
fn two_one_and_one_seen_from_the_second_zone() {
    let mut node = Node::of_zone(2, policy("Balanced"));
    let with = |endpoints| Slice { endpoints, ..carrier("s1", TABLE) };
    let all = [in_zone(1, 1), in_zone(2, 1), in_zone(3, 2), in_zone(4, 3)];
    let (rule, parts) = node.apply(&with(all.to_vec()));
    assert_eq!((rule, parts), (Rule::ZoneShares, vec![(1, 0.125), (2, 0.125), (3, 0.75)]));
    // One of the first zone goes: the other has the zone's part. Nothing else is touched.
    let (_, parts) = node.apply(&with(all[1..].to_vec()));
    assert_eq!(parts, [(2, 0.25), (3, 0.75)]);
    assert!(node.delta.cluster.reweighted);
    assert_eq!((node.delta.cluster.removed.len(), node.delta.cluster.added.len()), (1, 0));
    // The zone goes: its part goes to the other.
    let (rule, parts) = node.apply(&with(all[2..].to_vec()));
    assert_eq!((rule, parts), (Rule::ZoneShares, vec![(3, 1.0)]));
    // Both go: what is left serves.
    let (rule, parts) = node.apply(&with(all[3..].to_vec()));
    assert_eq!((rule, parts), (Rule::All(HintsIgnored::NoneInShares), vec![(4, 1.0)]));
}

#[test]
fn a_zone_without_a_row_goes_by_hints() {
    let mut node = Node::of_zone(3, policy("Balanced"));
    let endpoints = vec![hinted(1, 1), hinted(2, 3)];
    let (rule, parts) = node.apply(&Slice { endpoints, ..carrier("s1", TABLE) });
    assert_eq!((rule, parts), (Rule::SameZone, vec![(2, 1.0)]));
}
