//! Conditions and Events.

use evenkeel_controller::engine::{Action, Scope, Settings};
use evenkeel_model::{Condition, SeenService, Service, Version, Watched};
use evenkeel_testkit::{ServiceExt, service};

use crate::{
    harness::{Harness, seen},
    three_zones,
};

/// The conditions that a Service gets, as `type=status reason`.
fn conditions(service: Service) -> (Vec<String>, Harness) {
    let mut harness = three_zones();
    harness.service(service);
    let mut said = Vec::new();
    for _ in 0..10 {
        harness.poll();
        let Some(write) = harness.writes.pop_front() else { break };
        if let Action::Conditions { set, .. } = &write.action {
            let line = |c: &Condition| {
                let kind = c.kind.trim_start_matches("TrafficDistribution");
                format!("{kind}={} {}", c.status, c.reason)
            };
            said.extend(set.iter().map(|(condition, _)| line(condition)));
        }
        let version = harness.version("x", 1);
        harness.done(&write, version);
    }
    (said, harness)
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
    let mut harness = three_zones();
    harness.pod("web", "pod-a2", "a", 8);
    harness.service(service("web").auto());
    harness.run();
    assert_eq!(harness.events.len(), 1, "{:?}", harness.events);
    assert_eq!(harness.events[0].0, "TopologyAwareHintsDisabled");
    assert!(harness.events[0].1.contains("(4 endpoints, 3 zones)"), "{:?}", harness.events);
    harness.pod("other", "pod", "a", 9);
    harness.run();
    assert_eq!(harness.events.len(), 1);
}

#[test]
fn conditions_go_with_what_they_are_about() {
    let (_, mut harness) = conditions(service("web").auto());
    harness.engine.service(Watched::Applied(SeenService {
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
        harness.poll();
        let Some(write) = harness.writes.pop_front() else { break };
        if let Action::Conditions { set, remove, .. } = &write.action {
            assert!(set.is_empty());
            removed.extend(remove.iter().map(ToString::to_string));
        }
        harness.done(&write, Version::default());
    }
    assert_eq!(removed, ["TrafficDistributionAccepted"]);
}

#[test]
fn a_service_that_cannot_be_read_says_so_and_delays_nobody() {
    let mut harness = three_zones();
    let wrong = SeenService {
        problem: Some("metadata.annotations[evenkeel.dev/selector]: …".into()),
        service: Service { selector: None, ..service("wrong") },
        ..seen(service("wrong"))
    };
    harness.engine.service(Watched::Listed(wrong));
    harness.service(service("web"));
    harness.poll();
    let names: Vec<_> = harness.writes.iter().map(|write| &*write.service.name).collect();
    assert_eq!(names, ["wrong", "web"]);
    let Action::Conditions { set, .. } = &harness.writes[0].action else { panic!() };
    assert_eq!(&*set[0].0.reason, "InvalidService");
}

/// What the log says of a sync: how many endpoints have other hints, and why.
#[test]
fn a_report_tells_which_hints_changed_and_when_a_failure_is_retried() {
    let mut harness = three_zones();
    harness.service(service("web").auto());
    harness.run();
    let first = harness.reports[0].clone();
    assert_eq!((first.hints_changed, &*first.hints_reason), (3, "SetByAnnotation"));
    harness.reports.clear();
    harness.pod("web", "pod-a2", "a", 8);
    harness.run();
    let refused = &harness.reports[0];
    assert_eq!((refused.hints_changed, &*refused.hints_reason), (3, "Overload"));
    harness.reports.clear();
    harness.pod("other", "pod", "a", 9);
    harness.pod("web", "pod-b2", "b", 10);
    harness.poll();
    let write = harness.writes.pop_front().unwrap();
    let refused = evenkeel_controller::engine::Outcome::Refused { code: 403, message: "no".into() };
    harness.answer(&write, refused);
    harness.poll();
    assert_eq!(harness.reports[0].retry_in, Some(std::time::Duration::from_millis(250)));
}

fn present(kind: &str, reason: &str) -> Condition {
    Condition { kind: kind.into(), status: true, reason: reason.into(), message: "x".into() }
}

/// The condition types that a controller with these settings removes from a Service, and sets.
fn changed(settings: Settings, conditions: Vec<Condition>) -> (Vec<String>, Vec<String>) {
    let mut harness = Harness::new(settings).zones(3);
    harness.pod("web", "pod-a", "a", 1);
    harness.complete();
    let service = service("web").distribution("PreferSameZone");
    harness.engine.service(Watched::Listed(SeenService { conditions, ..seen(service) }));
    harness.engine.service(Watched::Complete);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        harness.poll();
        let Some(write) = harness.writes.pop_front() else { break };
        if let Action::Conditions { set, remove, .. } = &write.action {
            removed.extend(remove.iter().map(ToString::to_string));
            added.extend(set.iter().map(|(condition, _)| condition.kind.to_string()));
        }
        let version = harness.version("x", 1);
        harness.done(&write, version);
    }
    harness.poll();
    assert!(harness.writes.is_empty(), "it is done once: {:?}", harness.writes);
    (removed, added)
}

/// What it is, settings, the conditions of the Service, those removed and those added.
type Case<'a> = (&'a str, &'a Settings, Vec<Condition>, &'a [&'a str], &'a [&'a str]);

/// Issue 13: they stayed for ever, and were outdated.
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
    let cases: [Case<'_>; 7] = [
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
