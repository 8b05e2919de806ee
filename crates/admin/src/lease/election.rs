//! Who leads: what one elector does next, from the Lease as it sees it and its own clock.
//!
//! After client-go's `tools/leaderelection`. A leader renews the Lease every `retry`. Everybody
//! else looks at it about as often and remembers, on a monotonic clock of its own, when it last saw
//! it change; a Lease that has not changed for its duration is taken. Times that are written in the
//! Lease are for people: this file does not see them, so clocks that are set wrong or jump do not
//! matter. All writes but the first carry the version that was read, so of two who take one wins.
//!
//! Invariants:
//! - At most one leads, as long as clocks run at nearly the same speed and nobody is paused for
//!   longer than `duration − renew_deadline`. A leader counts from when it *sent* the last renewal
//!   that succeeded and stands down `renew_deadline` after; others count from when they *received*
//!   what they saw, which is later, and wait for `duration`, which is longer.
//! - When messages come through again, somebody leads within about a duration and two retries.
//!
//! Where it is stricter than client-go: there the deadline begins a retry after the last answer,
//! and a leader that finds the Lease deleted or emptied goes on. Here it stands down first.
//! Where it is laxer: an elector that stood down tries again, where client-go's process ends.
//!
//! Any write to the Lease counts as a sign of life, also one by hand: that delays a takeover and
//! never hastens one. Deleting or emptying the Lease hastens one: who does it breaks the invariant
//! for a moment.
//!
//! A lease does not fence. A process that was paused still believes that it leads until it looks
//! at its clock, a machine that slept may not have counted the time, and what a leader sent before
//! it stood down may arrive after. What is written under a lease must carry versions of its own.
//!
//! Each call costs a few comparisons.

use std::time::Duration;

use super::Settings;

/// Followers rest between one and 2.2 retries, as client-go's do, so that they do not come together.
const JITTER: f64 = 1.2;

/// One elector. Moments are durations since any fixed moment of a monotonic clock.
#[derive(Clone, Debug)]
pub struct Election {
    identity: String,
    duration: Duration,
    renew_deadline: Duration,
    retry: Duration,
    standing: Standing,
    view: View,
    observed: Option<Observed>,
    rest: Rest,
    pending: Option<PendingRequest>,
    /// Until when the Lease may be released, once the elector was told to stop.
    ends_by: Option<Duration>,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It leads no longer; whatever needs a leader ends now.
    StandDown,
    Read,
    /// There is no Lease: make it.
    Create,
    /// The Lease is nobody's: write ourselves into it, under the version last seen.
    Take,
    /// The Lease is ours: write it again, under the version last seen.
    Renew,
    /// The Lease is ours and the elector stops: give it to nobody, under the version last seen.
    Release,
    Wait {
        until: Duration,
    },
    /// After a stop: nothing more.
    Done,
}

/// What became of a step that asks the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The Lease as it is now; `None` if there is none.
    Lease(Option<Seen>),
    /// The Lease is another than the one that was to be written.
    Conflict,
    /// Nobody knows.
    Failed,
}

/// A Lease, as far as it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub version: String,
    /// Empty for nobody.
    pub holder: String,
    /// What the holder promised.
    pub duration: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Following,
    Leading {
        until: Duration,
    },
    /// Leads no longer, and has not said so.
    Deposed,
}

/// How well the Lease is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    /// It must be read. `in_doubt`: a write of ours may have gone through all the same.
    Unknown {
        in_doubt: bool,
    },
    Read,
    /// As our last write left it.
    Written,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    None,
    Due,
    Until(Duration),
}

#[derive(Clone, Debug)]
struct Observed {
    seen: Seen,
    /// When it was first seen so.
    since: Duration,
}

#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    step: Step,
    at: Duration,
}

// === impl Election ===

impl Election {
    /// The settings should be valid: see [`Settings::validate`].
    pub fn new(settings: &Settings) -> Election {
        Election {
            identity: settings.identity.clone(),
            duration: settings.duration,
            renew_deadline: settings.renew_deadline,
            retry: settings.retry,
            standing: Standing::Following,
            view: View::Unknown { in_doubt: false },
            observed: None,
            rest: Rest::None,
            pending: None,
            ends_by: None,
        }
    }

    pub fn is_leading(&self, now: Duration) -> bool {
        matches!(self.standing, Standing::Leading { until } if now < until)
    }

    /// The next step. Those that ask the API server are to be answered before the next call; what
    /// is not answered counts as failed. `chance` is random, from 0 to 1.
    pub fn next(&mut self, now: Duration, chance: f64) -> Step {
        if self.pending.is_some() {
            self.answer(now, Answer::Failed);
        }
        if matches!(self.standing, Standing::Leading { until } if until <= now) {
            self.standing = Standing::Deposed;
        }
        if self.standing == Standing::Deposed {
            self.standing = Standing::Following;
            return Step::StandDown;
        }
        let step = match self.ends_by {
            Some(ends_by) => self.ending(now, ends_by),
            None => self.resting(now, chance).unwrap_or_else(|| self.decided(now, chance)),
        };
        if !matches!(step, Step::Wait { .. } | Step::Done) {
            self.pending = Some(PendingRequest { step, at: now });
        }
        step
    }

