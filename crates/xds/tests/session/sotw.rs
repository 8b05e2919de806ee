use envoy_types::pb::envoy::{
    config::endpoint::v3::ClusterLoadAssignment, service::discovery::v3::DiscoveryRequest,
};
use evenkeel_xds::{Outcome, Sotw, session::SyncState};
use prost::Message;

use crate::world::*;

#[test]
fn clusters_and_listeners_are_always_the_full_set() {
    let mut server = Server::<Sotw>::new(&[(CDS, "a", 1), (CDS, "b", 1), (LDS, "l", 1)]);
    let first = server.ask(&sotw(CDS, &[]));
    assert_eq!(summary(&first[0]), "CDS a,b");
    server.request(&sotw_ack(&first[0], &[]));
    server.set(CDS, "b", Some(2));
    assert_eq!(server.summaries(), ["CDS a,b"]);
}

#[test]
fn endpoints_may_be_partial() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&sotw(EDS, &["a", "b"]));
    assert_eq!(summary(&first[0]), "EDS a,b");
    server.request(&sotw_ack(&first[0], &["a", "b"]));
    server.set(EDS, "b", Some(2));
    assert_eq!(server.summaries(), ["EDS b"]);
}

#[test]
fn listeners_are_answered_even_if_there_are_none() {
    let mut server = Server::<Sotw>::new(&[]);
    assert_eq!(server.asked(&sotw(LDS, &[])), ["LDS"]);
    assert!(server.poll().is_empty(), "once");
}

#[test]
fn missing_endpoints_are_answered_with_an_empty_assignment() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1)]);
    let first = server.ask(&sotw(EDS, &["none", "a"]));
    assert_eq!(summary(&first[0]), "EDS a,none");
    let assignment = ClusterLoadAssignment::decode(first[0].resources[1].body()).unwrap();
    let empty = ClusterLoadAssignment { cluster_name: "none".into(), ..Default::default() };
    assert_eq!(assignment, empty);
    server.request(&sotw_ack(&first[0], &["none", "a"]));
    server.set(EDS, "none", Some(1));
    assert_eq!(server.summaries(), ["EDS none"]);
}

#[test]
fn missing_routes_are_answered_when_they_are_there() {
    let mut server = Server::<Sotw>::new(&[]);
    assert!(server.ask(&sotw(RDS, &["r"])).is_empty());
    server.set(RDS, "r", Some(1));
    assert_eq!(server.summaries(), ["RDS r"]);
}

#[test]
fn a_reconnected_client_that_has_everything_is_sent_nothing() {
    let resources = [(CDS, "a", 1), (EDS, "a", 1), (EDS, "b", 1), (LDS, "l", 1)];
    let mut server = Server::<Sotw>::new(&resources);
    let clusters = server.ask(&sotw(CDS, &[]));
    let endpoints = server.ask(&sotw(EDS, &["a", "b", "none"]));
    let mut server = server.reconnect();
    let again = |kind, names: &[&str], version: String| DiscoveryRequest {
        version_info: version,
        ..sotw(kind, names)
    };
    assert!(server.ask(&again(CDS, &[], clusters[0].version_text())).is_empty());
    let version = endpoints[0].version_text();
    assert!(server.ask(&again(EDS, &["none", "b", "a"], version)).is_empty());
    server.set(EDS, "a", Some(2));
    assert_eq!(server.summaries(), ["EDS a"]);
}

#[test]
fn a_partial_response_has_the_version_of_all_that_the_client_holds() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&sotw(EDS, &["a", "b"]));
    server.request(&sotw_ack(&first[0], &["a", "b"]));
    server.set(EDS, "b", Some(2));
    let partial = server.poll();
    let mut fresh = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "b", 2)]);
    let full = fresh.ask(&sotw(EDS, &["b", "a"]));
    assert_eq!(partial[0].version_text(), full[0].version_text());
}

