//! What holds for all resources: their order says nothing, and an index that has followed changes is
//! the same as one that begins with their result.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_locality::{
    Assigned,
    resource::{Key, Kind},
    view::{AssignmentKey, PlanReason, ProxyKey, View},
};
use evenkeel_model::mesh::ProxyConfig;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::setup::*;

/// Few, so that what is made refers to each other.
const NAMES: [&str; 2] = ["a", "b"];

fn name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&NAMES[..])
}

fn zone() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&["zone-1", "zone-2"][..])
}

fn dataplane() -> impl Strategy<Value = Value> {
    let protocol = proptest::sample::select(&["http", "http", "http", "http", "tcp", "grpc"][..]);
    let calls = proptest::collection::vec(name(), 0..3);
    (0..6_u8, name(), zone(), protocol, calls).prop_map(|(n, service, zone, protocol, calls)| {
        let tags = [format!("kuma.io/zone={zone}"), format!("kuma.io/protocol={protocol}")];
        let tags = tags.each_ref().map(String::as_str);
        let address = format!("10.0.0.{n}");
        calling(instance(&format!("dp-{n}"), &address, service, &tags), &calls)
    })
}

fn target() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => Just(json!({"kind": "Mesh"})),
        1 => zone().prop_map(|zone| json!({"kind": "MeshSubset", "tags": {"kuma.io/zone": zone}})),
        1 => name().prop_map(|name| json!({"kind": "MeshService", "name": name})),
        1 => (0..6_u8).prop_map(|n| json!({"kind": "Dataplane", "name": format!("dp-{n}")})),
    ]
}

fn strategy_policy() -> impl Strategy<Value = Value> {
    (name(), target(), name(), zone(), any::<bool>()).prop_map(
        |(own, target, to, zone, disabled)| {
            let awareness = match disabled {
                true => json!({"disabled": true}),
                false => only_zone(zone),
            };
            let to = json!([{"targetRef": {"kind": "MeshService", "name": to},
            "default": {"localityAwareness": awareness}}]);
            policy("MeshLoadBalancingStrategy", own, &target, &to)
        },
    )
}

fn route() -> impl Strategy<Value = Value> {
    let kind = proptest::sample::select(&["MeshHTTPRoute", "MeshTCPRoute"][..]);
    let backend_kind = proptest::sample::select(&["MeshServiceSubset", "MeshMultiZoneService"][..]);
    let backend = (backend_kind, name(), zone(), 0..3_u32);
    let backend = backend.prop_map(|(kind, name, zone, weight)| {
        json!({"kind": kind, "name": name, "weight": weight, "tags": {"kuma.io/zone": zone}})
    });
    let backends = proptest::collection::vec(backend, 1..4);
    (kind, name(), target(), name(), backends).prop_map(|(kind, own, target, to, backends)| {
        let to = json!([{"targetRef": {"kind": "MeshService", "name": to},
            "rules": [{"default": {"backendRefs": backends}}]}]);
        policy(kind, own, &target, &to)
    })
}

fn service() -> impl Strategy<Value = Value> {
    (name(), name(), zone(), any::<bool>(), name()).prop_map(
        |(own, selected, zone, by_zone, label)| {
            let tags = match by_zone {
                true => json!({"kuma.io/zone": zone}),
                false => json!({"kuma.io/service": selected}),
            };
            json!({"type": "MeshService", "mesh": MESH, "name": own, "labels": {"in": label},
            "spec": {"selector": {"dataplaneTags": tags}}})
        },
    )
}

fn multi_zone_service() -> impl Strategy<Value = Value> {
    (name(), name()).prop_map(|(own, label)| {
        json!({"type": "MeshMultiZoneService", "mesh": MESH, "name": own,
            "spec": {"selector": {"meshService": {"matchLabels": {"in": label}}}}})
    })
}

fn any_resource() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => dataplane(), 2 => strategy_policy(), 3 => route(), 2 => service(),
        1 => multi_zone_service(),
    ]
}

/// What a proxy is told, all endpoints of its clusters, and the reasons.
type Told = (ProxyConfig, Vec<(Arc<AssignmentKey>, Assigned)>, Vec<PlanReason>);

fn everything(view: &mut View) -> BTreeMap<ProxyKey, Told> {
    let keys: Vec<_> = view.proxies().collect();
    let told = keys.into_iter().map(|key| {
        let plan = view.proxy(&key).expect("it is there");
        let groups = plan.assignments().iter();
        let groups = groups.map(|(_, key)| (key.clone(), view.assignment(key))).collect();
        let reasons = plan.reasons().cloned().collect();
        (key, (plan.config(), groups, reasons))
    });
    told.collect()
}

fn key_of(value: &Value) -> Key {
    resource(value).key
}

fn last_of_each(values: &[Value]) -> Vec<Value> {
    let mut kept: Vec<(Key, Value)> = Vec::new();
    for value in values {
        let key = key_of(value);
        kept.retain(|(other, _)| *other != key);
        kept.push((key, value.clone()));
    }
    kept.into_iter().map(|(_, value)| value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn the_order_of_resources_says_nothing(
        values in proptest::collection::vec(any_resource(), 1..25),
        seed in any::<u64>(),
    ) {
        let values = last_of_each(&values);
        let mut shuffled = values.clone();
        shuffled.sort_by_key(|value| {
            let key = format!("{}{seed}", key_of(value));
            key.bytes().fold(seed, |hash, byte| hash.rotate_left(7) ^ u64::from(byte).wrapping_mul(seed | 1))
        });
        prop_assert!(everything(&mut view_of(&values)) == everything(&mut view_of(&shuffled)));
    }

    #[test]
    fn following_changes_is_as_good_as_beginning_anew(
        steps in proptest::collection::vec((any_resource(), proptest::bool::weighted(0.3)), 1..40),
    ) {
        let mut view = view_of(&[]);
        let mut now: Vec<Value> = Vec::new();
        for (value, is_deleted) in &steps {
            let key = key_of(value);
            now.retain(|other| key_of(other) != key);
            let before = everything(&mut view);
            let changes = match is_deleted {
                true => view.delete(&key),
                false => {
                    now.push(value.clone());
                    view.apply(resource(value))
                }
            };
            // Whoever is not named is told the same as before.
            for (key, (plan, groups, _)) in before {
                let Some(new) = view.proxy(&key) else { continue };
                if !changes.proxies.contains(&key) {
                    prop_assert_eq!(&plan, &new.config(), "{}", key);
                }
                for (name, assignment) in new.assignments() {
                    let was = groups.iter().find(|(other, _)| other == assignment);
                    let Some((_, was)) = was else { continue };
                    if !changes.services.contains(&assignment.service) {
                        prop_assert_eq!(was, &view.assignment(assignment), "{}", name);
                    }
                }
            }
            prop_assert!(everything(&mut view) == everything(&mut view_of(&now)), "after {}", key);
        }
        for value in &now {
            view.delete(&key_of(value));
        }
        prop_assert!(everything(&mut view).is_empty());
    }
}

#[test]
fn an_unknown_kind_of_key_is_no_matter() {
    let mut view = view_of(&[]);
    for (_, kind) in Kind::ALL {
        assert!(delete(&mut view, kind, "nothing").is_empty());
    }
}
