//! Servers that store something else than they were sent: webhooks, and versions that do not know a
//! field.

use evenkeel_controller::engine::{Action, Outcome};
use evenkeel_model::{SeenSlice, Slice, Watched, label};
use evenkeel_testkit::{ServiceExt, service};

use crate::{
    desk::{Desk, seen_slice},
    three_zones,
};

/// Answers writes as a server that changes slices so, until there are none. What conditions said
/// last, as `type=status reason`.
fn run(desk: &mut Desk, change: impl Fn(&mut Slice)) -> (Vec<String>, Vec<SeenSlice>, usize) {
    let (mut said, mut slices, mut n_writes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..20 {
        desk.poll();
        let Some(write) = desk.writes.pop_front() else { return (said, slices, n_writes) };
        match &write.action {
            Action::Create { slice, .. } | Action::Update { slice, .. } => {
                n_writes += 1;
                let mut stored = slice.clone();
                change(&mut stored);
                let version = desk.version(&slice.name, 1);
                let seen = seen_slice(stored, version);
                slices.push(seen.clone());
                desk.answer(&write, Outcome::Stored(Box::new(seen)));
            }
            Action::Conditions { set, .. } => {
                let line = |c: &evenkeel_model::Condition| {
                    let kind = c.kind.trim_start_matches("TrafficDistribution");
                    format!("{kind}={} {}", c.status, c.reason)
                };
                said = set.iter().map(|(condition, _)| line(condition)).collect();
                desk.answer(&write, Outcome::Done);
            }
            action => panic!("{action:?}"),
        }
    }
    panic!("it never ends")
}

/// A server that does not know `forNodes`.
fn without_nodes(slice: &mut Slice) {
    for endpoint in &mut slice.endpoints {
        if let Some(hints) = &mut endpoint.hints {
            hints.nodes = evenkeel_model::Few::None;
        }
    }
}

#[test]
fn hints_that_the_server_dropped_are_not_programmed_and_not_sent_again() {
    let mut desk = three_zones();
    desk.service(service("web").distribution("PreferSameNode"));
    let (said, slices, n_writes) = run(&mut desk, without_nodes);
    assert_eq!(said, ["Accepted=true SetByField", "Programmed=false EndpointSlicesAltered"]);
    assert_eq!(n_writes, 1);
    assert!(desk.reports.iter().any(|report| report.altered.is_some()));
    // The watch shows what the answer has told already.
    desk.engine.slice(Watched::Applied(slices[0].clone()));
    desk.poll();
    assert!(desk.writes.is_empty(), "{:?}", desk.writes);
    // A restart finds the slice without them, and tries once.
    let mut again = three_zones();
    again.engine.slice(Watched::Applied(slices[0].clone()));
    again.service(service("web").distribution("PreferSameNode"));
    let (said, _, n_writes) = run(&mut again, without_nodes);
    assert_eq!(
        (said.last().unwrap().as_str(), n_writes),
        ("Programmed=false EndpointSlicesAltered", 1)
    );
}

#[test]
fn labels_that_a_webhook_adds_change_nothing() {
    let mut desk = three_zones();
    desk.service(service("web").distribution("PreferSameZone"));
    let label = |slice: &mut Slice| {
        slice.labels.insert("team".into(), "x".into());
    };
    let (said, _, n_writes) = run(&mut desk, label);
    assert_eq!(said, ["Accepted=true SetByField", "Programmed=true HintsInForce"]);
    assert_eq!(n_writes, 1);
    desk.pod("web", "pod-a2", "a", 9);
    let (_, slices, n_writes) = run(&mut desk, label);
    assert_eq!((n_writes, slices[0].slice.endpoints.len()), (1, 4));
    assert!(slices[0].slice.labels.contains_key(label::SERVICE_NAME));
}
