//! Where one Service stands: since when some node lacks its rules, and what its condition shows.
//!
//! ```text
//!              late for `patience`                 in time for `settle`
//!   shown: True ────────────────► shown: False ─────────────────────► shown: True
//! ```
//!
//! A node is given time for each state of a Service, counted from when that state was there. While a
//! Service changes all the time, some node always lacks the newest state; what counts is the oldest
//! one that some node lacks. When that is reached, the newest is timed next. So a node that is always
//! late is found out after twice its time at most, and one that keeps up never.

use std::{sync::Arc, time::Duration};

use evenkeel_model::Revision;

/// The text of a condition that is False is renewed at most so often.
const RETOLD: Duration = Duration::from_secs(60);

/// The state of a Service that nodes are to have in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Needs {
    pub(in crate::engine) service: Revision,
    /// The newest of its slices; `None`: it has none.
    pub(in crate::engine) slices: Option<Revision>,
}

/// What every node that reports has in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floor<'a> {
    pub(super) services: &'a Revision,
    pub(super) slices: &'a Revision,
}

/// What the condition of a Service shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Shown {
    pub(in crate::engine) status: bool,
    pub(in crate::engine) reason: Arc<str>,
    pub(in crate::engine) message: Arc<str>,
}

#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) needs: Needs,
    /// When they were there.
    since: Duration,
    /// All nodes had them at the last look: those that lack them now are others, and have their time
    /// from now on.
    were_met: bool,
    /// The oldest state that some node lacks.
    timed: Option<(Needs, Duration)>,
    /// Some node lists the Service as an exception.
    excepted_since: Option<Duration>,
    pub(super) shown: Option<Shown>,
    /// What is shown is False, and no node has been late since.
    in_time_since: Option<Duration>,
    told: Duration,
}

/// How long nodes have, by how many there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) late: Duration,
    pub(super) settle: Duration,
}

/// What is to be done about a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Leave what is shown.
    Keep,
    InForce,
    /// The text is to be made anew.
    Late,
}

// === impl Needs ===

impl Needs {
    pub(super) fn are_met(&self, floor: Floor<'_>) -> bool {
        self.service <= *floor.services
            && self.slices.as_ref().is_none_or(|needed| needed <= floor.slices)
    }
}

// === impl Standing ===

impl Standing {
    /// `shown`: what the status of the Service has from before.
    pub(super) fn new(needs: Needs, now: Duration, shown: Option<Shown>) -> Standing {
        Standing {
            needs,
            since: now,
            were_met: true,
            timed: None,
            excepted_since: None,
            shown,
            in_time_since: None,
            told: Duration::ZERO,
        }
    }

    pub(super) fn need(&mut self, needs: Needs, now: Duration) {
        (self.needs, self.since, self.were_met) = (needs, now, false);
    }

    pub(super) fn except(&mut self, is_excepted: bool, now: Duration) {
        self.excepted_since = is_excepted.then(|| self.excepted_since.unwrap_or(now));
    }

    /// What the oldest state is that some node lacks, or the newest.
    pub(super) fn lacking(&self) -> &Needs {
        self.timed.as_ref().map_or(&self.needs, |(needs, _)| needs)
    }

    /// Returns what to do now, and when to look again if nothing happens until then.
    pub(super) fn assess(
        &mut self,
        now: Duration,
        floor: Floor<'_>,
        patience: Patience,
    ) -> (Verdict, Option<Duration>) {
        if self.timed.as_ref().is_none_or(|(needs, _)| needs.are_met(floor)) {
            let is_met = self.needs.are_met(floor);
            let since = if self.were_met { now } else { self.since };
            self.timed = (!is_met).then(|| (self.needs.clone(), since));
            self.were_met = is_met;
        }
        let lacking = self.timed.as_ref().map(|(_, since)| *since);
        let late_at = lacking.into_iter().chain(self.excepted_since).min();
        let late_at = late_at.map(|since| since + patience.late);
        let shows = self.shown.as_ref().map(|shown| shown.status);
        match late_at {
            Some(late_at) if late_at <= now => {
                self.in_time_since = None;
                let told_again = self.told + RETOLD;
                if shows == Some(false) && self.told > Duration::ZERO && now < told_again {
                    return (Verdict::Keep, Some(told_again));
                }
                self.told = now;
                (Verdict::Late, Some(now + RETOLD))
            }
            _ if shows == Some(false) => {
                let settles = *self.in_time_since.get_or_insert(now) + patience.settle;
                match settles <= now {
                    true => (Verdict::InForce, late_at),
                    false => (Verdict::Keep, Some(late_at.map_or(settles, |at| at.min(settles)))),
                }
            }
            None => (if shows.is_none() { Verdict::InForce } else { Verdict::Keep }, None),
            Some(late_at) => (Verdict::Keep, Some(late_at)),
        }
    }

