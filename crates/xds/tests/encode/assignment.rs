use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc};

use envoy_types::pb::{
    envoy::config::{
        core::v3::address::Address,
        endpoint::v3::{ClusterLoadAssignment, lb_endpoint::HostIdentifier},
    },
    google::protobuf::value::Kind,
};
use evenkeel_model::mesh::{EndpointHealth, Group, LoadAssignment, MeshEndpoint};
use evenkeel_xds::{Resource, encode};
use proptest::prelude::*;
use prost::Message;

fn endpoint(address: &str, tags: &[(&str, &str)]) -> MeshEndpoint {
    let tags = tags.iter().map(|(key, value)| ((*key).into(), (*value).into()));
    MeshEndpoint {
        address: address.parse().unwrap(),
        zone: None,
        tags: Arc::new(tags.collect::<BTreeMap<Arc<str>, Arc<str>>>()),
        weight: None,
        health: EndpointHealth::Healthy,
    }
}

fn group(priority: u32, zone: Option<&str>, endpoints: Vec<MeshEndpoint>) -> Group {
    Group {
        priority,
        weight: None,
        zone: zone.map(Into::into),
        sub_zone: "".into(),
        endpoints: endpoints.into_iter().map(Arc::new).collect(),
    }
}

fn encode(groups: Vec<Group>) -> Resource {
    let assignment = LoadAssignment { groups, overprovisioning_factor: None };
    encode::load_assignment(&"backend".into(), &assignment)
}

fn decode(resource: &Resource) -> ClusterLoadAssignment {
    ClusterLoadAssignment::decode(resource.body()).unwrap()
}

/// `address:port health weight {metadata}` of each endpoint.
fn endpoints(assignment: &ClusterLoadAssignment) -> Vec<String> {
    assignment.endpoints.iter().flat_map(|group| &group.lb_endpoints).map(describe).collect()
}

fn describe(endpoint: &envoy_types::pb::envoy::config::endpoint::v3::LbEndpoint) -> String {
    let Some(HostIdentifier::Endpoint(host)) = &endpoint.host_identifier else { panic!() };
    let Some(Address::SocketAddress(socket)) = &host.address.as_ref().unwrap().address else {
        panic!()
    };
    let port = match socket.port_specifier.as_ref().unwrap() {
        envoy_types::pb::envoy::config::core::v3::socket_address::PortSpecifier::PortValue(p) => p,
        other => panic!("{other:?}"),
    };
    let weight = endpoint.load_balancing_weight.map(|weight| weight.value);
    let mut tags = BTreeMap::new();
    if let Some(metadata) = &endpoint.metadata {
        assert_eq!(metadata.filter_metadata.len(), 1);
        for (key, value) in &metadata.filter_metadata["envoy.lb"].fields {
            let Some(Kind::StringValue(text)) = &value.kind else { panic!() };
            tags.insert(key.clone(), text.clone());
        }
    }
    format!("{}:{port} {:?} {weight:?} {tags:?}", socket.address, endpoint.health_status())
}

#[test]
fn every_field_arrives() {
    let mut one = endpoint("10.0.0.1:80", &[("version", "v1"), ("a", "")]);
    one.weight = NonZeroU32::new(7);
    one.zone = Some("zone-1".into());
    let mut two = endpoint("[fd00::2]:8080", &[]);
    two.health = EndpointHealth::Draining;
    let mut near = group(0, Some("zone-1"), vec![one]);
    near.sub_zone = "k8s.io/node=n1".into();
    near.weight = NonZeroU32::new(900);
    let far = group(2, None, vec![two]);
    let assignment =
        LoadAssignment { groups: vec![near, far], overprovisioning_factor: NonZeroU32::new(143) };
    let decoded = decode(&encode::load_assignment(&"backend".into(), &assignment));
    assert_eq!(decoded.cluster_name, "backend");
    assert_eq!(decoded.policy.as_ref().unwrap().overprovisioning_factor.unwrap().value, 143);
    let locality = decoded.endpoints[0].locality.as_ref().unwrap();
    assert_eq!((&*locality.zone, &*locality.sub_zone), ("zone-1", "k8s.io/node=n1"));
    assert_eq!(decoded.endpoints[0].load_balancing_weight.unwrap().value, 900);
    assert_eq!((decoded.endpoints[0].priority, decoded.endpoints[1].priority), (0, 2));
    assert_eq!(decoded.endpoints[1].locality, None);
    assert_eq!(
        endpoints(&decoded),
        [
            r#"10.0.0.1:80 Healthy Some(7) {"a": "", "kuma.io/zone": "zone-1", "version": "v1"}"#,
            "fd00::2:8080 Draining None {}",
        ]
    );
}

