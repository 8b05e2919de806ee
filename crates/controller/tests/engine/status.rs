//! Conditions and Events.

use evenkeel_controller::engine::{Action, Scope, Settings};
use evenkeel_model::{Condition, SeenService, Service, Version, Watched};
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
            let line = |c: &Condition| {
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
        (
            service("web").auto(),
            &["Accepted=true SetByAnnotation", "Programmed=true HintsProgrammed"],
        ),
        (
            service("web").distribution("PreferSameZone"),
            &["Accepted=true SetByField", "Programmed=true HintsProgrammed"],
        ),
        (
            service("web").distribution("PreferSameNode"),
            &["Accepted=true SetByField", "Programmed=true HintsProgrammed"],
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
        conditions: vec![Condition {
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

fn present(kind: &str, reason: &str) -> Condition {
    Condition { kind: kind.into(), status: true, reason: reason.into(), message: "x".into() }
}

/// The condition types that a controller with these settings removes from a Service, and sets.
fn changed(settings: Settings, conditions: Vec<Condition>) -> (Vec<String>, Vec<String>) {
    let mut desk = Desk::new(settings).zones(3);
    desk.pod("web", "pod-a", "a", 1);
    desk.complete();
    let service = service("web").distribution("PreferSameZone");
    desk.engine.service(Watched::Listed(SeenService { conditions, ..seen(service) }));
    desk.engine.service(Watched::Complete);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        desk.poll();
        let Some(write) = desk.writes.pop_front() else { break };
        if let Action::Conditions { set, remove, .. } = &write.action {
            removed.extend(remove.iter().map(ToString::to_string));
            added.extend(set.iter().map(|(condition, _)| condition.kind.to_string()));
        }
        let version = desk.version("x", 1);
        desk.done(&write, version);
    }
    desk.poll();
    assert!(desk.writes.is_empty(), "it is done once: {:?}", desk.writes);
    (removed, added)
}

/// Issue 13: they stayed for ever, and said what was no longer so.
#[test]
fn conditions_of_another_mode_are_removed() {
    const BARE: [&str; 2] = ["TrafficDistributionAccepted", "TrafficDistributionProgrammed"];
    const PREFIXED: [&str; 2] =
        ["evenkeel.dev/TrafficDistributionAccepted", "evenkeel.dev/TrafficDistributionProgrammed"];
    let with = |kinds: [&str; 2], reason: &str| kinds.map(|kind| present(kind, reason)).to_vec();
    let all = Settings::default();
    let off = Settings { conditions: false, ..all.clone() };
    let annotated = Settings { scope: Scope::Annotated, ..all.clone() };
    let none: [&str; 0] = [];
    let cases: [(&str, &Settings, Vec<Condition>, &[&str], &[&str]); 7] = [
        ("switched off", &off, with(BARE, "HintsProgrammed"), &BARE, &none),
        ("switched off, prefix", &off, with(PREFIXED, "any"), &PREFIXED, &none),
        ("switched off, of others", &off, with(BARE, "Other"), &none, &none),
        ("all, then annotated", &annotated, with(BARE, "SetByField"), &BARE, &none),
        ("annotated, of others", &annotated, with(BARE, "Other"), &none, &none),
        ("annotated, then all", &all, with(PREFIXED, "SetByField"), &PREFIXED, &BARE),
        ("nothing to remove", &off, vec![], &none, &none),
    ];
    for (what, settings, conditions, removed, added) in cases {
        let (was_removed, was_added) = changed(settings.clone(), conditions);
        assert_eq!(was_removed, removed, "{what}");
        assert_eq!(was_added, added, "{what}");
    }
}

/// The controller recognises each reason that it writes, or stale conditions would stay.
#[test]
fn every_reason_that_is_written_is_removed_later() {
    let cases = [
        service("web").auto(),
        service("web").distribution("PreferSameZone"),
        service("web").distribution("example.com/Best"),
        service("nobody").distribution("PreferClose"),
        service("nobody").auto(),
    ];
    for service in cases {
        let (said, _) = conditions(service);
        for line in said {
            let reason = line.split(' ').nth(1).unwrap();
            let off = Settings { conditions: false, ..Settings::default() };
            let stale = vec![present("TrafficDistributionProgrammed", reason)];
            assert_eq!(changed(off, stale).0, ["TrafficDistributionProgrammed"], "{reason}");
        }
    }
}
