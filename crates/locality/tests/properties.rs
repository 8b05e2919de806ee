//! What holds for all policies, clients and endpoints.

#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use evenkeel_locality::{
    Client, Compat, Place, assign, assign_at,
    strategy::{
        AffinityTag, CrossZone, Failover, FailoverThreshold, FromZone, IntOrText, LocalZone,
        LocalityAwareness, ToZone,
    },
};
use evenkeel_model::mesh::{EndpointHealth, Group, MeshEndpoint};
use proptest::{collection, option, prelude::*};

const ZONES: [&str; 4] = ["a", "b", "c", "d"];
const KEYS: [&str; 3] = ["node", "rack", "az"];

fn zone() -> impl Strategy<Value = Arc<str>> {
    prop::sample::select(&ZONES).prop_map(Arc::from)
}

fn text(from: &'static [&'static str]) -> impl Strategy<Value = Arc<str>> {
    prop::sample::select(from).prop_map(Arc::from)
}

fn rule() -> impl Strategy<Value = Failover> {
    let from = option::of(collection::vec(zone(), 1..3).prop_map(|zones| FromZone { zones }));
    let to = prop_oneof![
        Just(ToZone { r#type: "Any".into(), zones: None }),
        Just(ToZone { r#type: "None".into(), zones: None }),
        (text(&["Only", "AnyExcept"]), collection::vec(zone(), 1..3))
            .prop_map(|(r#type, zones)| ToZone { r#type, zones: Some(zones) }),
    ];
    (from, to).prop_map(|(from, to)| Failover { from, to })
}

fn awareness() -> impl Strategy<Value = LocalityAwareness> {
    let tags = (any::<bool>(), collection::vec((text(&KEYS), 1_u32..100), 0..4)).prop_map(
        |(weighted, tags)| {
            let tag = |(key, weight)| AffinityTag { key, weight: weighted.then_some(weight) };
            tags.into_iter().map(tag).collect()
        },
    );
    let local = option::of(tags.prop_map(|tags| LocalZone { affinity_tags: Some(tags) }));
    let threshold = option::of((1..=100).prop_map(IntOrText::Int));
    let cross = option::of((collection::vec(rule(), 0..4), threshold)).prop_map(|cross| {
        let cross_zone = |(failover, threshold): (_, Option<IntOrText>)| CrossZone {
            failover: Some(failover),
            failover_threshold: threshold.map(|percentage| FailoverThreshold { percentage }),
        };
        cross.map(cross_zone)
    });
    (prop::bool::weighted(0.1), local, cross).prop_map(|(disabled, local_zone, cross_zone)| {
        LocalityAwareness { disabled: Some(disabled), local_zone, cross_zone }
    })
}

fn endpoint() -> impl Strategy<Value = Arc<MeshEndpoint>> {
    let tags = collection::btree_map(text(&KEYS), text(&["x", "y"]), 0..3);
    let health = prop_oneof![Just(EndpointHealth::Healthy), Just(EndpointHealth::Unhealthy)];
    // Few addresses, so that some are equal.
    (0_u8..40, 1_u16..3, option::weighted(0.9, zone()), tags, health).prop_map(
        |(ip, port, zone, tags, health)| {
            let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, ip)), port);
            Arc::new(MeshEndpoint { address, zone, tags: Arc::new(tags), weight: None, health })
        },
    )
}

fn client() -> impl Strategy<Value = Client> {
    let values = || collection::btree_set(text(&["x", "y"]), 0..3);
    let tags = collection::btree_map(text(&["node", "rack", "az", "other"]), values(), 0..4);
    let labels = collection::btree_map(text(&KEYS), text(&["x", "y"]), 0..3);
    (option::weighted(0.9, zone()), tags, labels).prop_map(|(zone, tags, labels)| Client {
        zone,
        tags,
        labels,
    })
}

fn strategy(awareness: Option<&LocalityAwareness>, compat: Compat) -> evenkeel_locality::Strategy {
    evenkeel_locality::Strategy::new(awareness, compat).unwrap()
}

fn compat() -> impl Strategy<Value = Compat> {
    prop_oneof![Just(Compat::Record), Just(Compat::Kuma)]
}

fn addresses<'g>(groups: impl IntoIterator<Item = &'g Group>) -> Vec<SocketAddr> {
    groups.into_iter().flat_map(|group| &group.endpoints).map(|e| e.address).collect()
}

proptest! {
    #[test]
    fn every_endpoint_of_the_own_zone_is_once_in_priority_0(
        awareness in option::of(awareness()), client in client(), compat in compat(),
        endpoints in collection::vec(endpoint(), 0..60),
    ) {
        let strategy = strategy(awareness.as_ref(), compat);
        let outcome = assign(&client, &endpoints, &strategy);
        let own: BTreeSet<SocketAddr> =
            endpoints.iter().filter(|e| e.zone == client.zone).map(|e| e.address).collect();
        let first = outcome.assignment.groups.iter().filter(|group| group.priority == 0);
        let sent = addresses(first.filter(|g| g.zone.as_deref().unwrap_or_default() == client.zone.as_deref().unwrap_or_default()));
        prop_assert_eq!(sent.iter().collect::<BTreeSet<_>>(), own.iter().collect());
        prop_assert_eq!(sent.len(), own.len());
    }

    #[test]
    fn no_address_is_sent_twice_in_a_zone_or_in_two_priorities(
        awareness in option::of(awareness()), client in client(), compat in compat(),
        endpoints in collection::vec(endpoint(), 0..60),
    ) {
        let outcome = assign(&client, &endpoints, &strategy(awareness.as_ref(), compat));
        let mut seen: BTreeMap<SocketAddr, (u32, BTreeSet<_>)> = BTreeMap::new();
        for group in &outcome.assignment.groups {
            prop_assert!(!group.endpoints.is_empty());
            for endpoint in &group.endpoints {
                let (priority, zones) = seen
                    .entry(endpoint.address)
                    .or_insert_with(|| (group.priority, BTreeSet::new()));
                prop_assert_eq!(*priority, group.priority);
                prop_assert!(zones.insert(group.zone.clone()));
            }
        }
    }

    #[test]
    fn the_order_of_the_input_says_nothing(
        awareness in option::of(awareness()), client in client(), compat in compat(),
        (endpoints, shuffled) in collection::vec(endpoint(), 0..60)
            .prop_flat_map(|endpoints| (Just(endpoints.clone()), Just(endpoints).prop_shuffle())),
    ) {
        let strategy = strategy(awareness.as_ref(), compat);
        prop_assert_eq!(assign(&client, &endpoints, &strategy), assign(&client, &shuffled, &strategy));
    }

    /// Clients that differ in what a place leaves out: other tags, labels behind tags, values
    /// that are not the smallest.
    #[test]
    fn clients_at_equal_places_are_told_the_same(
        awareness in option::of(awareness()), one in client(), two in client(), compat in compat(),
        endpoints in collection::vec(endpoint(), 0..40),
    ) {
        let strategy = strategy(awareness.as_ref(), compat);
        let place = Place::of(&one, &strategy);
        let shared = assign_at(&place, &endpoints, &strategy);
        prop_assert_eq!(&assign(&one, &endpoints, &strategy), &shared);
        if Place::of(&two, &strategy) == place {
            prop_assert_eq!(&assign(&two, &endpoints, &strategy), &shared);
        }
        // What matters is in the place: a client with nothing else is at the same one.
        let tags = place.affinity(&strategy).map(|(tag, value)| (tag.key.clone(), [value.clone()].into()));
        let bare = Client { zone: one.zone.clone(), tags: tags.collect(), labels: BTreeMap::new() };
        prop_assert_eq!(&assign(&bare, &endpoints, &strategy), &shared);
    }

    /// The rules one by one, for each endpoint, as the record tells them.
    #[test]
    fn other_zones_follow_the_rules_in_their_order(
        failover in collection::vec(rule(), 0..5), client in client(),
        endpoints in collection::vec(endpoint(), 0..40),
    ) {
        let cross_zone = CrossZone { failover: Some(failover.clone()), failover_threshold: None };
        let awareness = LocalityAwareness { cross_zone: Some(cross_zone), ..Default::default() };
        let outcome = assign(&client, &endpoints, &strategy(Some(&awareness), Compat::Record));
        let client_zone = client.zone.clone().unwrap_or_default();
        let mut best: BTreeMap<SocketAddr, u32> = BTreeMap::new();
        for endpoint in &endpoints {
            let zone = endpoint.zone.clone().unwrap_or_default();
            if let Some(priority) = by_the_record(&failover, &client_zone, &zone) {
                let entry = best.entry(endpoint.address).or_insert(priority);
                *entry = priority.min(*entry);
            }
        }
        let groups = &outcome.assignment.groups;
        let sent: BTreeMap<SocketAddr, u32> = groups
            .iter()
            .flat_map(|group| group.endpoints.iter().map(|e| (e.address, group.priority)))
            .collect();
        prop_assert_eq!(sent, best);
    }

    #[test]
    fn every_endpoint_has_a_reason(
        awareness in option::of(awareness()), client in client(), compat in compat(),
        endpoints in collection::vec(endpoint(), 0..60),
    ) {
        let outcome = assign(&client, &endpoints, &strategy(awareness.as_ref(), compat));
        let counts = outcome.reasons.iter().map(|reason| {
            let reason = serde_json::to_value(reason).unwrap();
            let is_second = reason["code"] == "AddressInTwoZones";
            if is_second { 0 } else { reason["endpoints"].as_u64().unwrap() }
        });
        prop_assert_eq!(counts.sum::<u64>(), endpoints.len() as u64);
    }

    #[test]
    fn a_policy_is_read_as_it_was_written(awareness in awareness()) {
        let value = serde_json::to_value(&awareness).unwrap();
        prop_assert_eq!(common::awareness(&value), awareness);
    }
}

fn by_the_record(rules: &[Failover], client_zone: &str, zone: &str) -> Option<u32> {
    if zone == client_zone {
        return Some(0);
    }
    for (position, rule) in (1..).zip(rules) {
        let from = rule.from.as_ref().map(|from| &from.zones);
        if from.is_some_and(|from| !from.iter().any(|name| &**name == client_zone)) {
            continue;
        }
        let named = rule.to.zones().iter().any(|name| &**name == zone);
        match &*rule.to.r#type {
            "None" => return None,
            "Any" => return Some(position),
            "Only" if named => return Some(position),
            "AnyExcept" if !named => return Some(position),
            _ => {}
        }
    }
    None
}