#[test]
fn all_states_of_health_have_their_number() {
    use EndpointHealth::{Degraded, Draining, Healthy, Unhealthy};
    let states = [Healthy, Unhealthy, Draining, Degraded];
    let all = (1..)
        .zip(states)
        .map(|(i, health)| MeshEndpoint { health, ..endpoint(&format!("10.0.0.{i}:80"), &[]) });
    let decoded = decode(&encode(vec![group(0, None, all.collect())]));
    let sent = decoded.endpoints[0].lb_endpoints.iter().map(|e| format!("{:?}", e.health_status()));
    assert_eq!(sent.collect::<Vec<_>>(), states.map(|state| format!("{state:?}")));
}

#[test]
fn the_tag_of_the_zone_is_not_replaced() {
    let mut one = endpoint("10.0.0.1:80", &[("kuma.io/zone", "own")]);
    one.zone = Some("other".into());
    let decoded = decode(&encode(vec![group(0, None, vec![one])]));
    assert!(endpoints(&decoded)[0].ends_with(r#"{"kuma.io/zone": "own"}"#));
}

#[test]
fn of_equal_addresses_the_first_is_sent() {
    let near = group(0, Some("a"), vec![endpoint("10.0.0.1:80", &[("n", "1")])]);
    let far = group(1, Some("b"), vec![endpoint("10.0.0.1:80", &[("n", "2")])]);
    let decoded = decode(&encode(vec![near, far]));
    assert_eq!(endpoints(&decoded).len(), 1);
    assert_eq!(decoded.endpoints.len(), 1, "groups without endpoints are left out");
}

#[test]
fn priorities_end_where_envoy_ends_them() {
    let decoded = decode(&encode(vec![group(4000, None, vec![endpoint("10.0.0.1:80", &[])])]));
    assert_eq!(decoded.endpoints[0].priority, 128);
}

#[test]
fn weights_of_a_group_add_up_to_32_bits() {
    let heavy = |i: u32, weight: u32| MeshEndpoint {
        weight: NonZeroU32::new(weight),
        ..endpoint(&format!("10.0.0.{i}:80"), &[])
    };
    let all = vec![heavy(1, u32::MAX), heavy(2, u32::MAX), heavy(3, 1)];
    let decoded = decode(&encode(vec![group(0, None, all)]));
    let weights: Vec<u64> = decoded.endpoints[0]
        .lb_endpoints
        .iter()
        .map(|e| e.load_balancing_weight.unwrap().value.into())
        .collect();
    assert!(weights.iter().sum::<u64>() <= u32::MAX.into(), "{weights:?}");
    assert_eq!(weights[0], weights[1]);
    assert_eq!(weights[2], 1);
}

/// Envoy refuses a static cluster otherwise.
#[test]
fn weights_of_a_priority_add_up_to_32_bits() {
    let heavy = |i: u32, priority: u32, weight: u32| Group {
        weight: NonZeroU32::new(weight),
        ..group(priority, None, vec![endpoint(&format!("10.0.0.{i}:80"), &[])])
    };
    let max = u32::MAX;
    let groups = vec![heavy(1, 0, max), heavy(2, 0, max), heavy(3, 0, 1), heavy(4, 1, max)];
    let decoded = decode(&encode(groups));
    let weights: Vec<u64> =
        decoded.endpoints.iter().map(|g| g.load_balancing_weight.unwrap().value.into()).collect();
    assert!(weights[..3].iter().sum::<u64>() <= max.into(), "{weights:?}");
    assert_eq!((weights[0], weights[2]), (weights[1], 1));
    assert_eq!(weights[3], u64::from(max), "another priority is another sum");
}

proptest! {
    /// Versions are hashes of the bytes, so that these must not depend on how the input came about.
    #[test]
    fn equal_assignments_have_equal_bytes(
        tags in prop::collection::btree_map("[a-z/.]{1,8}", "[a-z]{0,4}", 0..12),
        seed in any::<u64>(),
    ) {
        let pairs: Vec<(&str, &str)> = tags.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let mut shuffled = pairs.clone();
        shuffled.sort_by_key(|(key, _)| key.bytes().fold(seed, |h, b| (h ^ u64::from(b)).wrapping_mul(31)));
        let one = encode(vec![group(0, Some("z"), vec![endpoint("10.0.0.1:80", &pairs)])]);
        let two = encode(vec![group(0, Some("z"), vec![endpoint("10.0.0.1:80", &shuffled)])]);
        prop_assert_eq!(one.body(), two.body());
        prop_assert_eq!(one.version(), two.version());
        // In the bytes the tags follow each other in their order.
        let body = one.body();
        let at = |key: &str| {
            let mut needle = vec![10, key.len() as u8];
            needle.extend(key.bytes());
            body.windows(needle.len()).position(|window| window == needle)
        };
        let positions: Vec<_> = tags.keys().map(|key| at(key).unwrap()).collect();
        prop_assert!(positions.is_sorted());
    }
}
