//! What holds for all inputs, extreme numbers, and what was measured with Envoy 1.40.0 beyond the
//! recorded cases.

use std::{
    net::{Ipv6Addr, SocketAddr},
    num::NonZeroU32,
    sync::Arc,
};

use evenkeel_model::mesh::Tags;
use proptest::prelude::*;

use super::*;

const MAX: u32 = u32::MAX;

/// `0 a 900 HUX` is a group of priority 0 in zone `a` with weight 900 (`-`: none) and one healthy, one
/// unhealthy and one draining endpoint; `D` is degraded, `H9` has weight 9.
fn assignment(factor: u32, groups: &[&str]) -> LoadAssignment {
    let mut address = 0;
    let groups = groups.iter().map(|text| group(text, &mut address)).collect();
    LoadAssignment { groups, overprovisioning_factor: NonZeroU32::new(factor) }
}

fn group(text: &str, address: &mut u128) -> Group {
    let words: Vec<&str> = text.split(' ').collect();
    let [priority, zone, weight, endpoints] = words[..] else { panic!("not a group: {text}") };
    let zone: Arc<str> = zone.into();
    let letters = endpoints.split_inclusive(|_: char| true);
    let mut parsed: Vec<(char, Option<NonZeroU32>)> = Vec::new();
    for letter in letters.filter_map(|part| part.chars().next()) {
        match (letter.to_digit(10), parsed.last_mut()) {
            (Some(digit), Some(last)) => last.1 = NonZeroU32::new(digit),
            _ => parsed.push((letter, None)),
        }
    }
    let endpoints = parsed.into_iter().map(|(letter, weight)| {
        *address += 1;
        endpoint(*address, &zone, health(letter), weight)
    });
    Group {
        priority: priority.parse().unwrap(),
        weight: weight.parse().ok(),
        zone: Some(Arc::clone(&zone)),
        sub_zone: "".into(),
        endpoints: endpoints.collect(),
    }
}

fn endpoint(
    address: u128,
    zone: &Arc<str>,
    health: EndpointHealth,
    weight: Option<NonZeroU32>,
) -> Arc<MeshEndpoint> {
    let address = SocketAddr::new(Ipv6Addr::from(address).into(), 80);
    let zone = Some(Arc::clone(zone));
    Arc::new(MeshEndpoint { address, zone, tags: Tags::default(), weight, health })
}

fn health(letter: char) -> EndpointHealth {
    match letter {
        'H' => EndpointHealth::Healthy,
        'U' => EndpointHealth::Unhealthy,
        'X' => EndpointHealth::Draining,
        'D' => EndpointHealth::Degraded,
        other => panic!("no health: {other}"),
    }
}

fn balancing(flags: &str) -> Balancing {
    let has = |flag| flags.split(' ').any(|word| word == flag);
    Balancing {
        locality_weighted: has("weighted"),
        panic_threshold: if has("panic0") { 0 } else { DEFAULT_PANIC_THRESHOLD },
        pick: match (has("hash"), has("random")) {
            (true, _) => Pick::Hashed,
            (_, true) => Pick::Uniform,
            _ => Pick::Weighted,
        },
    }
}

/// Shares in per mille, each group a list of its endpoints.
fn per_mille(prediction: &Prediction) -> Vec<Vec<u32>> {
    let groups = prediction.groups.iter();
    groups.map(|g| g.endpoints.iter().map(|e| (e * 1000.0).round() as u32).collect()).collect()
}

fn codes(reasons: &[ShareReason]) -> Vec<String> {
    let code = |r| serde_json::to_value(r).unwrap()["code"].as_str().unwrap().to_owned();
    reasons.iter().map(code).collect()
}