    /// When to give up on the answer to the last step.
    pub fn answer_by(&self) -> Duration {
        let sent = self.pending.map_or(Duration::ZERO, |request| request.at);
        let patience = sent.saturating_add(self.renew_deadline / 2);
        let leads_until = match self.standing {
            Standing::Leading { until } => until,
            Standing::Following | Standing::Deposed => Duration::MAX,
        };
        patience.min(leads_until).min(self.ends_by.unwrap_or(Duration::MAX))
    }

    /// Tells what became of the last step.
    pub fn answer(&mut self, now: Duration, answer: Answer) {
        let Some(PendingRequest { step, at }) = self.pending.take() else { return };
        match (step, answer) {
            (Step::Read, Answer::Lease(seen)) => self.read(now, seen),
            (Step::Read, Answer::Conflict | Answer::Failed) => self.failed(),
            (Step::Release, Answer::Conflict) => self.view = View::Unknown { in_doubt: true },
            (Step::Release, _) => self.end(),
            (_, Answer::Lease(Some(seen))) if seen.holder == self.identity => {
                self.written(at, now, seen);
            }
            _ => {
                // A leader looks at once what is the matter; who has just looked rests first.
                let has_read = self.view == View::Read;
                self.view = View::Unknown { in_doubt: true };
                if has_read {
                    self.failed();
                }
            }
        }
    }

    /// From now on it does not lead, and only releases what it holds. A request under way is to be
    /// given up.
    pub fn stop(&mut self, now: Duration) {
        let was_writing = self.pending.take().is_some_and(|request| request.step != Step::Read);
        if was_writing {
            self.view = View::Unknown { in_doubt: true };
        }
        if let Standing::Leading { .. } = self.standing {
            self.standing = Standing::Deposed;
        }
        self.ends_by = Some(now.saturating_add(self.renew_deadline / 2));
    }

    fn read(&mut self, now: Duration, seen: Option<Seen>) {
        self.view = View::Read;
        let is_ours = seen.as_ref().is_some_and(|seen| seen.holder == self.identity);
        if !is_ours && matches!(self.standing, Standing::Leading { .. }) {
            self.standing = Standing::Deposed;
        }
        let known = self.observed.as_ref().map(|observed| &observed.seen.version);
        if known != seen.as_ref().map(|seen| &seen.version) {
            self.observed = seen.map(|seen| Observed { seen, since: now });
        }
    }

    fn written(&mut self, sent: Duration, now: Duration, seen: Seen) {
        self.view = View::Written;
        self.observed = Some(Observed { seen, since: now });
        self.rest = Rest::Due;
        let until = sent.saturating_add(self.renew_deadline);
        // An answer that took this long makes no leader: others may be about to take the Lease.
        if now < until {
            self.standing = Standing::Leading { until };
        }
    }

    /// Who stops does not try twice: the Lease runs out by itself.
    fn failed(&mut self) {
        match self.ends_by {
            Some(_) => self.end(),
            None => self.rest = Rest::Due,
        }
    }

    fn end(&mut self) {
        self.ends_by = Some(Duration::ZERO);
    }

    fn resting(&mut self, now: Duration, chance: f64) -> Option<Step> {
        let until = match self.rest {
            Rest::None => return None,
            Rest::Due => now.saturating_add(self.pause(chance)),
            Rest::Until(until) => until,
        };
        if until <= now {
            self.rest = Rest::None;
            return None;
        }
        self.rest = Rest::Until(until);
        match self.standing {
            Standing::Leading { until: leads_until } => {
                Some(Step::Wait { until: until.min(leads_until) })
            }
            Standing::Following | Standing::Deposed => Some(Step::Wait { until }),
        }
    }

    fn pause(&self, chance: f64) -> Duration {
        match self.standing {
            Standing::Leading { .. } => self.retry,
            Standing::Following | Standing::Deposed => {
                self.retry.mul_f64(1.0 + JITTER * chance.clamp(0.0, 1.0))
            }
        }
    }

    fn decided(&mut self, now: Duration, chance: f64) -> Step {
        if let View::Unknown { .. } = self.view {
            return Step::Read;
        }
        let Some(Observed { seen, since }) = &self.observed else { return Step::Create };
        if seen.holder == self.identity {
            return Step::Renew;
        }
        let expires = since.saturating_add(seen.duration.unwrap_or(self.duration));
        if seen.holder.is_empty() || expires <= now {
            return Step::Take;
        }
        self.view = View::Unknown { in_doubt: false };
        let until = now.saturating_add(self.pause(chance));
        self.rest = Rest::Until(until);
        Step::Wait { until }
    }

    fn ending(&self, now: Duration, ends_by: Duration) -> Step {
        let holder = self.observed.as_ref().map(|observed| &observed.seen.holder);
        match self.view {
            _ if ends_by <= now => Step::Done,
            View::Unknown { in_doubt: true } => Step::Read,
            View::Read | View::Written if holder == Some(&self.identity) => Step::Release,
            View::Unknown { in_doubt: false } | View::Read | View::Written => Step::Done,
        }
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
