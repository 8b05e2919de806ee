use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use evenkeel_xds::{
    Delta, Outcome,
    session::{Acked, Changes, SyncState},
};

use crate::world::*;

#[test]
fn a_first_request_without_names_is_sent_everything() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 1), (CDS, "b", 1), (LDS, "l", 1)]);
    assert_eq!(server.asked(&delta(CDS, &[])), ["CDS a,b"]);
}

#[test]
fn an_explicit_wildcard_is_sent_everything() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 1), (CDS, "b", 1)]);
    assert_eq!(server.asked(&delta(CDS, &["*"])), ["CDS a,b"]);
}

#[test]
fn named_subscriptions_are_sent_only_what_they_name() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 1), (CDS, "b", 1)]);
    assert_eq!(server.asked(&delta(CDS, &["b"])), ["CDS b"]);
    assert!(!server.set(CDS, "a", Some(2)), "nobody subscribed to it");
    assert!(server.poll().is_empty());
}

#[test]
fn listeners_are_answered_even_if_there_are_none() {
    let mut server = Server::<Delta>::new(&[]);
    assert_eq!(server.asked(&delta(LDS, &[])), ["LDS"]);
    assert!(server.poll().is_empty(), "once");
}

#[test]
fn endpoint_requests_without_names_are_not_a_wildcard() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1)]);
    assert!(server.ask(&delta(EDS, &[])).is_empty());
    assert_eq!(server.asked(&delta(EDS, &["a"])), ["EDS a"]);
}

#[test]
fn a_subscribed_name_without_resource_is_reported_as_removed_once() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1)]);
    let first = server.ask(&delta(EDS, &["a", "none"]));
    assert_eq!(summary(&first[0]), "EDS a -none");
    assert!(server.ask(&delta_ack(&first[0])).is_empty());
    server.set(EDS, "none", Some(1));
    assert_eq!(server.summaries(), ["EDS none"]);
}

#[test]
fn a_reconnected_client_is_sent_nothing_that_it_has() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 1), (EDS, "a", 1), (LDS, "l", 1)]);
    assert!(server.ask(&delta_with(CDS, &[], &[("a", 1)])).is_empty());
    assert!(server.ask(&delta_with(EDS, &["a"], &[("a", 1)])).is_empty());
    assert!(server.ask(&delta_with(LDS, &[], &[("l", 1)])).is_empty());
    assert_eq!(server.session.status(EDS).state, SyncState::Synced);
    assert_eq!(server.session.status(EDS).n_resources, 1);
}

#[test]
fn a_reconnected_client_is_sent_what_changed_and_told_what_is_gone() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 2), (CDS, "b", 1), (CDS, "new", 1)]);
    let had = [("a", 1), ("b", 1), ("gone", 1)];
    let first = server.ask(&delta_with(CDS, &[], &had));
    assert_eq!(summary(&first[0]), "CDS a,new", "removals come last");
    assert_eq!(server.asked(&delta_ack(&first[0])), ["CDS  -gone"]);
}

#[test]
fn foreign_versions_are_replaced() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 1)]);
    let mut request = delta(CDS, &[]);
    request.initial_resource_versions.insert("a".into(), "v17".into());
    assert_eq!(server.asked(&request), ["CDS a"]);
}

#[test]
fn endpoints_of_a_cluster_that_was_sent_are_sent_even_if_the_client_claims_them() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 2), (EDS, "a", 1), (EDS, "b", 1)]);
    assert_eq!(server.asked(&delta_with(CDS, &[], &[("a", 1)])), ["CDS a"]);
    let claim = delta_with(EDS, &["a", "b"], &[("a", 1), ("b", 1)]);
    assert_eq!(server.asked(&claim), ["EDS a"]);
}