/// Measured, with 2,000 to 20,000 requests each: `factor flags`, groups, shares, errors in per mille.
#[test]
fn shares_beyond_the_recorded_cases_are_as_measured() {
    type Row = (u32, &'static str, &'static [&'static str], &'static [&'static [u32]], u32);
    let rows: &[Row] = &[
        // The weights of hashed groups don't shrink, and count in panic.
        (
            140,
            "weighted hash",
            &["0 a 900 HU", "0 b 90 HH", "0 c 10 HH"],
            &[&[900, 0], &[45, 45], &[5, 5]],
            0,
        ),
        (200, "weighted hash", &["0 a 90 HUUU", "0 b 10 UUUU"], &[&[225; 4], &[25; 4]], 0),
        (200, "weighted", &["0 a 90 HUUU", "0 b 10 UUUU"], &[&[125; 4], &[125; 4]], 0),
        // Without any weight there is nothing to hash.
        (200, "weighted hash", &["0 a 900 UU", "1 b - HH"], &[&[0, 0], &[0, 0]], 1000),
        (200, "weighted", &["0 a 900 UU", "1 b - HH"], &[&[0, 0], &[500, 500]], 0),
        (140, "weighted hash", &["0 a 9 UU", "0 b - HH"], &[&[0, 0], &[0, 0]], 1000),
        (140, "weighted hash", &["0 a 9 HH", "0 b - HH"], &[&[500, 500], &[0, 0]], 0),
        (140, "weighted", &["0 a 9 UU", "0 b - HH"], &[&[0, 0], &[500, 500]], 0),
        // Degraded endpoints are not hashed, and count against panic.
        (140, "hash", &["0 a - DD", "1 b - UU"], &[&[0, 0], &[0, 0]], 1000),
        (100, "hash", &["0 a - HDDD"], &[&[1000, 0, 0, 0]], 0),
        (100, "", &["0 a - HDUU"], &[&[500, 500, 0, 0]], 0),
        (100, "", &["0 a - HDDUUUUU"], &[&[125; 8]], 0),
        (100, "", &["0 a - HDDDUU"], &[&[250, 250, 250, 250, 0, 0]], 0),
        (
            100,
            "weighted",
            &["0 a 90 HDDD", "0 b 10 DDDU"],
            &[&[140, 258, 258, 258], &[29, 29, 29, 0]],
            0,
        ),
        (140, "weighted", &["0 a 9 DX", "0 b 1 DU"], &[&[928, 0], &[72, 0]], 0),
        // Availabilities that round down to 0: Envoy stays with its first priority.
        (1, "", &["0 a - HU"], &[&[1000, 0]], 0),
        (1, "", &["0 a - UU", "1 b - HU"], &[&[500, 500], &[0, 0]], 0),
        (1, "panic0", &["0 a - HU", "1 b - HU"], &[&[1000, 0], &[0, 0]], 0),
        (1, "panic0", &["0 a - UU", "1 b - HU"], &[&[0, 0], &[0, 0]], 1000),
        (1, "", &["0 a - DU"], &[&[0, 0]], 1000),
        (1, "", &["2 a - HU"], &[&[0, 0]], 1000),
        (200, "", &["2 a - HUUUU"], &[&[200; 5]], 0),
        (200, "panic0", &["2 a - UU"], &[&[0, 0]], 1000),
        // Draining endpoints count in total panic.
        (100, "", &["0 a - UXX", "1 b - U"], &[&[250; 3], &[250]], 0),
        // Weights of endpoints.
        (140, "random", &["0 a - H9H1"], &[&[500, 500]], 0),
        (140, "", &["0 a - H9H1"], &[&[900, 100]], 0),
        (140, "", &["0 a - U9U1"], &[&[900, 100]], 0),
        (140, "weighted hash", &["0 a 9 H9H1", "0 b 1 H3H1"], &[&[810, 90], &[75, 25]], 0),
    ];
    for &(factor, flags, groups, shares, errors) in rows {
        let prediction = predict(&assignment(factor, groups), &balancing(flags));
        let near = |a: &[u32], b: &[u32]| a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= 3);
        let got = per_mille(&prediction);
        assert!(
            got.iter().zip(shares).all(|(got, shares)| near(got, shares)),
            "{factor} {flags} {groups:?}: {got:?}"
        );
        assert_eq!((prediction.errors * 1000.0).round() as u32, errors, "{groups:?}");
    }
}

#[test]
fn exactly_at_the_threshold_traffic_stays_and_below_it_leaves() {
    let at = predict(&assignment(200, &["0 a - HU", "1 b - HH"]), &Balancing::default());
    assert_eq!(per_mille(&at), [[1000, 0], [0, 0]]);
    assert_eq!(codes(&at.reasons), ["PriorityAvailable", "PriorityNotNeeded"]);
    let text = at.reasons[0].to_string();
    let sentence =
        "priority 0 has 1 of 2 endpoints healthy, enough for all traffic; it takes 100 %";
    assert_eq!(text, sentence);

    let below = predict(&assignment(200, &["0 a - HUU", "1 b - HH"]), &Balancing::default());
    assert_eq!(per_mille(&below), [vec![660, 0, 0], vec![170, 170]]);
    assert_eq!(codes(&below.reasons), ["PrioritySpills", "PriorityAvailable"]);
}

#[test]
fn each_cause_is_a_reason() {
    let check = |factor, flags, groups: &[&str], expected: &[&str]| {
        let prediction = predict(&assignment(factor, groups), &balancing(flags));
        assert_eq!(codes(&prediction.reasons), expected, "{groups:?}");
        for reason in &prediction.reasons {
            assert!(!reason.to_string().is_empty());
        }
    };
    check(140, "", &["0 a - UU"], &["TotalPanic", "PriorityInPanic"]);
    let low = ["LoadsScaledUp", "PriorityInPanic", "PrioritySpills"];
    check(140, "", &["0 a - HUUUUUUUUU", "1 b - HU"], &low);
    let degraded = ["PrioritySpills", "DegradedEndpointsUsed", "PrioritySpills"];
    check(100, "", &["0 a - HDDD", "1 b - U"], &degraded);
    check(140, "", &["0 a - XX", "1 b - H"], &["PriorityDraining", "PriorityAvailable"]);
    let reduced = ["PriorityAvailable", "GroupWeightReduced"];
    check(140, "weighted", &["0 a 9 HU", "0 b 1 HH"], &reduced);
    check(140, "weighted hash", &["0 a 9 HU", "0 b 1 HHHHH"], &["PriorityAvailable"]);
    let unweighted = ["PriorityAvailable", "GroupWithoutWeight"];
    check(140, "weighted", &["0 a 9 H", "0 b - H"], &unweighted);
    check(140, "weighted hash", &["0 a - H"], &["PriorityAvailable", "NoWeightsToHash"]);
    check(140, "panic0", &["0 a - U"], &["PrioritySpills", "NoUsableEndpoint"]);
}

#[test]
fn of_equal_addresses_the_first_counts() {
    let mut twice = assignment(100, &["0 a - HU", "1 b - HH"]);
    let first = Arc::clone(&twice.groups[0].endpoints[0]);
    twice.groups[1].endpoints.insert(0, first);
    let prediction = predict(&twice, &Balancing::default());
    assert_eq!(per_mille(&prediction), [vec![500, 0], vec![0, 250, 250]]);
    assert_eq!(prediction.reasons[0], ShareReason::DuplicateEndpoints { endpoints: 1 });
}

#[test]
fn a_lost_zone_gets_nothing_while_others_have_endpoints() {
    let all = assignment(200, &["0 a 9 HH", "0 b 1 HHX", "1 c - H"]);
    let lost = |zone| per_mille(&predict_without_zone(&all, &balancing("weighted"), zone));
    assert_eq!(lost("a"), [vec![0, 0], vec![500, 500, 0], vec![0]]);
    assert_eq!(lost("b"), [vec![400, 400], vec![0, 0, 0], vec![200]]);
    assert_eq!(lost("unknown"), per_mille(&predict(&all, &balancing("weighted"))));
}

#[test]
fn an_empty_assignment_answers_503() {
    for flags in ["", "panic0", "weighted", "hash"] {
        for groups in [&[][..], &["0 a 1 "][..], &["7 a - "][..]] {
            let prediction = predict(&assignment(140, groups), &balancing(flags));
            assert_eq!(prediction.errors, 1.0, "{flags} {groups:?}");
            assert_eq!(prediction.share(), 0.0);
            let last = prediction.reasons.last();
            assert_eq!(last, Some(&ShareReason::NoUsableEndpoint { priority: 0, load: 100 }));
        }
    }
    let none = predict_aggregate(&[], DEFAULT_PANIC_THRESHOLD);
    assert_eq!(none.errors, 1.0);
}

#[test]
fn members_of_an_aggregate_lie_end_to_end_and_panic_alone() {
    type Row = (&'static [(u32, &'static str, &'static [&'static str])], u8, &'static [u32], u32);
    // Measured: members, threshold of the aggregate, per mille of each member, errors.
    let rows: &[Row] = &[
        (&[(140, "", &["0 a - HHHHUUUUUU"]), (140, "", &["0 b - HH"])], 50, &[560, 440], 0),
        (&[(140, "", &["0 a - UUUUUU"]), (140, "", &["0 b - UU"])], 50, &[750, 250], 0),
        (&[(140, "", &["0 a - UUUUUU"]), (140, "", &["0 b - UU"])], 0, &[1000, 0], 0),
        (&[(140, "", &["0 a - HUUUUUUUUU"]), (140, "", &["0 b - HUUUU"])], 50, &[670, 330], 0),
        (
            &[(140, "panic0", &["0 a - HUUUUUUUUU"]), (140, "", &["0 b - HUUUU"])],
            50,
            &[670, 330],
            0,
        ),
        (&[(140, "", &["0 a - HUUUUUUUUU"]), (140, "", &["0 b - HUUUU"])], 0, &[340, 660], 0),
        (&[(100, "", &["0 a - HDDU"]), (100, "", &["0 b - HUUU"])], 50, &[750, 250], 0),
        (&[(140, "", &[]), (140, "", &["0 b - HU"])], 50, &[0, 1000], 0),
        (&[(140, "", &["1 a - HUU"]), (140, "", &["0 b - HHHU"])], 50, &[460, 540], 0),
        (&[(10, "", &["0 a - HHHUU"]), (10, "", &["0 b - HUUUU"])], 50, &[750, 250], 0),
        (&[(1, "", &["0 a - UU"]), (1, "", &["0 b - HU"])], 50, &[1000, 0], 0),
        (&[(140, "panic0", &["0 a - U"]), (140, "panic0", &["0 b - U"])], 50, &[0, 0], 1000),
    ];
    for (members, threshold, shares, errors) in rows {
        let built: Vec<_> =
            members.iter().map(|(f, flags, g)| (assignment(*f, g), *flags)).collect();
        let members = built
            .iter()
            .map(|(assignment, flags)| Member { assignment, balancing: balancing(flags) });
        let members: Vec<Member<'_>> = members.collect();
        let aggregate = predict_aggregate(&members, *threshold);
        let got = aggregate.members.iter().map(|m| (m.share() * 1000.0).round() as u32);
        assert_eq!(got.collect::<Vec<_>>(), *shares, "{built:?}");
        assert_eq!((aggregate.errors * 1000.0).round() as u32, *errors);
    }
    // Which endpoints of a member are used, is decided by its own panic.
    let low = assignment(140, &["0 a - HHHHUUUUUU"]);
    let high = assignment(140, &["0 b - HH"]);
    let member = |assignment| Member { assignment, balancing: Balancing::default() };
    let aggregate = predict_aggregate(&[member(&low), member(&high)], DEFAULT_PANIC_THRESHOLD);
    assert_eq!(per_mille(&aggregate.members[0]), [[56; 10]]);
}