#[test]
fn a_reconnected_client_that_lags_is_sent_everything() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&sotw(EDS, &["a", "b"]));
    let mut server = server.reconnect();
    server.set(EDS, "a", Some(2));
    let request =
        DiscoveryRequest { version_info: first[0].version_text(), ..sotw(EDS, &["a", "b"]) };
    assert_eq!(server.asked(&request), ["EDS a,b"]);
}

#[test]
fn endpoints_of_clusters_that_were_sent_are_sent_even_if_the_client_claims_them() {
    let mut server = Server::<Sotw>::new(&[(CDS, "a", 1), (EDS, "a", 1)]);
    let clusters = server.ask(&sotw(CDS, &[]));
    let endpoints = server.ask(&sotw(EDS, &["a"]));
    let mut server = server.reconnect();
    server.set(CDS, "a", Some(2));
    let claim = |kind, names: &[&str], version: String| DiscoveryRequest {
        version_info: version,
        ..sotw(kind, names)
    };
    assert_eq!(server.asked(&claim(CDS, &[], clusters[0].version_text())), ["CDS a"]);
    assert_eq!(server.asked(&claim(EDS, &["a"], endpoints[0].version_text())), ["EDS a"]);
}

/// The client may have dropped the route with an earlier listener, and its version does not say so.
#[test]
fn routes_of_listeners_that_were_sent_are_sent_even_if_the_client_claims_them() {
    let mut server = Server::<Sotw>::new(&[(RDS, "r", 1), (LDS, "l", 1)]);
    let routes = server.ask(&sotw(RDS, &["r"]));
    let mut server = server.reconnect();
    let claim = DiscoveryRequest { version_info: routes[0].version_text(), ..sotw(RDS, &["r"]) };
    assert!(server.ask(&claim).is_empty());
    let mut server = server.reconnect();
    assert_eq!(server.asked(&sotw(LDS, &[])), ["LDS l"]);
    assert_eq!(server.asked(&claim), ["RDS r"]);
}

/// A cluster that warms asks for its endpoints with a request that looks like an acknowledgement.
#[test]
fn a_repeated_acknowledgement_is_answered() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&sotw(EDS, &["a", "b"]));
    let ack = sotw_ack(&first[0], &["a", "b"]);
    assert!(server.ask(&ack).is_empty());
    let again = server.ask(&ack);
    assert_eq!(summary(&again[0]), "EDS a,b");
    assert!(server.ask(&sotw_ack(&again[0], &["a", "b"])).is_empty(), "one answer to one question");
}

#[test]
fn endpoints_follow_a_changed_cluster_before_its_acknowledgement() {
    let mut server = Server::<Sotw>::new(&[(CDS, "a", 1), (EDS, "a", 1), (EDS, "b", 1)]);
    let clusters = server.ask(&sotw(CDS, &[]));
    let endpoints = server.ask(&sotw(EDS, &["a", "b"]));
    server.request(&sotw_ack(&clusters[0], &[]));
    server.request(&sotw_ack(&endpoints[0], &["a", "b"]));
    server.set(CDS, "a", Some(2));
    assert_eq!(server.summaries(), ["CDS a", "EDS a"]);
    let late = sotw_ack(&endpoints[0], &["a", "b"]);
    assert_eq!(server.request(&late), Outcome::Stale { kind: EDS });
    assert!(server.poll().is_empty(), "what it asks for is on its way");
}

#[test]
fn added_names_are_answered_alone() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&sotw(EDS, &["a"]));
    server.request(&sotw_ack(&first[0], &["a"]));
    assert_eq!(server.asked(&sotw_ack(&first[0], &["a", "b"])), ["EDS b"]);
}

#[test]
fn names_in_a_stale_request_wait_for_the_next_answer() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&sotw(EDS, &["a"]));
    server.request(&sotw_ack(&first[0], &["a"]));
    server.set(EDS, "a", Some(2));
    let second = server.poll();
    assert_eq!(server.request(&sotw_ack(&first[0], &["a", "b"])), Outcome::Stale { kind: EDS });
    assert!(server.poll().is_empty());
    assert_eq!(server.asked(&sotw_ack(&second[0], &["a", "b"])), ["EDS b"]);
}

