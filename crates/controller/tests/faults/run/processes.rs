//! What becomes of the processes, and who leads.

use std::time::Duration;

use evenkeel_testkit::sim::Rates;

use super::{Event, Run, Sabotage, settings};
use crate::{
    process::{Kind, Process},
    profile::WatchRates,
};

impl Run {
    /// What goes wrong with the processes themselves.
    pub(super) fn trouble(&mut self) {
        let process = self.rng.below(self.processes.len());
        let profile = &self.profile;
        if self.rng.chance(profile.crash) && self.processes[process].alive {
            self.crash(process);
        } else if self.rng.chance(profile.pass_lease) {
            self.pass_lease(process);
        } else if self.rng.chance(profile.jump) {
            let jump = self.rng.millis(1, 7_200_000);
            self.note(|| format!("the clock of process {process} jumps by {jump:?}"));
            self.processes[process].ahead += jump;
            self.agenda.after(Duration::ZERO, Event::Resume(process));
        } else if self.rng.chance(profile.pause) {
            let until = self.agenda.now() + self.rng.millis(10, 20_000);
            self.note(|| format!("process {process} stands still until {until:?}"));
            self.processes[process].paused_until = until;
        }
    }

    pub(super) fn crash(&mut self, process: usize) {
        self.note(|| format!("process {process} crashes"));
        self.tally.crashes += 1;
        self.rivals |= !self.processes[process].open.is_empty();
        self.processes[process].alive = false;
        self.processes[process].life += 1;
        let delay = self.rng.millis(1, 20_000);
        self.agenda.after(delay, Event::Start(process));
        let other = self.processes.len() - 1 - process;
        if other != process && self.lease.holder == Some(process) && self.processes[other].alive {
            self.pass_lease(other);
        }
    }

    pub(super) fn start(&mut self, process: usize) {
        if self.processes[process].alive {
            return;
        }
        self.note(|| format!("process {process} starts"));
        let life = self.processes[process].life;
        let settings = settings(&self.profile, self.sabotage);
        self.processes[process] = Process::new(&settings, &mut self.rng);
        self.processes[process].life = life;
        self.watch(process);
        if self.lease.holder == Some(process) {
            let delay = self.rng.millis(0, 2_000);
            self.agenda.after(delay, Event::Lead(process, true));
        }
    }

    pub(super) fn pass_lease(&mut self, winner: usize) {
        let handover = self.lease.pass(winner, &mut self.rng);
        self.note(|| format!("the lease: {handover:?}"));
        let (winner, told) = handover.winner;
        self.agenda.after(told, Event::Lead(winner, true));
        if let Some((loser, told)) = handover.loser {
            self.agenda.after(told, Event::Lead(loser, false));
        }
    }

    pub(super) fn lead(&mut self, process: usize, leading: bool) -> Result<(), String> {
        // An older message about the lease may come late; the lease has the last word.
        let leading = leading && self.lease.holder == Some(process);
        let target = &mut self.processes[process];
        if !target.alive || target.leading == leading {
            return Ok(());
        }
        if self.sabotage == Sabotage::DeafToTheLease && !leading {
            target.leading = false;
        } else {
            target.lead(leading);
        }
        self.note(|| format!("process {process} leads: {leading}"));
        let leaders = self.processes.iter().filter(|p| p.alive && p.leading).count();
        let writing = self.processes.iter().any(|p| !p.open.is_empty());
        // Who takes over before having seen what the other wrote is a rival of the past.
        let watch = self.processes[process].watches[Kind::Slices as usize];
        let behind = watch.lists || watch.cursor.is_behind(&self.store.slices);
        if leading && (leaders > 1 || writing || behind) {
            self.tally.rivals += 1;
            self.rivals = true;
        }
        self.pump(process)
    }

    /// Nothing goes wrong from here on, and one process leads.
    pub(super) fn heal(&mut self) {
        self.note(|| "from here on nothing goes wrong".into());
        self.healed = true;
        self.profile.writes = Rates::default();
        self.profile.watches = WatchRates::default();
        let holder = self.lease.holder.unwrap_or_default();
        for process in 0..self.processes.len() {
            self.start(process);
            let delay = Duration::from_secs(30);
            self.agenda.after(delay, Event::Lead(process, process == holder));
        }
        // The second time when watches that stalled have shown everything.
        for seconds in [60, 600] {
            self.agenda.after(Duration::from_secs(seconds), Event::Collect);
        }
        self.notify();
    }
}
