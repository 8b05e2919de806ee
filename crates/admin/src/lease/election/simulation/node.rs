//! One elector with its clocks, and what its shell remembers.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use rand::{RngExt, rngs::StdRng};

use super::{
    DRIFT_PERCENT,
    store::{Reply, Request},
};
use crate::lease::{Answer, Election, Settings, Step, record};

pub(super) struct Node {
    index: usize,
    settings: Settings,
    /// How often it was started; each start has an identity of its own.
    n_starts: u64,
    pub(super) election: Election,
    /// As last read or written.
    lease: Option<Lease>,
    awaited: Option<u64>,
    n_requests: u64,
    /// What the shell says to its process.
    pub(super) is_reported: bool,
    pub(super) is_alive: bool,
    pub(super) paused_until: u64,
    /// Until when nothing comes through.
    pub(super) cut_until: u64,
    /// Microseconds of its clock in a million of real ones.
    speed: u64,
    offset: u64,
}

impl Node {
    pub(super) fn new(index: usize, rng: &mut StdRng) -> Node {
        let drift = DRIFT_PERCENT * 10_000;
        let settings = Settings::new("kube-system", "x", &format!("{index}-0"));
        Node {
            index,
            election: Election::new(&settings),
            settings,
            n_starts: 0,
            lease: None,
            awaited: None,
            n_requests: 0,
            is_reported: false,
            is_alive: true,
            paused_until: 0,
            cut_until: 0,
            speed: rng.random_range(1_000_000 - drift..=1_000_000 + drift),
            offset: rng.random_range(0..1_000_000_000_000),
        }
    }

    pub(super) fn local(&self, real: u64) -> Duration {
        Duration::from_micros(self.offset + real * self.speed / 1_000_000)
    }

    /// The first real moment at which the own clock shows `local`.
    pub(super) fn real(&self, local: Duration) -> u64 {
        let local = u64::try_from(local.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX / 2_000_000);
        (local.saturating_sub(self.offset) * 1_000_000).div_ceil(self.speed)
    }

    pub(super) fn awaits(&self, id: u64) -> bool {
        self.is_alive && self.awaited == Some(id)
    }

    pub(super) fn is_waiting_for_an_answer(&self) -> bool {
        self.awaited.is_some()
    }

    pub(super) fn request(&mut self, step: Step, rng: &mut StdRng) -> (u64, Request) {
        self.n_requests += 1;
        self.awaited = Some(self.n_requests);
        // A clock on the wall that jumps about, and often shows the same twice.
        let wall = Timestamp::from_second(rng.random_range(0..5)).unwrap_or_default();
        let current = self.lease.as_ref().filter(|_| step != Step::Create);
        let write = || Box::new(record::written(step, current, &self.settings, wall));
        (self.n_requests, Request { step, lease: (step != Step::Read).then(write) })
    }

    pub(super) fn hear(&mut self, now: Duration, reply: Reply) {
        self.awaited = None;
        let answer = match reply {
            Reply::Conflict => Answer::Conflict,
            Reply::Failed => Answer::Failed,
            Reply::Lease(lease) => {
                self.lease = lease.map(|lease| *lease);
                Answer::Lease(self.lease.as_ref().map(record::seen))
            }
        };
        self.election.answer(now, answer);
    }

    pub(super) fn stop(&mut self, now: Duration) {
        self.awaited = None;
        self.election.stop(now);
    }

    pub(super) fn crash(&mut self) {
        self.awaited = None;
        self.is_alive = false;
        self.is_reported = false;
        self.paused_until = 0;
    }

    pub(super) fn start(&mut self) {
        self.n_starts += 1;
        self.settings.identity = format!("{}-{}", self.index, self.n_starts);
        self.election = Election::new(&self.settings);
        self.lease = None;
        self.is_alive = true;
    }
}