#[test]
fn an_aggregate_of_one_is_its_member() {
    let groups = ["0 a 9 HUD", "0 b 1 HHX", "3 c - UUH"];
    for flags in ["", "weighted", "panic0", "hash", "hash weighted"] {
        let (one, balancing) = (assignment(100, &groups), balancing(flags));
        let member = Member { assignment: &one, balancing };
        let aggregate = predict_aggregate(&[member], balancing.panic_threshold);
        let alone = predict(&one, &balancing);
        assert_eq!(aggregate.members[0].groups, alone.groups);
        assert_eq!(aggregate.errors, alone.errors);
    }
}

#[test]
fn the_largest_numbers_overflow_nothing() {
    let mut huge = assignment(MAX, &["0 a - HHU", "0 b - HD", "1 c - HHHH"]);
    for group in &mut huge.groups {
        group.priority = group.priority.saturating_mul(MAX);
        group.weight = NonZeroU32::new(MAX);
        for endpoint in &mut group.endpoints {
            Arc::make_mut(endpoint).weight = NonZeroU32::new(MAX);
        }
    }
    for flags in ["", "weighted", "hash weighted", "random"] {
        let prediction = predict(&huge, &balancing(flags));
        assert!((prediction.share() - 1.0).abs() < 1e-9);
        assert_eq!(prediction.priorities[1].priority, MAX);
        assert_eq!(prediction.priorities[0].availability, 100);
    }
}

