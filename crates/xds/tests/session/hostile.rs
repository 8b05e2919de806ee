use std::time::Instant;

use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use evenkeel_xds::{
    Delta, DeltaSession, Outcome, Sotw, SotwSession,
    session::{Limits, Refused, SyncState},
};

use crate::world::*;

const LIMITS: Limits = Limits { names: 100, name_bytes: 1000 };

fn names(n: usize, prefix: &str) -> Vec<String> {
    (0..n).map(|i| format!("{prefix}{i}")).collect()
}

#[test]
fn too_many_names_end_the_stream() {
    let many = names(101, "");
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let refused = Err(Refused::TooManyNames { kind: EDS, limit: 100 });
    assert_eq!(DeltaSession::new(LIMITS).on_request(NOW, &delta(EDS, &many)), refused);
    assert_eq!(SotwSession::new(LIMITS).on_request(NOW, &sotw(EDS, &many)), refused);
    assert!(DeltaSession::new(LIMITS).on_request(NOW, &delta(EDS, &many[1..])).is_ok());
}

#[test]
fn names_add_up_over_requests() {
    let mut session = DeltaSession::new(LIMITS);
    let refused = (0..).find_map(|i| {
        session.on_request(NOW, &delta(EDS, &[&i.to_string()])).err().map(|error| (i, error))
    });
    assert_eq!(refused, Some((100, Refused::TooManyNames { kind: EDS, limit: 100 })));
}

#[test]
fn long_names_end_the_stream() {
    let long = "x".repeat(1001);
    let refused = Err(Refused::NamesTooLong { kind: EDS, limit: 1000 });
    assert_eq!(DeltaSession::new(LIMITS).on_request(NOW, &delta(EDS, &[&long])), refused);
    assert_eq!(SotwSession::new(LIMITS).on_request(NOW, &sotw(EDS, &[&long])), refused);
    let mut request = delta(CDS, &[]);
    request.initial_resource_versions.insert(long, String::new());
    let refused = Err(Refused::NamesTooLong { kind: CDS, limit: 1000 });
    assert_eq!(DeltaSession::new(LIMITS).on_request(NOW, &request), refused);
}

#[test]
fn a_name_counts_once_however_often_it_is_repeated_or_dropped() {
    let mut session = DeltaSession::new(LIMITS);
    let twice = ["a"; 60];
    for _ in 0..10 {
        session.on_request(NOW, &delta(EDS, &twice)).unwrap();
        let unsubscribe = DeltaDiscoveryRequest {
            resource_names_unsubscribe: vec!["a".into(), "a".into(), "never".into()],
            ..delta(EDS, &["b"])
        };
        session.on_request(NOW, &unsubscribe).unwrap();
    }
    assert_eq!(session.status(EDS).n_subscribed, 1);
}

/// Near linear, also if each request brings one name.
#[test]
fn fifty_thousand_names_take_no_time() {
    let many = names(50_000, "name-");
    let refs: Vec<&str> = many.iter().map(String::as_str).collect();
    let limits = Limits { names: 100_000, name_bytes: 8 << 20 };
    let start = Instant::now();
    let mut delta_session = DeltaSession::new(limits);
    delta_session.on_request(NOW, &delta(EDS, &refs)).unwrap();
    let first = delta_session.poll(NOW, &World::default()).unwrap();
    assert_eq!(first.removed.len(), 50_000);
    let mut sotw_session = SotwSession::new(limits);
    sotw_session.on_request(NOW, &sotw(EDS, &refs)).unwrap();
    assert!(sotw_session.poll(NOW, &World::default()).is_some());
    let mut drop_by_drop = DeltaSession::new(limits);
    for name in &refs {
        drop_by_drop.on_request(NOW, &delta(EDS, &[name])).unwrap();
    }
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn unknown_types_are_noted_once() {
    let mut server = Server::<Sotw>::new(&[]);
    let mut request = sotw(CDS, &[]);
    request.type_url =
        "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret".into();
    assert_eq!(server.request(&request), Outcome::UnknownType { first: true });
    assert_eq!(server.request(&request), Outcome::UnknownType { first: false });
    assert!(server.poll().is_empty());
    let noted = (0..1000).filter(|i| {
        request.type_url = "é".repeat(500) + &i.to_string();
        server.request(&request) == Outcome::UnknownType { first: true }
    });
    assert!(noted.count() < 20);
}

#[test]
fn wrong_nonces_acknowledge_nothing() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1)]);
    let first = server.ask(&delta(EDS, &["a"]));
    for nonce in ["0", "2", "18446744073709551616", "-1", "é", " 1", "1\0"] {
        let mut request = delta_ack(&first[0]);
        request.response_nonce = nonce.into();
        assert_eq!(server.request(&request), Outcome::Stale { kind: EDS }, "{nonce:?}");
    }
    assert!(matches!(server.session.status(EDS).state, SyncState::Stale { .. }));
    assert!(matches!(server.request(&delta_ack(&first[0])), Outcome::Acked(_)));
    assert_eq!(server.request(&delta_ack(&first[0])), Outcome::Stale { kind: EDS });
}

#[test]
fn the_nonce_of_another_type_acknowledges_nothing() {
    let mut server = Server::<Sotw>::new(&[(CDS, "a", 1), (EDS, "a", 1)]);
    let clusters = server.ask(&sotw(CDS, &[]));
    let endpoints = server.ask(&sotw(EDS, &["a"]));
    let mut request = sotw_ack(&endpoints[0], &["a"]);
    request.response_nonce = clusters[0].nonce.to_string();
    assert_eq!(server.request(&request), Outcome::Stale { kind: EDS });
}

#[test]
fn a_message_of_rejection_is_cut() {
    let mut server = Server::<Delta>::new(&[(EDS, "a", 1)]);
    let first = server.ask(&delta(EDS, &["a"]));
    server.request(&delta_nack(&first[0], &"é".repeat(1 << 20)));
    let SyncState::Nacked(rejection) = server.session.status(EDS).state else { panic!() };
    assert!(rejection.message.len() <= 4096);
}

/// Each response to a client that rejects everything needs a request of its own, and they end.
#[test]
fn a_client_that_rejects_everything_is_left_alone_in_the_end() {
    let many = names(1000, "n");
    let refs: Vec<&str> = many.iter().map(String::as_str).collect();
    let resources: Vec<_> = refs.iter().map(|name| (EDS, *name, 1)).collect();
    let mut server = Server::<Delta>::new(&resources);
    let mut due = server.ask(&delta(EDS, &refs));
    let mut n_responses = 0;
    while let Some(response) = due.pop() {
        n_responses += 1;
        due = server.ask(&delta_nack(&response, "no"));
        assert!(due.len() <= 1);
    }
    assert_eq!(n_responses, 1999);
}

#[test]
fn a_client_that_never_answers_is_sent_one_response_of_each_type() {
    let mut server = Server::<Delta>::new(&[(CDS, "a", 0), (EDS, "a", 0)]);
    let mut n_responses =
        server.ask(&delta(CDS, &[])).len() + server.ask(&delta(EDS, &["a"])).len();
    for content in 0..1000 {
        server.set(CDS, "a", Some(content));
        server.set(EDS, "a", Some(content));
        n_responses += server.poll().len();
    }
    assert_eq!(n_responses, 2);
}
