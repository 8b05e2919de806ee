//! Recorded requests, and what is made of them.

use evenkeel_model::ServiceKey;
use evenkeel_topology::Policy;

use super::*;
use crate::drill::subject::{Client, Endpoint, Place};

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

fn place(zone: usize) -> Place {
    let letter = &ZONES[zone][5..];
    Place {
        zone: ZONES[zone].into(),
        node: format!("node-{letter}1").into(),
        pod: format!("web-{letter}").into(),
    }
}

/// A Service with an endpoint in each of three zones, and a client in each that is left.
fn subject() -> Subject {
    let client =
        |zone: usize| Client { node: place(zone).node, zone: place(zone).zone, weight: 1.0 };
    let endpoint = |zone| Endpoint { place: place(zone), address: None };
    let forecast = Forecast {
        policy: Policy::PreferSameZone,
        in_zone_share: 1.0,
        unserved_share: 0.0,
        max_load: 1.5,
    };
    let service = Drilled {
        key: ServiceKey::new("shop", "web"),
        frontend: None,
        endpoints: (0..3).map(endpoint).collect(),
        forecast: Some(forecast),
    };
    Subject {
        zone: ZONES[0].into(),
        lost: vec!["node-a1".into()],
        clients: vec![client(1), client(2)],
        services: vec![service],
    }
}

/// One request a second, from the clients in turn: `a`, `b` and `c` are answered there, `x` fails.
fn recorded(outcomes: &str) -> Recording {
    let mut recording = Recording { places: (0..3).map(place).collect(), ..Recording::default() };
    for (second, outcome) in outcomes.chars().enumerate() {
        let outcome = match outcome {
            'x' => Outcome::Failed("timed out"),
            zone => Outcome::Answered("abc".find(zone).unwrap()),
        };
        let sent = Duration::from_secs(second as u64);
        recording.samples.push(Sample { client: second % 2, service: 0, sent, outcome });
    }
    recording
}

fn times(lost: u64, restored: u64, end: u64) -> Timeline {
    let at = Duration::from_secs;
    let back = Some(at(restored) + Duration::from_millis(250));
    Timeline { lost: at(lost), restored: at(restored), back, end: at(end), interrupted: false }
}

pub(in crate::drill) fn reported(outcomes: &str) -> Report {
    report(&subject(), times(3, 9, 12), &recorded(outcomes))
}

#[test]
fn success_is_that_of_requests_sent_in_the_outage() {
    for (outcomes, before, outage, after) in [
        ("abcbcbcbcabc", Some(1.0), Some(1.0), Some(1.0)),
        ("abcxxxcbcabc", Some(1.0), Some(0.5), Some(1.0)),
        ("xbcbcbcbcaxx", Some(2.0 / 3.0), Some(1.0), Some(1.0 / 3.0)),
        ("abc", Some(1.0), None, None),
        ("", None, None, None),
    ] {
        let report = reported(outcomes);
        let rates = [report.before, report.outage, report.after].map(|one| one.success_rate);
        assert_eq!(rates, [before, outage, after], "{outcomes}");
        assert_eq!(report.services[0].outage, report.outage);
    }
}

#[test]
fn it_has_converged_with_the_first_request_after_the_last_bad_one() {
    for (outcomes, expected) in [
        // Nothing failed, and nothing went to zone-a.
        ("abcbcbcbcabc", Some(0.0)),
        ("abcxbcbcbabc", Some(1.0)),
        ("abcbxbxbcabc", Some(4.0)),
        // It still answered for a moment.
        ("abcabcbcbabc", Some(1.0)),
        // The last request of the outage failed, or went to the lost zone; what comes later is no
        // convergence.
        ("abcbcbcbxbbb", None),
        ("abcbcbcbabbb", None),
        ("abc", None),
    ] {
        assert_eq!(reported(outcomes).converged_seconds, expected, "{outcomes}");
    }
}