/// Leaving total panic can lower a share: the load no longer follows the number of endpoints.
#[test]
fn recovery_out_of_total_panic_may_lower_a_share() {
    let load = |p0: &str| {
        let all = assignment(140, &[p0, "1 b - HHHHHHUUUUUUU"]);
        predict(&all, &Balancing::default()).priorities[0].load
    };
    let mut text = format!("0 a - {}{}", "H".repeat(25), "U".repeat(75));
    assert_eq!(load(&text), 89);
    text = format!("0 a - {}{}", "H".repeat(26), "U".repeat(74));
    assert_eq!(load(&text), 36);
}

fn any_balancing() -> impl Strategy<Value = Balancing> {
    let picks = prop_oneof![Just(Pick::Weighted), Just(Pick::Uniform), Just(Pick::Hashed)];
    let thresholds = prop_oneof![Just(0), Just(50), any::<u8>()];
    (any::<bool>(), thresholds, picks).prop_map(|(locality_weighted, panic_threshold, pick)| {
        Balancing { locality_weighted, panic_threshold, pick }
    })
}

/// Small weights and factors mostly, and sometimes the largest.
fn any_weight() -> impl Strategy<Value = Option<NonZeroU32>> {
    prop_oneof![Just(0), 1..100_u32, Just(MAX)].prop_map(NonZeroU32::new)
}

