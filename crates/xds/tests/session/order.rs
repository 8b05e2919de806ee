//! Make before break.

use evenkeel_xds::{Delta, Response, Sotw, session::CLUSTER_WAIT};

use crate::world::*;

/// A client that has cluster `a` with endpoints, a listener and a route to it.
const BEFORE: [(evenkeel_xds::ResourceType, &str, u32); 4] =
    [(CDS, "a", 1), (EDS, "a", 1), (LDS, "l", 1), (RDS, "r", 1)];

fn connected() -> Server<Delta> {
    let mut server = Server::new(&BEFORE);
    for (kind, names) in [(CDS, &[][..]), (EDS, &["a"]), (LDS, &[]), (RDS, &["r"])] {
        for response in server.ask(&delta(kind, names)) {
            server.request(&delta_ack(&response));
        }
    }
    assert!(server.poll().is_empty());
    server
}

fn ack_all(server: &mut Server<Delta>, responses: &[Response]) {
    responses.iter().for_each(|response| {
        server.request(&delta_ack(response));
    });
}

#[test]
fn a_new_cluster_comes_first_and_the_old_one_goes_last() {
    let mut server = connected();
    server.set(RDS, "r", Some(2));
    server.set(LDS, "l", Some(2));
    server.set(CDS, "a", None);
    server.set(EDS, "a", None);
    server.set(CDS, "b", Some(1));
    server.set(EDS, "b", Some(1));
    let clusters = server.poll();
    assert_eq!(clusters.iter().map(summary).collect::<Vec<_>>(), ["CDS b"]);
    let endpoints = server.ask(&delta(EDS, &["b"]));
    assert_eq!(summary(&endpoints[0]), "EDS b");
    ack_all(&mut server, &endpoints);
    assert!(server.poll().is_empty(), "routes wait until clusters are acknowledged");
    ack_all(&mut server, &clusters);
    let routes = server.poll();
    assert_eq!(routes.iter().map(summary).collect::<Vec<_>>(), ["LDS l", "RDS r"]);
    ack_all(&mut server, &routes[..1]);
    assert!(server.poll().is_empty(), "the old route may still be in use");
    ack_all(&mut server, &routes[1..]);
    let removed = server.poll();
    assert_eq!(removed.iter().map(summary).collect::<Vec<_>>(), ["CDS  -a"]);
    ack_all(&mut server, &removed);
    assert_eq!(server.summaries(), ["EDS  -a"]);
}

#[test]
fn the_full_set_keeps_a_leaving_cluster_until_routes_are_acknowledged() {
    let mut server = Server::<Sotw>::new(&BEFORE);
    for (kind, names) in [(CDS, &[][..]), (EDS, &["a"]), (LDS, &[]), (RDS, &["r"])] {
        for response in server.ask(&sotw(kind, names)) {
            server.request(&sotw_ack(&response, names));
        }
    }
    server.set(RDS, "r", Some(2));
    server.set(CDS, "a", None);
    server.set(CDS, "b", Some(1));
    let clusters = server.poll();
    assert_eq!(clusters.iter().map(summary).collect::<Vec<_>>(), ["CDS a,b"]);
    let routes = server.ask(&sotw_ack(&clusters[0], &[]));
    assert_eq!(routes.iter().map(summary).collect::<Vec<_>>(), ["RDS r"]);
    assert_eq!(server.asked(&sotw_ack(&routes[0], &["r"])), ["CDS b"]);
}

#[test]
fn a_cluster_that_nothing_else_changes_with_goes_at_once() {
    let mut server = connected();
    server.set(CDS, "a", None);
    assert_eq!(server.summaries(), ["CDS  -a"]);
}

#[test]
fn a_cluster_that_returns_in_time_is_never_removed() {
    let mut server = connected();
    server.set(RDS, "r", Some(2));
    server.set(CDS, "a", None);
    let routes = server.poll();
    assert_eq!(routes.iter().map(summary).collect::<Vec<_>>(), ["RDS r"]);
    server.set(CDS, "a", Some(1));
    ack_all(&mut server, &routes);
    assert!(server.poll().is_empty());
}

/// A client that rejected new routes still uses the old ones.
#[test]
fn clusters_stay_while_routes_are_rejected() {
    let mut server = connected();
    server.set(RDS, "r", Some(2));
    server.set(CDS, "a", None);
    let routes = server.poll();
    assert!(server.ask(&delta_nack(&routes[0], "no")).is_empty());
    server.set(RDS, "r", Some(3));
    let routes = server.poll();
    assert_eq!(server.asked(&delta_ack(&routes[0])), ["CDS  -a"]);
}

#[test]
fn listeners_wait_for_clusters_only_so_long() {
    let mut server = connected();
    server.set(CDS, "a", Some(2));
    server.set(LDS, "l", Some(2));
    assert_eq!(server.summaries(), ["CDS a", "EDS a"]);
    assert_eq!(server.session.deadline(), Some(NOW + CLUSTER_WAIT));
    server.now += CLUSTER_WAIT - std::time::Duration::from_nanos(1);
    assert!(server.poll().is_empty());
    server.now = NOW + CLUSTER_WAIT;
    assert_eq!(server.summaries(), ["LDS l"]);
    assert_eq!(server.session.deadline(), None);
}

#[test]
fn rejected_clusters_hold_nothing_up() {
    let mut server = connected();
    server.set(CDS, "a", Some(2));
    server.set(LDS, "l", Some(2));
    let clusters = server.poll();
    assert_eq!(server.asked(&delta_nack(&clusters[0], "no")), ["LDS l"]);
}

#[test]
fn a_removed_listener_is_removed_at_once() {
    let mut server = connected();
    server.set(LDS, "l", None);
    assert_eq!(server.summaries(), ["LDS  -l"]);
}