#[test]
fn of_several_services_the_last_counts() {
    let mut subject = subject();
    let mut other = subject.services[0].clone();
    other.key = ServiceKey::new("shop", "cart");
    subject.services.push(other);
    let mut recording = recorded("abcbxbcbcabc");
    for (n, sample) in recording.samples.iter_mut().enumerate() {
        sample.service = n % 2;
    }
    let converged = |recording: &Recording| {
        let report = report(&subject, times(3, 9, 12), recording);
        let each: Vec<_> = report.services.iter().map(|one| one.converged_seconds).collect();
        (each, report.converged_seconds)
    };
    assert_eq!(converged(&recording), (vec![Some(3.0), Some(0.0)], Some(3.0)));
    recording.samples[7].outcome = Outcome::Failed("timed out");
    assert_eq!(converged(&recording), (vec![Some(3.0), None], None));
}

#[test]
fn loads_are_of_the_time_after_and_against_the_fair_share_of_before() {
    // Converged at second 5: 4 requests, 3 of them to zone-b.
    let load = &reported("abcbxbcbbabc").services[0].load;
    assert_eq!((load.since, load.requests), (Some(5.0), 4));
    let of = |one: &EndpointLoad| (one.total, one.answered, one.load);
    let endpoints: Vec<_> = load.endpoints.iter().map(of).collect();
    let third = 4.0 / 3.0;
    assert_eq!(
        endpoints,
        [(2, 0, Some(0.0)), (6, 3, Some(3.0 / third)), (3, 1, Some(1.0 / third))]
    );
    assert_eq!(load.max_load, Some(2.25));
    // Seconds 5 and 7 are of the client in zone-c, 6 and 8 of the one in zone-b.
    assert_eq!(load.in_zone_share, Some(0.25));
    let zones: Vec<_> = load
        .zones
        .iter()
        .map(|one| (&*one.zone, one.answered, one.share, one.fair_share))
        .collect();
    assert_eq!(zones, [("zone-b", 3, Some(0.75), 0.5), ("zone-c", 1, Some(0.25), 0.5)]);
}

#[test]
fn without_convergence_the_load_is_of_the_whole_outage_and_unknown_is_not_zero() {
    let load = &reported("abcbbbbbxabc").services[0].load;
    assert_eq!((load.since, load.requests, load.max_load), (None, 6, Some(2.5)));
    let load = &reported("abcxxxxxxabc").services[0].load;
    assert_eq!((load.max_load, load.in_zone_share, load.zones[0].share), (None, None, None));
    let load = &reported("").services[0].load;
    assert!(load.endpoints.iter().all(|one| one.load.is_none()));
}

#[test]
fn clients_and_failures_are_counted() {
    let report = reported("abcxbxcbcabc");
    let client = |one: &ClientReport| (one.counts.requests, one.counts.failed);
    assert_eq!(report.clients.iter().map(client).collect::<Vec<_>>(), [(6, 0), (6, 2)]);
    assert_eq!(report.failures, [FailureCount { problem: "timed out", requests: 2 }]);
    assert_eq!(report.back_seconds, Some(0.25));
    assert!(report.is_under(99.9) && !report.is_under(66.6));
    assert!(reported("").is_under(0.1), "nothing is known to have succeeded");
}

#[test]
fn windows_sum_up_to_all_requests_and_are_few() {
    let report = reported("abcxbxcbcabc");
    let sum = |one: &Window| one.failed + one.answered.values().sum::<usize>();
    assert_eq!(report.windows.len(), 12);
    assert_eq!(report.windows.iter().map(sum).sum::<usize>(), 12);
    assert_eq!((report.windows[3].failed, report.windows[4].answered["zone-b"]), (1, 1));
    let long = super::report(&subject(), times(3, 600, 700), &recorded("abc"));
    assert_eq!((long.windows.len(), long.windows[1].from), (140, 5.0));
}
