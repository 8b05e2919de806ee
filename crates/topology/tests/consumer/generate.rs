//! Random steps of a small cluster: few names, so that they meet often.

use std::sync::Arc;

use evenkeel_model::{
    Address, AddressType, Candidate, Conditions, Endpoint, Exposure, Few, Hints, Service,
    SharesAnnotation, SharesError, Slice, TrafficPolicy, Viewpoint, label,
};
use evenkeel_testkit::ServiceExt;
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::{
    oracle::ip,
    world::{NOT_READY, READY, TERMINATING, node, ports, service_of, slice, table, zone},
};

#[derive(Clone, Debug)]
pub(crate) enum Step {
    ApplyService(Box<Service>),
    DeleteService(&'static str),
    ApplySlice(Slice),
    DeleteSlice(&'static str),
    /// One endpoint of a slice changes, goes or comes: slice, place, and what comes there.
    Edit(&'static str, usize, Edit),
    ListServices(Vec<Service>),
    ListSlices(Vec<Slice>),
    /// Changes are asked for.
    Look,
    Move(Viewpoint),
}

#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Replace(Endpoint),
    Insert(Endpoint),
    Remove,
    Reverse,
}

const SERVICES: [&str; 2] = ["web", "api"];
const SLICES: [&str; 5] = ["s1", "s2", "s3", "s4", "s5"];

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => service().prop_map(|service| Step::ApplyService(Box::new(service))),
        1 => select(&SERVICES[..]).prop_map(Step::DeleteService),
        6 => any_slice().prop_map(Step::ApplySlice),
        2 => select(&SLICES[..]).prop_map(Step::DeleteSlice),
        12 => (select(&SLICES[..]), 0..6usize, edit()).prop_map(|(s, nth, e)| Step::Edit(s, nth, e)),
        1 => vec(service(), 0..3).prop_map(Step::ListServices),
        1 => vec(any_slice(), 0..5).prop_map(Step::ListSlices),
        10 => Just(Step::Look),
        2 => viewpoint().prop_map(Step::Move),
    ];
    // A Service and a slice to begin with, so that few steps are in vain.
    (service(), any_slice(), vec(step, 1..40)).prop_map(|(service, slice, steps)| {
        let first = [Step::ApplyService(Box::new(service)), Step::ApplySlice(slice)];
        first.into_iter().chain(steps).collect()
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        6 => endpoint(AddressType::IPv4).prop_map(Edit::Replace),
        2 => endpoint(AddressType::IPv4).prop_map(Edit::Insert),
        2 => Just(Edit::Remove),
        1 => Just(Edit::Reverse),
    ]
}

fn service() -> impl Strategy<Value = Service> {
    let policy = select(vec![
        "",
        "",
        "PreferSameNode",
        "Balanced",
        "Balanced",
        "RequireSameZone",
        "PreferSameRegion",
    ]);
    let names =
        select(vec![vec!["http"], vec!["http", "m"], vec!["m", "http"], vec!["http", "http"]]);
    let traffic = || select(vec![TrafficPolicy::Cluster, TrafficPolicy::Local]);
    let exposure = (traffic(), option::of(traffic()));
    (select(&SERVICES[..]), policy, names, exposure, any::<bool>()).prop_map(
        |(name, policy, names, (internal, external), dual)| {
            let mut service = service_of(name, &names);
            if !policy.is_empty() {
                service = service.annotated(label::TRAFFIC_DISTRIBUTION, policy);
            }
            service.exposure = Exposure { internal, external };
            if dual { service.dual_stack() } else { service }
        },
    )
}

fn any_slice() -> impl Strategy<Value = Slice> {
    let numbers: Vec<&[(&str, u16)]> = vec![
        &[("http", 80)],
        &[("http", 80)],
        &[("http", 81)],
        &[("http", 80), ("m", 90)],
        &[("http", 0), ("m", 90)],
        &[],
    ];
    let owner = select(vec!["web", "web", "web", "api", "unknown", ""]);
    let family = prop_oneof![6 => Just(AddressType::IPv4), 1 => Just(AddressType::IPv6)];
    let lists = family.prop_flat_map(|family| (Just(family), vec(endpoint(family), 0..6)));
    (select(&SLICES[..]), owner, select(numbers), lists, shares(), any::<bool>()).prop_map(
        |(name, owner, numbers, (family, endpoints), shares, ours)| {
            let mut slice = slice(name, owner, endpoints);
            (slice.address_type, slice.ports, slice.shares) = (family, ports(numbers), shares);
            if !ours {
                slice.labels.insert(label::MANAGED_BY.into(), label::BUILT_IN.into());
            }
            slice
        },
    )
}

pub(crate) fn shares() -> impl Strategy<Value = Option<SharesAnnotation>> {
    let tables = [
        table(&[(1, &[(1, 1000)]), (2, &[(1, 250), (2, 750)]), (3, &[(1, 1), (3, 999)])]),
        table(&[(1, &[(1, 600), (2, 400)]), (2, &[(2, 1000)]), (0, &[(0, 500), (3, 500)])]),
        table(&[(1, &[(3, 1000)])]),
    ];
    let valid = select(tables.to_vec()).prop_map(|t| SharesAnnotation::Valid(Arc::new(t)));
    let wrong = SharesError::SharesTooLong { bytes: 2, limit: 1 };
    let any = prop_oneof![9 => valid, 1 => Just(SharesAnnotation::Invalid(wrong))];
    option::weighted(0.8, any)
}

fn endpoint(family: AddressType) -> impl Strategy<Value = Endpoint> {
    let unknown = Conditions::default();
    let conditions = select(vec![READY, READY, READY, READY, NOT_READY, TERMINATING, unknown]);
    let several = vec![vec![1], vec![1], vec![2], vec![3], vec![1, 2], vec![]];
    let hints = (select(several), option::weighted(0.2, 1..3u32));
    let place = (option::of(1..3u32), 0..4u32);
    (0..8u8, conditions, place, option::weighted(0.8, hints)).prop_map(
        move |(last, conditions, (on, home), hints)| Endpoint {
            // Now and then there is no address.
            addresses: if last == 0 { Few::None } else { Few::One(Address::Ip(ip(family, last))) },
            conditions,
            hostname: None,
            target: None,
            node: on.map(node),
            zone: Some(zone(home)).filter(|_| home > 0),
            hints: hints.map(|(zones, nodes)| Hints {
                zones: zones.into_iter().map(zone).collect(),
                nodes: nodes.into_iter().map(node).collect(),
            }),
        },
    )
}

pub(crate) fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
    vec(endpoint(AddressType::IPv4).prop_map(|endpoint| Candidate::from(&endpoint)), 0..8)
}

pub(crate) fn viewpoint() -> impl Strategy<Value = Viewpoint> {
    (option::of(1..3u32), option::of(0..4u32))
        .prop_map(|(on, home)| Viewpoint { node: on.map(node), zone: home.map(zone) })
}