    /// Returns whether that is something else than before.
    pub(super) fn show(&mut self, shown: Option<Shown>) -> bool {
        if self.shown.as_ref().is_none_or(|before| before.status) {
            self.in_time_since = None;
        }
        let is_new = self.shown != shown;
        self.shown = shown;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn revision(n: u64) -> Revision {
        Revision::new(&n.to_string()).unwrap()
    }

    fn needs(slices: u64) -> Needs {
        Needs { service: revision(5), slices: Some(revision(slices)) }
    }

    fn shown(status: bool) -> Option<Shown> {
        Some(Shown { status, reason: "x".into(), message: "x".into() })
    }

    /// Looks when nodes have these slices.
    fn look(standing: &mut Standing, now: u64, slices: u64) -> (Verdict, Option<u64>) {
        let patience = Patience { late: at(10), settle: at(20) };
        let (services, slices) = (revision(5), revision(slices));
        let floor = Floor { services: &services, slices: &slices };
        let (verdict, next) = standing.assess(at(now), floor, patience);
        match verdict {
            Verdict::InForce => drop(standing.show(shown(true))),
            Verdict::Late => drop(standing.show(shown(false))),
            Verdict::Keep => {}
        }
        (verdict, next.map(|next| next.as_secs()))
    }

    #[test]
    fn a_node_is_late_after_its_time_and_in_time_only_when_that_has_settled() {
        let mut standing = Standing::new(needs(7), at(100), None);
        assert_eq!(look(&mut standing, 100, 6), (Verdict::Keep, Some(110)));
        assert_eq!(look(&mut standing, 101, 7), (Verdict::InForce, None));
        standing.need(needs(8), at(200));
        assert_eq!(look(&mut standing, 200, 7), (Verdict::Keep, Some(210)));
        assert_eq!(look(&mut standing, 210, 7), (Verdict::Late, Some(270)));
        assert_eq!(look(&mut standing, 220, 7), (Verdict::Keep, Some(270)));
        assert_eq!(look(&mut standing, 270, 7), (Verdict::Late, Some(330)), "told again");
        assert_eq!(look(&mut standing, 300, 8), (Verdict::Keep, Some(320)));
        standing.need(needs(9), at(305));
        assert_eq!(look(&mut standing, 305, 8), (Verdict::Keep, Some(315)));
        assert_eq!(look(&mut standing, 306, 9), (Verdict::Keep, Some(320)));
        assert_eq!(look(&mut standing, 320, 9), (Verdict::InForce, None));
    }

    #[test]
    fn a_service_that_always_changes_is_in_force_where_nodes_keep_up() {
        let mut standing = Standing::new(needs(0), at(100), shown(true));
        for n in 1..1000 {
            standing.need(needs(n), at(100 + n));
            // Three seconds behind.
            let (verdict, _) = look(&mut standing, 100 + n, n.saturating_sub(3));
            assert_eq!(verdict, Verdict::Keep, "{n}");
        }
    }

    #[test]
    fn a_service_that_always_changes_is_late_where_a_node_is() {
        let mut standing = Standing::new(needs(0), at(100), shown(true));
        let mut late = 0;
        for n in 1..200 {
            standing.need(needs(n), at(100 + n));
            // Thirty seconds behind.
            let (verdict, _) = look(&mut standing, 100 + n, n.saturating_sub(30));
            late += usize::from(verdict == Verdict::Late);
        }
        assert!((2..=4).contains(&late), "{late} times in 200 s");
        assert_eq!(standing.shown, shown(false));
    }

    #[test]
    fn what_the_status_says_already_is_kept_after_a_restart() {
        for status in [true, false] {
            let mut standing = Standing::new(needs(7), at(1), shown(status));
            assert_eq!(look(&mut standing, 1, 6), (Verdict::Keep, Some(11)));
            let expected = (Verdict::Late, Some(71));
            assert_eq!(look(&mut standing, 11, 6), expected, "told so by this process first");
        }
    }

    #[test]
    fn an_exception_is_as_bad_as_being_late() {
        let mut standing = Standing::new(needs(7), at(100), shown(true));
        standing.except(true, at(100));
        standing.except(true, at(105));
        assert_eq!(look(&mut standing, 105, 7), (Verdict::Keep, Some(110)));
        assert_eq!(look(&mut standing, 110, 7), (Verdict::Late, Some(170)));
        standing.except(false, at(111));
        assert_eq!(look(&mut standing, 111, 7), (Verdict::Keep, Some(131)));
    }
}
