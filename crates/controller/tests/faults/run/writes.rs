//! What processes want done, on its way to the store and back.

use std::time::Duration;

use evenkeel_controller::engine::{Effect, Outcome, ServiceEvent, Ticket, Write};
use evenkeel_model::Version;
use evenkeel_testkit::sim::{Fate, Refusal, Request, TIMEOUT};

use super::{Event, Flight, Run, Sabotage, Told};
use crate::{process::Kind, trace::Brief};

impl Run {
    /// Lets a process do what it wants to do now.
    pub(super) fn pump(&mut self, process: usize) -> Result<(), String> {
        let target = &mut self.processes[process];
        if !target.alive || target.paused_until > self.agenda.now() {
            return Ok(());
        }
        if target.able_since.is_none() && target.leading && target.engine.is_synced() {
            target.able_since = Some(self.tally.events);
        }
        for _ in 0..10_000 {
            let target = &mut self.processes[process];
            let Some(effect) = target.engine.poll(self.agenda.now() + target.ahead) else {
                self.set_timer(process);
                return Ok(());
            };
            match effect {
                Effect::Write(write) => self.send(process, &write)?,
                Effect::Event(event) => {
                    self.tally.told += 1;
                    self.note(|| {
                        let ServiceEvent { service, reason, message, .. } = event;
                        format!("process {process}: Event on {service}: {reason}: {message}")
                    });
                }
                Effect::Synced(report) => {
                    target.synced.insert(report.service.clone(), self.tally.events);
                    self.note(|| {
                        let problem = report.problem.unwrap_or_default();
                        format!(
                            "process {process}: synced {}: {:?} {problem}",
                            report.service, report.result
                        )
                    });
                }
            }
        }
        Err("`poll` has no end".into())
    }

    pub(super) fn set_timer(&mut self, process: usize) {
        let now = self.agenda.now();
        let target = &mut self.processes[process];
        let Some(due) = target.engine.next_due() else {
            return;
        };
        let at = due.saturating_sub(target.ahead).max(now + Duration::from_millis(1));
        if target.timer.is_none_or(|set| at < set || set <= now) {
            target.timer = Some(at);
            self.agenda.at(at, Event::Timer(process, target.life));
        }
    }

    pub(super) fn timer(&mut self, process: usize, life: u32) -> Result<(), String> {
        if !self.lives(process, life) {
            return Ok(());
        }
        let now = self.agenda.now();
        let target = &mut self.processes[process];
        target.timer = target.timer.filter(|&set| set > now);
        self.pump(process)
    }

    pub(super) fn send(&mut self, process: usize, write: &Write) -> Result<(), String> {
        self.tally.writes += 1;
        let target = &mut self.processes[process];
        if !target.leading {
            return Err(format!("process {process} writes without the lease: {write:?}"));
        }
        let now = self.agenda.now() + target.ahead;
        if target.not_before(&write.service).is_some_and(|moment| now < moment) {
            return Err(format!("the server wanted to be asked later: {write:?}"));
        }
        if target.busy().contains(&write.service) {
            return Err(format!("two writes of {} at once: {write:?}", write.service));
        }
        if target.open.len() >= self.profile.settings.max_in_flight {
            return Err(format!("{} writes were under way: {write:?}", target.open.len()));
        }
        if target.open.insert(write.ticket, write.service.clone()).is_some() {
            return Err(format!("{:?} is used twice", write.ticket));
        }
        let (life, ticket) = (target.life, write.ticket);
        let planned_after = target.planned_after(&write.service);
        let blind = target.watches[Kind::Slices as usize].cursor.is_behind(&self.store.slices);
        let mut request = target.request(write, &mut self.store);
        self.tamper(&mut request);
        let fate = self.fate();
        self.note(|| format!("process {process} sends {ticket:?} {}: {fate:?}", request.brief()));
        if let Some(told) = self.foretold(fate) {
            let delay = fate.answered.unwrap_or(TIMEOUT);
            self.agenda.after(delay, Event::Answer(process, life, ticket, told));
        }
        if let Some(delay) = fate.arrives {
            let (service, sent) = (write.service.clone(), self.agenda.now());
            let flight = Flight {
                process,
                life,
                ticket,
                service,
                planned_after,
                blind,
                request,
                sent,
                fate,
            };
            self.agenda.after(delay, Event::Arrive(Box::new(flight)));
        }
        Ok(())
    }