/// Envoy sends no request for the endpoints of a cluster that it warms again.
#[test]
fn endpoints_follow_a_changed_cluster_unasked_and_before_its_acknowledgement() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 1), (EDS, "a", 1), (EDS, "b", 1)]);
    let clusters = server.ask(&delta(CDS, &[]));
    let endpoints = server.ask(&delta(EDS, &["a", "b"]));
    server.request(&delta_ack(&clusters[0]));
    server.request(&delta_ack(&endpoints[0]));
    server.set(CDS, "a", Some(2));
    assert_eq!(server.summaries(), ["CDS a", "EDS a"]);
}

#[test]
fn a_cluster_without_endpoints_does_not_warm_forever() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 1)]);
    let clusters = server.ask(&delta(CDS, &[]));
    let endpoints = server.ask(&delta(EDS, &["a"]));
    server.request(&delta_ack(&clusters[0]));
    server.request(&delta_ack(&endpoints[0]));
    server.set(CDS, "a", Some(2));
    assert_eq!(server.summaries(), ["CDS a", "EDS  -a"]);
}

#[test]
fn changes_are_coalesced_while_a_response_waits() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&delta(EDS, &["a", "b"]));
    for content in 2..100 {
        server.set(EDS, "a", Some(content));
        assert!(server.poll().is_empty());
    }
    let next = server.ask(&delta_ack(&first[0]));
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].resources, [resource(EDS, "a", 99)]);
    let outcome = server.request(&delta_ack(&next[0]));
    let Outcome::Acked(Acked { changes, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(changes, Some(Changes { oldest: 3, newest: 100 }));
}

#[test]
fn a_change_that_is_taken_back_is_not_sent() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1)]);
    let first = server.ask(&delta(EDS, &["a"]));
    server.set(EDS, "a", Some(2));
    server.set(EDS, "a", Some(1));
    assert!(server.ask(&delta_ack(&first[0])).is_empty());
}

#[test]
fn a_rejected_resource_is_not_sent_again_until_it_changes() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1), (LDS, "l", 1)]);
    let first = server.ask(&delta(EDS, &["a"]));
    let outcome = server.request(&delta_nack(&first[0], "no"));
    let names = vec!["a".into()];
    assert_eq!(outcome, Outcome::Nacked { kind: EDS, message: "no".into(), names });
    assert!(server.poll().is_empty());
    assert!(matches!(server.session.status(EDS).state, SyncState::Nacked(_)));
    server.session.on_snapshot(7);
    assert!(server.poll().is_empty(), "nothing changed");
    assert_eq!(server.asked(&delta(LDS, &[])), ["LDS l"], "other types go on");
    server.set(EDS, "a", Some(2));
    let second = server.poll();
    assert_eq!(summary(&second[0]), "EDS a");
    server.request(&delta_ack(&second[0]));
    assert_eq!(server.session.status(EDS).state, SyncState::Synced);
}

#[test]
fn the_rest_of_a_rejected_response_takes_effect() {
    let names = ["a", "b", "bad", "c", "d"];
    let resources: Vec<_> = names.iter().map(|name| (EDS, *name, 1)).collect();
    let mut server = Server::<Delta>::new(&resources);
    let mut due = server.ask(&delta(EDS, &names));
    let mut accepted = Vec::new();
    let mut n_responses = 0;
    while let Some(response) = due.pop() {
        n_responses += 1;
        let request = if summary(&response).contains("bad") {
            delta_nack(&response, "bad is bad")
        } else {
            accepted.extend(response.resources.iter().map(|r| r.name().to_string()));
            delta_ack(&response)
        };
        due = server.ask(&request);
    }
    accepted.sort();
    assert_eq!(accepted, ["a", "b", "c", "d"]);
    assert!(n_responses <= 2 * names.len(), "{n_responses}");
    let SyncState::Nacked(rejection) = server.session.status(EDS).state else { panic!() };
    assert_eq!(rejection.names, ["bad".into()]);
}

