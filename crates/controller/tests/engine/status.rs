//! Conditions and Events.

use evenkeel_controller::engine::Action;
use evenkeel_model::{SeenService, Service, Version, Watched};
use evenkeel_testkit::{ServiceExt, service};

use crate::{
    desk::{Desk, seen},
    three_zones,
};

/// The conditions that a Service gets, as `type=status reason`.
fn conditions(service: Service) -> (Vec<String>, Desk) {
    let mut desk = three_zones();
    desk.service(service);
    let mut said = Vec::new();
    for _ in 0..10 {
        desk.poll();
        let Some(write) = desk.writes.pop_front() else { break };
        if let Action::Conditions { set, .. } = &write.action {
            let line = |c: &evenkeel_model::Condition| {
                let kind = c.kind.trim_start_matches("TrafficDistribution");
                format!("{kind}={} {}", c.status, c.reason)
            };
            said.extend(set.iter().map(|(condition, _)| line(condition)));
        }
        let version = desk.version("x", 1);
        desk.done(&write, version);
    }
    (said, desk)
}

#[test]
fn conditions_say_what_is_asked_and_what_came_of_it() {
    let none = service("nobody");
    let cases: Vec<(Service, &[&str])> = vec![
        (service("web"), &[]),
        (service("web").auto(), &["Accepted=true SetByAnnotation", "Programmed=true HintsInForce"]),
        (
            service("web").distribution("PreferSameZone"),
            &["Accepted=true SetByField", "Programmed=true HintsInForce"],
        ),
        (
            service("web").distribution("PreferSameNode"),
            &["Accepted=true SetByField", "Programmed=true HintsInForce"],
        ),
        (
            service("web").distribution("example.com/Best"),
            &["Accepted=false UnknownValue", "Programmed=false NotAccepted"],
        ),
        (
            none.clone().distribution("PreferClose"),
            &["Accepted=true SetByField", "Programmed=false NoReadyEndpoints"],
        ),
        (none.auto(), &["Accepted=true SetByAnnotation", "Programmed=false NotEnoughEndpoints"]),
    ];
    for (service, expected) in cases {
        let what = format!("{:?} {:?}", service.annotations, service.traffic_distribution);
        assert_eq!(conditions(service).0, expected, "{what}");
    }
}

#[test]
fn a_refusal_is_an_event_once_and_not_again_after_a_restart() {
    let mut desk = three_zones();
    desk.pod("web", "pod-a2", "a", 8);
    desk.service(service("web").auto());
    desk.run();
    assert_eq!(desk.events.len(), 1, "{:?}", desk.events);
    assert_eq!(desk.events[0].0, "TopologyAwareHintsDisabled");
    assert!(desk.events[0].1.contains("(4 endpoints, 3 zones)"), "{:?}", desk.events);
    desk.pod("other", "pod", "a", 9);
    desk.run();
    assert_eq!(desk.events.len(), 1);
}

#[test]
fn conditions_go_with_what_they_are_about() {
    let (_, mut desk) = conditions(service("web").auto());
    desk.engine.service(Watched::Applied(SeenService {
        conditions: vec![evenkeel_model::Condition {
            kind: "TrafficDistributionAccepted".into(),
            status: true,
            reason: "SetByAnnotation".into(),
            message: "x".into(),
        }],
        ..seen(service("web"))
    }));
    let mut removed = Vec::new();
    for _ in 0..5 {
        desk.poll();
        let Some(write) = desk.writes.pop_front() else { break };
        if let Action::Conditions { set, remove, .. } = &write.action {
            assert!(set.is_empty());
            removed.extend(remove.iter().map(ToString::to_string));
        }
        desk.done(&write, Version::default());
    }
    assert_eq!(removed, ["TrafficDistributionAccepted"]);
}

#[test]
fn a_service_that_cannot_be_read_says_so_and_delays_nobody() {
    let mut desk = three_zones();
    let wrong = SeenService {
        problem: Some("metadata.annotations[evenkeel.dev/selector]: …".into()),
        service: Service { selector: None, ..service("wrong") },
        ..seen(service("wrong"))
    };
    desk.engine.service(Watched::Listed(wrong));
    desk.service(service("web"));
    desk.poll();
    let names: Vec<_> = desk.writes.iter().map(|write| &*write.service.name).collect();
    assert_eq!(names, ["wrong", "web"]);
    let Action::Conditions { set, .. } = &desk.writes[0].action else { panic!() };
    assert_eq!(&*set[0].0.reason, "InvalidService");
}

/// What the log says of a sync: how many endpoints have other hints, and why.
#[test]
fn a_report_tells_which_hints_changed_and_when_a_failure_is_retried() {
    let mut desk = three_zones();
    desk.service(service("web").auto());
    desk.run();
    let first = desk.reports[0].clone();
    assert_eq!((first.hints_changed, &*first.hints_reason), (3, "SetByAnnotation"));
    desk.reports.clear();
    desk.pod("web", "pod-a2", "a", 8);
    desk.run();
    let refused = &desk.reports[0];
    assert_eq!((refused.hints_changed, &*refused.hints_reason), (3, "Overload"));
    desk.reports.clear();
    desk.pod("other", "pod", "a", 9);
    desk.pod("web", "pod-b2", "b", 10);
    desk.poll();
    let write = desk.writes.pop_front().unwrap();
    let refused = evenkeel_controller::engine::Outcome::Refused { code: 403, message: "no".into() };
    desk.answer(&write, refused);
    desk.poll();
    assert_eq!(desk.reports[0].retry_in, Some(std::time::Duration::from_millis(250)));
}