fn any_assignment(letters: &'static str) -> impl Strategy<Value = LoadAssignment> {
    let drawn = (0..letters.len(), any_weight());
    let group = (0..5_u32, any_weight(), prop::collection::vec(drawn, 0..8));
    let factor = prop_oneof![Just(0), 1..400_u32, Just(MAX)];
    (prop::collection::vec(group, 0..6), factor).prop_map(move |(groups, factor)| {
        let mut address = 0;
        let groups =
            groups.into_iter().enumerate().map(|(index, (priority, weight, endpoints))| {
                let zone: Arc<str> = format!("zone-{}", index % 3).into();
                let endpoints = endpoints.into_iter().map(|(letter, weight)| {
                    address += 1;
                    endpoint(address, &zone, health(char::from(letters.as_bytes()[letter])), weight)
                });
                let endpoints = endpoints.collect();
                Group { priority, weight, zone: Some(zone.clone()), sub_zone: "".into(), endpoints }
            });
        LoadAssignment {
            groups: groups.collect(),
            overprovisioning_factor: NonZeroU32::new(factor),
        }
    })
}

proptest! {
    #[test]
    fn shares_and_errors_sum_up_to_all(
        all in any_assignment("HUXD"),
        balancing in any_balancing(),
    ) {
        let prediction = predict(&all, &balancing);
        let groups: f64 = prediction.groups.iter().map(|group| group.share).sum();
        prop_assert!((groups + prediction.errors - 1.0).abs() < 1e-9, "{prediction:?}");
        prop_assert!((prediction.share() - groups).abs() < 1e-9);
        prop_assert_eq!(prediction.priorities.iter().map(|p| p.load).sum::<u32>(), 100);
        let endpoints = prediction.groups.iter().flat_map(|group| &group.endpoints);
        for share in endpoints {
            prop_assert!((0.0..=1.0 + 1e-9).contains(share), "{prediction:?}");
        }
    }

    #[test]
    fn a_recovered_endpoint_never_lowers_the_share_of_its_priority(
        all in any_assignment("HU"),
        weighted in any::<bool>(),
        index in any::<prop::sample::Index>(),
    ) {
        let balancing = Balancing { locality_weighted: weighted, panic_threshold: 0, ..Balancing::default() };
        let unhealthy = all.groups.iter().flat_map(|g| g.endpoints.iter().map(|e| (g.priority, e)));
        let unhealthy = unhealthy.filter(|(_, e)| e.health == EndpointHealth::Unhealthy);
        let unhealthy: Vec<_> = unhealthy.collect();
        prop_assume!(!unhealthy.is_empty());
        let (priority, recovered) = unhealthy[index.index(unhealthy.len())];
        let share = |prediction: &Prediction| {
            let found = prediction.priorities.iter().find(|p| p.priority == priority);
            found.unwrap().share
        };
        let before = predict(&all, &balancing);
        let after = predict_with(&all, &balancing, |_, e| match e.address == recovered.address {
            true => EndpointHealth::Healthy,
            false => e.health,
        });
        prop_assert!(share(&after) >= share(&before) - 1e-9, "{before:?} {after:?}");
        prop_assert!(after.errors <= before.errors);
    }

    #[test]
    fn gaps_between_priorities_change_nothing(
        all in any_assignment("HUXD"),
        balancing in any_balancing(),
    ) {
        let mut apart = all.clone();
        for group in &mut apart.groups {
            group.priority *= 20;
        }
        prop_assert_eq!(predict(&all, &balancing).groups, predict(&apart, &balancing).groups);
    }

    #[test]
    fn unusable_endpoints_get_nothing_out_of_panic(
        all in any_assignment("HUXD"),
        balancing in any_balancing(),
    ) {
        let prediction = predict(&all, &balancing);
        for (group, shares) in all.groups.iter().zip(&prediction.groups) {
            let mut priorities = prediction.priorities.iter();
            let panic = priorities.find(|p| p.priority == group.priority).unwrap().panic;
            for (endpoint, &share) in group.endpoints.iter().zip(&shares.endpoints) {
                let usable = match endpoint.health {
                    EndpointHealth::Healthy => true,
                    EndpointHealth::Degraded => balancing.pick != Pick::Hashed,
                    EndpointHealth::Unhealthy | EndpointHealth::Draining => false,
                };
                prop_assert!(panic || usable || share == 0.0, "{prediction:?}");
            }
        }
    }
}
