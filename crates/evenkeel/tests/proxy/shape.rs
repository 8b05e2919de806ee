//! What a table does, whatever its slots and ranks are: where connections to each frontend go, and
//! which part of them.

use std::collections::BTreeMap;

use evenkeel_nft::{By, Data, Element, Family, Lane, SetId, Verdict, pool::MOST_ENDPOINTS};
use evenkeel_proxy::netlink::nftables::Nftables;
use evenkeel_testkit::netns::Namespace;

/// The index of the endpoint for who finds none; it is also in a slot of its own.
const FALLBACK: u32 = 1 << 31;

/// By set and key of the frontend: the part of each endpoint, in thousandths.
pub(crate) type Shape = BTreeMap<(SetId, Vec<u8>), BTreeMap<String, i64>>;

/// Elements that no slots and ranks are in.
pub(crate) fn fixed(elements: &[Element]) -> Vec<String> {
    let is_slot = |set: SetId| {
        use SetId::{Endpoints, Pinned, Services, StickySlots, ZoneSlots, Zones};
        let is_endpoint = matches!(set, Endpoints(..) | StickySlots(..) | Pinned(..));
        is_endpoint || matches!(set, ZoneSlots(_) | Zones(_) | Services(..))
    };
    let is_fixed = |element: &&Element| !is_slot(element.set);
    let mut fixed: Vec<String> =
        elements.iter().filter(is_fixed).map(|element| format!("{element:?}")).collect();
    fixed.sort_unstable();
    fixed
}

/// Where connections go.
pub(crate) fn shape(elements: &[Element]) -> Shape {
    let mut shape = Shape::new();
    for by in [By::Address, By::NodePort] {
        for lane in [Lane::Main, Lane::Outside] {
            let services = SetId::Services(by, lane);
            for service in elements.iter().filter(|element| element.set == services) {
                let key = service.key.as_bytes().to_vec();
                let parts = match &service.data {
                    Data::Verdict(Verdict::Goto(chain)) if chain.to_string() == "reject" => {
                        BTreeMap::from([("reject".to_owned(), 1_000)])
                    }
                    Data::Verdict(Verdict::Drop) => BTreeMap::from([("drop".to_owned(), 1_000)]),
                    _ => parts(elements, (by, lane), &key),
                };
                shape.insert((services, key), parts);
            }
        }
    }
    shape
}

fn parts(elements: &[Element], (by, lane): (By, Lane), key: &[u8]) -> BTreeMap<String, i64> {
    let of = |set: SetId| {
        let of_frontend =
            move |element: &&Element| element.set == set && element.key.as_bytes().starts_with(key);
        elements.iter().filter(of_frontend).map(|element| {
            let rest = element.key.as_bytes()[key.len()..].try_into().unwrap();
            (u32::from_ne_bytes(rest), &element.data)
        })
    };
    let pinned: BTreeMap<u32, String> =
        of(SetId::Pinned(by, lane)).map(|(id, data)| (id, format!("{data:?}"))).collect();
    let slots = of(SetId::Endpoints(by, lane)).chain(of(SetId::StickySlots(by, lane)));
    let mut groups: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (index, data) in slots.filter(|(index, _)| *index < FALLBACK) {
        let endpoint = match data {
            Data::Scratch(id) => pinned[id].clone(),
            data => format!("{data:?}"),
        };
        groups.entry(index / MOST_ENDPOINTS as u32).or_default().push(endpoint);
    }
    let zones: Vec<u32> = of(SetId::ZoneSlots(by))
        .filter_map(|(_, data)| match data {
            Data::Scratch(rank) => Some(*rank),
            _ => None,
        })
        .collect();
    let mut parts = BTreeMap::new();
    for (rank, endpoints) in groups {
        let of_rank = zones.iter().filter(|zone| **zone == rank).count() as i64;
        let part = if zones.is_empty() { 1_000 } else { 1_000 * of_rank / zones.len() as i64 };
        for endpoint in &endpoints {
            *parts.entry(endpoint.clone()).or_insert(0) += part / endpoints.len() as i64;
        }
    }
    parts
}

/// All elements of the tables of a namespace.
pub(crate) fn elements(namespace: &Namespace) -> Vec<Element> {
    namespace.run(|| {
        let mut nftables = Nftables::open().unwrap();
        let tables = Family::ALL.map(|family| nftables.list(family, "evenkeel").unwrap());
        tables.into_iter().flatten().flat_map(|table| table.elements).collect()
    })
}

/// They do the same; shares may differ by what slots can't express.
pub(crate) fn assert_alike(one: &[Element], other: &[Element]) {
    assert_eq!(fixed(one), fixed(other));
    let (one, other) = (shape(one), shape(other));
    let keys = |shape: &Shape| shape.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&one), keys(&other));
    for (frontend, parts) in &one {
        let others = &other[frontend];
        let names = |parts: &BTreeMap<String, i64>| parts.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(parts), names(others), "{frontend:?}");
        let near = |(name, part): (&String, &i64)| (part - others[name]).abs() <= 25;
        assert!(parts.iter().all(near), "{frontend:?}: {parts:?}, {others:?}");
    }
}