#[test]
fn a_removal_that_came_with_something_bad_is_sent_again() {
    let mut server = Server::<Delta>::new(&[(LDS, "l", 1), (LDS, "m", 1)]);
    let first = server.ask(&delta(LDS, &[]));
    server.request(&delta_ack(&first[0]));
    server.set(LDS, "l", None);
    server.set(LDS, "m", Some(2));
    let mixed = server.poll();
    assert_eq!(summary(&mixed[0]), "LDS m -l");
    let removal = server.ask(&delta_nack(&mixed[0], "no m"));
    assert_eq!(summary(&removal[0]), "LDS  -l");
    assert!(server.ask(&delta_nack(&removal[0], "no")).is_empty(), "but only once");
}

#[test]
fn answers_to_older_responses_count_for_nothing_but_their_subscriptions() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&delta(EDS, &["a"]));
    server.request(&delta_ack(&first[0]));
    server.set(EDS, "a", Some(2));
    let second = server.poll();
    let stale = DeltaDiscoveryRequest {
        resource_names_subscribe: vec!["b".into()],
        ..delta_nack(&first[0], "late")
    };
    assert_eq!(server.request(&stale), Outcome::Stale { kind: EDS });
    assert!(server.poll().is_empty(), "the second response still waits");
    assert!(matches!(server.session.status(EDS).state, SyncState::Stale { since: NOW }));
    assert_eq!(server.asked(&delta_ack(&second[0])), ["EDS b"]);
}

#[test]
fn an_unsubscribed_name_is_sent_again_when_it_is_subscribed_again() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1)]);
    let first = server.ask(&delta(EDS, &["a"]));
    server.request(&delta_ack(&first[0]));
    let unsubscribe =
        DeltaDiscoveryRequest { resource_names_unsubscribe: vec!["a".into()], ..delta(EDS, &[]) };
    assert!(server.ask(&unsubscribe).is_empty());
    assert!(!server.set(EDS, "a", Some(2)));
    assert_eq!(server.session.status(EDS).n_subscribed, 0);
    assert_eq!(server.asked(&delta(EDS, &["a"])), ["EDS a"]);
}

#[test]
fn a_name_that_is_subscribed_twice_is_sent_twice() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1)]);
    let first = server.ask(&delta(EDS, &["a", "a"]));
    assert_eq!(summary(&first[0]), "EDS a");
    server.request(&delta_ack(&first[0]));
    assert_eq!(server.asked(&delta(EDS, &["a"])), ["EDS a"], "the client may have lost it");
}

#[test]
fn an_unsubscribed_wildcard_leaves_the_names() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 1), (CDS, "b", 1)]);
    let first = server.ask(&delta(CDS, &["*", "a"]));
    server.request(&delta_ack(&first[0]));
    let unsubscribe =
        DeltaDiscoveryRequest { resource_names_unsubscribe: vec!["*".into()], ..delta(CDS, &[]) };
    assert!(server.ask(&unsubscribe).is_empty());
    assert!(!server.set(CDS, "b", Some(2)));
    assert!(server.set(CDS, "a", Some(2)));
    assert_eq!(server.summaries(), ["CDS a"]);
}

#[test]
fn acknowledgements_say_when_and_for_which_changes() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1)]);
    let first = server.ask(&delta(EDS, &["a"]));
    server.request(&delta_ack(&first[0]));
    let change = server.world.set(EDS, "a", Some(2));
    server.session.on_change(change, EDS, &"a".into());
    let second = server.poll();
    let sent = server.now;
    server.now += std::time::Duration::from_millis(20);
    let outcome = server.request(&delta_ack(&second[0]));
    let expected = Acked {
        kind: EDS,
        version: second[0].version,
        sent,
        acked: server.now,
        changes: Some(Changes { oldest: change, newest: change }),
    };
    assert_eq!(outcome, Outcome::Acked(expected));
    assert_eq!(server.session.status(EDS).acked, Some(resource(EDS, "a", 2).version()));
}
