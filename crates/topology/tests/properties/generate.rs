//! Strategies that draw [`Spec`]s.

use proptest::{collection::vec, prelude::*, sample::select};

use crate::spec::{Asks, Changed, EntrySpec, NodeSpec, PodSpec, PodState, SliceSpec, Spec};

/// More cases than proptest's own default; `PROPTEST_CASES` may ask for more still.
pub(crate) fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(1500), ..default }
}

pub(crate) const ZONES: [&str; 4] = ["a", "b", "c", "d"];

/// Half of anything, half of what Auto works on.
pub(crate) fn spec() -> impl Strategy<Value = Spec> {
    prop_oneof![any_spec(), auto_spec()]
}

/// Anything: any policy, nodes that tell too little, Pods in any state, slices of any origin.
fn any_spec() -> impl Strategy<Value = Spec> {
    let asks = select(vec![
        Asks::Nothing,
        Asks::Auto,
        Asks::Auto,
        Asks::PreferClose,
        Asks::PreferSameNode,
    ]);
    let flags = (any::<bool>(), any::<bool>(), rarely(), any::<bool>());
    let lists = (vec(node(), 1..6), vec(pod(), 0..10), vec(slice(), 0..4));
    (asks, flags, 1..6usize, lists).prop_map(|(asks, flags, max, (nodes, pods, slices))| {
        let (kubernetes, dual_stack, publish_not_ready, populated) = flags;
        Spec {
            kubernetes,
            asks,
            dual_stack,
            publish_not_ready,
            populated,
            max_endpoints_per_slice: max,
            nodes,
            pods,
            slices,
        }
    })
}

/// Auto in the default profile, with hints possible more often than not: 2 or 3 zones that count
/// and one that doesn't, up to 8 ready Pods, each in one of two slices or in none yet.
pub(crate) fn auto_spec() -> impl Strategy<Value = Spec> {
    let nodes = (2..=3usize, [1..9u64, 1..9u64, 1..9u64]).prop_map(|(n_zones, cores)| {
        let node =
            |i: usize| NodeSpec { zone: Some(ZONES[i]), cores: cores[i % 3], counted: i < n_zones };
        (0..=n_zones).map(node).collect::<Vec<_>>()
    });
    let placed = (0..4usize, hints(), 0..4usize);
    let placed = placed.prop_map(|(home, hints, slice)| Placed { home, hints, slice });
    (nodes, vec(placed, 2..9), 2..9usize).prop_map(|(nodes, placed, max)| {
        let pod = |p: &Placed| PodSpec {
            node: p.home % nodes.len(),
            state: PodState::Ready,
            ipv4: true,
            ipv6: true,
        };
        let slices = [0, 1].map(|number| slice_of(&placed, number, max));
        Spec {
            kubernetes: false,
            asks: Asks::Auto,
            dual_stack: false,
            publish_not_ready: false,
            populated: false,
            max_endpoints_per_slice: max,
            pods: placed.iter().map(pod).collect(),
            slices: slices.into_iter().filter(|s| !s.entries.is_empty()).collect(),
            nodes,
        }
    })
}

/// Zones, and the index of a node.
type HintsSpec = (Vec<&'static str>, Option<usize>);

/// A Pod with its endpoint.
#[derive(Clone, Debug)]
struct Placed {
    home: usize,
    hints: HintsSpec,
    /// The slice it is in; beyond 1: none yet.
    slice: usize,
}

fn slice_of(placed: &[Placed], number: usize, max: usize) -> SliceSpec {
    let inside = placed.iter().enumerate().filter(|(_, p)| p.slice == number);
    let entries = inside.map(|(pod, placed)| {
        let (for_zones, for_node) = placed.hints.clone();
        EntrySpec { pod, changed: Changed::Nothing, for_zones, for_node }
    });
    SliceSpec {
        ipv6: false,
        owned: true,
        same_ports: true,
        old_label: false,
        entries: entries.take(max).collect(),
    }
}

fn node() -> impl Strategy<Value = NodeSpec> {
    let zone = prop_oneof![1 => Just(None), 30 => select(&ZONES[..3]).prop_map(Some)];
    let cores = prop_oneof![1 => Just(0), 30 => 1..9u64];
    let node = (zone, cores, often());
    node.prop_map(|(zone, cores, counted)| NodeSpec { zone, cores, counted })
}

fn pod() -> impl Strategy<Value = PodSpec> {
    let state = prop_oneof![
        12 => Just(PodState::Ready),
        2 => Just(PodState::NotReady),
        1 => Just(PodState::Terminating),
        1 => Just(PodState::ServingTerminating),
        1 => Just(PodState::Succeeded),
    ];
    let pod = (0..6usize, state, often(), often());
    pod.prop_map(|(node, state, ipv4, ipv6)| PodSpec { node, state, ipv4, ipv6 })
}

fn slice() -> impl Strategy<Value = SliceSpec> {
    let flags = (any::<bool>(), often(), often(), rarely());
    (flags, vec(entry(), 0..6)).prop_map(|((ipv6, owned, same_ports, old_label), entries)| {
        SliceSpec { ipv6, owned, same_ports, old_label, entries }
    })
}

fn entry() -> impl Strategy<Value = EntrySpec> {
    let changed = prop_oneof![
        8 => Just(Changed::Nothing),
        1 => Just(Changed::State),
        1 => Just(Changed::Zone),
        1 => Just(Changed::Pod),
    ];
    let entry = (0..12usize, changed, hints());
    entry.prop_map(|(pod, changed, (for_zones, for_node))| EntrySpec {
        pod,
        changed,
        for_zones,
        for_node,
    })
}

/// Mostly one zone; also none, several, unknown ones, and nodes.
fn hints() -> impl Strategy<Value = HintsSpec> {
    let zones = prop_oneof![
        2 => Just(vec![]),
        12 => select(&ZONES[..3]).prop_map(|zone| vec![zone]),
        1 => Just(vec!["nowhere"]),
        1 => Just(vec!["a", "b"]),
    ];
    let node = prop_oneof![12 => Just(None), 1 => (0..4usize).prop_map(Some)];
    (zones, node)
}

fn often() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.9)
}

fn rarely() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.1)
}