#[test]
fn a_name_that_was_left_out_once_is_sent_again() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "b", 1)]);
    let first = server.ask(&sotw(EDS, &["a", "b"]));
    assert!(server.ask(&sotw_ack(&first[0], &["a"])).is_empty());
    assert!(!server.set(EDS, "b", Some(2)));
    assert_eq!(server.asked(&sotw_ack(&first[0], &["a", "b"])), ["EDS b"]);
}

#[test]
fn no_names_after_names_means_nothing() {
    let mut server = Server::<Sotw>::new(&[(CDS, "a", 1), (CDS, "b", 1)]);
    let first = server.ask(&sotw(CDS, &["a"]));
    assert_eq!(summary(&first[0]), "CDS a");
    assert!(server.ask(&sotw_ack(&first[0], &[])).is_empty());
    assert!(!server.set(CDS, "b", Some(2)));
}

#[test]
fn a_wildcard_is_sent_everything() {
    let mut server = Server::<Sotw>::new(&[(CDS, "a", 1), (CDS, "b", 1)]);
    assert_eq!(server.asked(&sotw(CDS, &["*", "a"])), ["CDS a,b"]);
}

#[test]
fn a_rejected_set_is_not_sent_again_until_something_changes() {
    let mut server = Server::<Sotw>::new(&[(CDS, "a", 1), (CDS, "b", 1), (LDS, "l", 1)]);
    let first = server.ask(&sotw(CDS, &[]));
    server.request(&sotw_ack(&first[0], &[]));
    server.set(CDS, "b", Some(2));
    let second = server.poll();
    let nack = sotw_nack(&second[0], &[], &first[0].version_text(), "no b");
    let expected = Outcome::Nacked { kind: CDS, message: "no b".into(), names: vec!["b".into()] };
    assert_eq!(server.request(&nack), expected);
    assert!(server.poll().is_empty());
    assert_eq!(server.session.status(CDS).acked, Some(first[0].version));
    assert_eq!(server.asked(&sotw(LDS, &[])), ["LDS l"], "other types go on");
    server.set(CDS, "b", Some(3));
    let third = server.poll();
    assert_eq!(summary(&third[0]), "CDS a,b");
    server.request(&sotw_ack(&third[0], &[]));
    assert_eq!(server.session.status(CDS).state, SyncState::Synced);
}

/// Otherwise a client that rejected something would be taken for one that has it.
#[test]
fn a_version_with_rejected_parts_is_not_recognised_later() {
    let mut server = Server::<Sotw>::new(&[(EDS, "a", 1), (EDS, "bad", 1)]);
    let names = ["a", "bad"];
    let first = server.ask(&sotw(EDS, &names));
    let second = server.ask(&sotw_nack(&first[0], &names, "", "bad"));
    let third = server.ask(&sotw_ack(&second[0], &names));
    server.request(&sotw_nack(&third[0], &names, &second[0].version_text(), "bad"));
    let mut server = server.reconnect();
    let request = DiscoveryRequest { version_info: second[0].version_text(), ..sotw(EDS, &names) };
    assert_eq!(server.asked(&request), ["EDS a,bad"]);
}

#[test]
fn a_rejected_route_that_is_gone_before_it_is_sent_alone_is_rejected_no_more() {
    let mut server = Server::<Sotw>::new(&[(RDS, "a", 1), (RDS, "bad", 1)]);
    let names = ["a", "bad"];
    let first = server.ask(&sotw(RDS, &names));
    server.set(RDS, "bad", None);
    let second = server.ask(&sotw_nack(&first[0], &names, "", "bad"));
    assert_eq!(summary(&second[0]), "RDS a");
    server.request(&sotw_ack(&second[0], &names));
    assert!(server.poll().is_empty());
    assert_eq!(server.session.status(RDS).state, SyncState::Synced);
}