    fn fate(&mut self) -> Fate {
        let fate = Fate::draw(&self.profile.writes, &mut self.rng);
        self.tally.timed_out += u64::from(fate.answered.is_none());
        if self.is_answered_falsely() { Fate { arrives: None, ..fate } } else { fate }
    }

    /// What a client is told that does not depend on the store.
    fn foretold(&self, fate: Fate) -> Option<Told> {
        if self.is_answered_falsely() {
            let resource_version = format!("false-{}", self.tally.writes).into();
            let version = Version { resource_version, ..Version::default() };
            return Some(Told::Outcome(Outcome::Done(version)));
        }
        let message = "no answer".into();
        let unknown = Outcome::Unknown { after: None, message };
        fate.answered.is_none().then_some(Told::Outcome(unknown))
    }

    fn is_answered_falsely(&self) -> bool {
        self.sabotage == Sabotage::FalseAnswers && self.tally.writes.is_multiple_of(5)
    }

    fn tamper(&mut self, request: &mut Request) {
        match (self.sabotage, request) {
            (Sabotage::LostEndpoints, Request::Update { slice, .. }) => {
                slice.endpoints.pop();
            }
            (Sabotage::Twins, Request::Create { key, slice, .. }) => {
                let mut twin = slice.clone();
                twin.name = format!("{}-twin", slice.name).into();
                self.store.add_slice(&key.namespace, &twin);
            }
            _ => {}
        }
    }

    pub(super) fn arrive(&mut self, flight: &Flight) -> Result<(), String> {
        let &Flight { process, life, ticket, .. } = flight;
        let late = self.agenda.now() > flight.sent + TIMEOUT;
        // A process that ends takes a part of what it just sent with it.
        if !self.lives(process, life) && self.rng.chance(300) {
            return Ok(());
        }
        if late {
            self.tally.ghosts += 1;
            self.rivals = true;
        }
        let told = match flight.fate.refusal {
            Some(refusal) => {
                self.tally.refused += 1;
                Told::Outcome(refused(refusal))
            }
            None => Told::Answer(self.apply(flight)?),
        };
        if let Some(delay) = flight.fate.answered {
            let event = Event::Answer(process, life, ticket, told);
            self.agenda.at(flight.sent + delay, event);
        }
        Ok(())
    }

    pub(super) fn answer(
        &mut self,
        process: usize,
        life: u32,
        ticket: Ticket,
        told: Told,
    ) -> Result<(), String> {
        if !self.lives(process, life) {
            return Ok(());
        }
        let now = self.agenda.now();
        let target = &mut self.processes[process];
        let outcome = match told {
            Told::Answer(answer) => target.outcome(answer, &self.store),
            Told::Outcome(outcome) => outcome,
        };
        let service = target.open.remove(&ticket);
        if let (Outcome::Unknown { after: Some(after), .. }, Some(service)) = (&outcome, service) {
            target.ask_later(service, now + target.ahead + *after);
        }
        self.note(|| {
            let outcome = format!("{outcome:?}");
            format!("process {process} is told of {ticket:?}: {outcome:.200}")
        });
        let target = &mut self.processes[process];
        target.engine.done(now + target.ahead, ticket, outcome);
        self.pump(process)
    }
}

fn refused(refusal: Refusal) -> Outcome {
    match refusal {
        Refusal::Conflict => Outcome::Conflict,
        Refusal::TooManyRequests { retry_after } => {
            Outcome::Unknown { after: Some(retry_after), message: "429".into() }
        }
        Refusal::Internal => Outcome::Unknown { after: None, message: "500".into() },
        Refusal::Forbidden => Outcome::Refused { code: 403, message: "not now".into() },
    }
}
