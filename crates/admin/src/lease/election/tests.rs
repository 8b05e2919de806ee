//! Single rules of an election, as scripts of moments, answers and the steps they lead to.

use super::*;

fn s(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn elector() -> Election {
    Election::new(&Settings::new("kube-system", "x", "me"))
}

fn lease(version: u32, holder: &str) -> Answer {
    let duration = Some(if holder.is_empty() { s(1.0) } else { s(15.0) });
    Answer::Lease(Some(Seen { version: version.to_string(), holder: holder.to_owned(), duration }))
}

/// Each row: the moment of a call of `next`, the step expected, and the answer with its moment.
type Row = (f64, Step, Option<(f64, Answer)>);

fn wait(until: f64) -> Step {
    Step::Wait { until: s(until) }
}

fn play(election: &mut Election, rows: Vec<Row>) {
    for (at, expected, answer) in rows {
        assert_eq!(election.next(s(at), 0.0), expected, "at {at}");
        if let Some((at, answer)) = answer {
            election.answer(s(at), answer);
        }
    }
}

/// An elector that sent the renewal which made it the leader at 0 and heard of it at 0.1.
fn leader() -> Election {
    let mut election = elector();
    play(
        &mut election,
        vec![
            (0.0, Step::Read, Some((0.0, Answer::Lease(None)))),
            (0.0, Step::Create, Some((0.1, lease(1, "me")))),
        ],
    );
    assert!(election.is_leading(s(0.1)));
    election
}

#[test]
fn without_a_lease_one_is_made_and_renewed() {
    let rows = vec![
        (0.1, wait(2.1), None),
        (2.1, Step::Renew, Some((2.2, lease(2, "me")))),
        (2.2, wait(4.2), None),
        (4.2, Step::Renew, Some((4.3, lease(3, "me")))),
    ];
    let mut election = leader();
    play(&mut election, rows);
    assert!(election.is_leading(s(14.1)));
    assert!(!election.is_leading(s(14.2)));
}

#[test]
fn a_lease_that_changes_is_left_alone_and_one_that_does_not_is_taken() {
    let mut rows = vec![(0.0, Step::Read, Some((1.0, lease(1, "other"))))];
    rows.extend([(1.0, wait(3.0), None), (3.0, Step::Read, Some((3.5, lease(2, "other"))))]);
    for at in [3.5, 5.5, 7.5, 9.5, 11.5, 13.5, 15.5] {
        rows.push((at, wait(at + 2.0), None));
        rows.push((at + 2.0, Step::Read, Some((at + 2.0, lease(2, "other")))));
    }
    // Unchanged for 14 seconds, as seen here; then for more than 15.
    rows.push((17.5, wait(19.5), None));
    rows.push((19.5, Step::Read, Some((19.5, lease(2, "other")))));
    rows.push((19.5, Step::Take, Some((19.6, lease(3, "me")))));
    let mut election = elector();
    play(&mut election, rows);
    assert!(election.is_leading(s(19.6)));
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let rows = vec![
        (0.0, Step::Read, Some((0.0, lease(1, "other")))),
        (0.0, wait(2.0), None),
        (2.0, Step::Read, Some((2.0, lease(2, "")))),
        (2.0, Step::Take, Some((2.1, lease(3, "me")))),
    ];
    let mut election = elector();
    play(&mut election, rows);
    assert!(election.is_leading(s(2.1)));
}

#[test]
fn the_promise_in_the_lease_counts_and_the_own_duration_where_there_is_none() {
    for (promised, expires) in [(Some(s(40.0)), 40.0), (Some(s(3.0)), 3.0), (None, 15.0)] {
        let seen = Seen { version: "1".to_owned(), holder: "other".to_owned(), duration: promised };
        let mut election = elector();
        election.next(s(0.0), 0.0);
        election.answer(s(0.0), Answer::Lease(Some(seen.clone())));
        for (at, expected) in [(expires - 0.1, false), (expires, true)] {
            let mut election = election.clone();
            assert!(matches!(election.next(s(0.0), 0.0), Step::Wait { .. }));
            assert_eq!(election.next(s(at), 0.0), Step::Read);
            election.answer(s(at), Answer::Lease(Some(seen.clone())));
            assert_eq!(election.next(s(at), 0.0) == Step::Take, expected, "{promised:?} at {at}");
        }
    }
}

#[test]
fn a_leader_that_cannot_renew_stands_down_at_the_deadline() {
    let rows = vec![
        (0.1, wait(2.1), None),
        // It looks at once what is the matter, then rests between tries.
        (2.1, Step::Renew, Some((3.0, Answer::Failed))),
        (3.0, Step::Read, Some((8.0, Answer::Failed))),
        (8.0, wait(10.0), None),
        (10.0, Step::StandDown, None),
        // The rest goes on, then it is a follower like any other.
        (10.0, Step::Read, Some((10.1, lease(1, "me")))),
        (10.1, Step::Renew, Some((10.2, lease(2, "me")))),
    ];
    let mut election = leader();
    play(&mut election, rows);
    assert!(election.is_leading(s(20.0)));
    assert!(!election.is_leading(s(20.1)));
}

#[test]
fn requests_are_given_up_in_time_for_another_try_and_for_the_deadline() {
    let mut election = leader();
    assert_eq!(election.next(s(2.1), 0.0), wait(4.1));
    assert_eq!(election.next(s(4.1), 0.0), Step::Renew);
    assert_eq!(election.answer_by(), s(9.1));
    election.answer(s(9.1), Answer::Failed);
    assert_eq!(election.next(s(9.1), 0.0), Step::Read);
    assert_eq!(election.answer_by(), s(10.0));
}

#[test]
fn an_answer_that_comes_after_its_deadline_makes_no_leader() {
    let mut election = elector();
    play(&mut election, vec![(0.0, Step::Read, Some((0.0, lease(1, ""))))]);
    play(&mut election, vec![(0.0, Step::Take, Some((10.0, lease(2, "me"))))]);
    assert!(!election.is_leading(s(10.0)));
    play(&mut election, vec![(10.0, wait(12.0), None), (12.0, Step::Renew, None)]);
}

#[test]
fn a_leader_that_reads_anothers_lease_stands_down_at_once() {
    for (read, then) in [
        (lease(9, "other"), wait(4.2)),
        (lease(9, ""), Step::Take),
        (Answer::Lease(None), Step::Create),
    ] {
        let rows = vec![
            (0.1, wait(2.1), None),
            (2.1, Step::Renew, Some((2.2, Answer::Conflict))),
            (2.2, Step::Read, Some((2.2, read))),
            (2.2, Step::StandDown, None),
            (2.2, then, None),
        ];
        play(&mut leader(), rows);
    }
}

#[test]
fn a_take_that_was_heard_of_only_by_reading_is_a_renewal() {
    let rows = vec![
        (0.0, Step::Read, Some((0.0, lease(1, "")))),
        (0.0, Step::Take, Some((5.0, Answer::Failed))),
        (5.0, wait(7.0), None),
        (7.0, Step::Read, Some((7.0, lease(2, "me")))),
        (7.0, Step::Renew, Some((7.1, lease(3, "me")))),
    ];
    let mut election = elector();
    play(&mut election, rows);
    assert!(election.is_leading(s(16.9)));
}

#[test]
fn followers_rest_between_one_and_2_2_retries() {
    for (chance, until) in [(0.0, 2.0), (0.5, 3.2), (1.0, 4.4), (7.0, 4.4), (-1.0, 2.0)] {
        let mut election = elector();
        election.next(s(0.0), chance);
        election.answer(s(0.0), lease(1, "other"));
        assert_eq!(election.next(s(0.0), chance), wait(until));
        assert_eq!(election.next(s(1.0), 0.9), wait(until), "the rest is not drawn anew");
    }
}

#[test]
fn a_leader_that_stops_stands_down_and_then_releases() {
    let mut election = leader();
    election.stop(s(1.0));
    assert!(!election.is_leading(s(1.0)));
    let rows = vec![
        (1.0, Step::StandDown, None),
        (1.0, Step::Release, Some((1.1, Answer::Conflict))),
        (1.1, Step::Read, Some((1.2, lease(2, "me")))),
        (1.2, Step::Release, Some((1.3, lease(3, "")))),
        (1.3, Step::Done, None),
    ];
    play(&mut election, rows);
}

#[test]
fn a_stop_takes_no_longer_than_half_the_deadline() {
    let mut election = leader();
    election.stop(s(1.0));
    play(&mut election, vec![(1.0, Step::StandDown, None), (1.0, Step::Release, None)]);
    assert_eq!(election.answer_by(), s(6.0));
    election.answer(s(6.0), Answer::Failed);
    play(&mut election, vec![(6.0, Step::Done, None)]);
}

#[test]
fn who_stops_with_a_write_in_doubt_looks_first() {
    for (read, then) in [
        (lease(2, "me"), Step::Release),
        (lease(2, "other"), Step::Done),
        (Answer::Failed, Step::Done),
    ] {
        let mut election = elector();
        play(&mut election, vec![(0.0, Step::Read, Some((0.0, lease(1, ""))))]);
        play(&mut election, vec![(0.0, Step::Take, None)]);
        election.stop(s(0.5));
        play(&mut election, vec![(0.5, Step::Read, Some((0.6, read))), (0.6, then, None)]);
    }
}

#[test]
fn a_follower_stops_without_asking() {
    let mut election = elector();
    election.stop(s(0.0));
    play(&mut election, vec![(0.0, Step::Done, None)]);
    let mut election = elector();
    play(&mut election, vec![(0.0, Step::Read, Some((0.0, lease(1, "other"))))]);
    election.stop(s(0.0));
    play(&mut election, vec![(0.0, Step::Done, None)]);
}

#[test]
fn a_step_without_an_answer_counts_as_failed() {
    let mut election = elector();
    assert_eq!(election.next(s(0.0), 0.0), Step::Read);
    assert_eq!(election.next(s(1.0), 0.0), wait(3.0));
}
