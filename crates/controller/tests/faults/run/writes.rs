//! What processes want done, on its way to the store and back.

use std::time::Duration;

use evenkeel_controller::engine::{Action, Effect, Outcome, ServiceEvent, Ticket, Write};
use evenkeel_model::{SeenSlice, ServiceKey, Version, label};
use evenkeel_testkit::sim::{Answer, Fate, Key, Refusal, Request, TIMEOUT};

use super::{Event, Flight, Run, Sabotage, Told};
use crate::{checks, process::Kind, trace::Brief};

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
                    let problem = report.problem.as_deref().unwrap_or_default();
                    if problem.contains(TERMINATING) {
                        return Err(format!("a sync failed: {problem}"));
                    }
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
        let object = (write.service.clone(), write.action.slice_name().cloned());
        if target.is_writing(&object) {
            return Err(format!("two writes of one object at once: {write:?}"));
        }
        if self.profile.only_busy && matches!(write.action, Action::Read { .. }) {
            return Err(format!("reads what nobody doubts: {write:?}"));
        }
        if target.open.len() >= self.profile.settings.max_in_flight {
            return Err(format!("{} writes were under way: {write:?}", target.open.len()));
        }
        if target.open.insert(write.ticket, object).is_some() {
            return Err(format!("{:?} is used twice", write.ticket));
        }
        let (life, ticket) = (target.life, write.ticket);
        let planned_after = target.planned_after(&write.service);
        let blind = target.watches[Kind::Slices as usize].cursor.is_behind(&self.store.slices);
        let opted_in = target.knows_as_opted_in(&write.service);
        let mut request = target.request(write, &mut self.store);
        self.tamper(&mut request);
        let mut fate = self.fate();
        let early = self.sabotage == Sabotage::EarlyAnswers
            && matches!(request, Request::Create { .. })
            && fate.refusal.is_none();
        if early {
            fate.arrives = Some(Duration::from_secs(5));
        }
        self.note(|| format!("process {process} sends {ticket:?} {}: {fate:?}", request.brief()));
        if let Some(told) = self.foretold(fate, &request, early) {
            let delay = fate.answered.unwrap_or(TIMEOUT);
            self.agenda.after(delay, Event::Answer(process, life, ticket, told));
            fate.answered = fate.answered.filter(|_| !early);
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
                head: self.store.slices.head(),
                opted_in,
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
    fn foretold(&self, fate: Fate, request: &Request, early: bool) -> Option<Told> {
        if self.is_answered_falsely() || early {
            let resource_version = format!("false-{}", self.tally.writes).into();
            let version = Version { resource_version, ..Version::default() };
            return Some(Told::Answer(as_sent(request, version)));
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
                Told::Outcome(self.refused(refusal))
            }
            None => self.sabotaged(flight)?,
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
        let service = target.open.remove(&ticket).map(|(service, _)| service);
        let after = match &outcome {
            Outcome::Unknown { after, .. } | Outcome::Busy { after } => *after,
            _ => None,
        };
        if let (Some(after), Some(service)) = (after, service) {
            target.ask_later(service, now + target.ahead + after);
        }
        self.note(|| {
            let outcome = format!("{outcome:?}");
            format!("process {process} is told of {ticket:?}: {outcome:.200}")
        });
        let target = &mut self.processes[process];
        target.engine.done(now + target.ahead, ticket, outcome);
        self.pump(process)
    }

    fn refused(&mut self, refusal: Refusal) -> Outcome {
        match refusal {
            Refusal::Conflict => Outcome::Conflict,
            Refusal::TooManyRequests { retry_after: after } => {
                self.tally.busy += 1;
                match self.sabotage {
                    Sabotage::BusyIsUnknown => Outcome::Unknown { after, message: "429".into() },
                    _ => Outcome::Busy { after },
                }
            }
            Refusal::Internal => Outcome::Unknown { after: None, message: "500".into() },
            Refusal::Forbidden => Outcome::Refused { code: 403, message: "not now".into() },
        }
    }

    /// Carries a write out, and says what came of it unless that is sabotaged.
    fn sabotaged(&mut self, flight: &Flight) -> Result<Told, String> {
        let lies = match (self.sabotage, &flight.request) {
            (Sabotage::LostRecords, Request::Create { slice, .. }) => {
                slice.labels.contains_key(label::WITHDRAWN)
            }
            (Sabotage::KeptSlices, Request::Delete { .. }) => self.has_opted_out(&flight.service),
            _ => false,
        };
        if lies {
            let version = Version { uid: "none".into(), ..Version::default() };
            return Ok(Told::Answer(as_sent(&flight.request, version)));
        }
        let answer = self.apply(flight)?;
        Ok(match (self.sabotage, answer) {
            (_, Answer::Terminating) => {
                self.tally.terminating += 1;
                match self.sabotage {
                    Sabotage::TerminatingIsRefused => {
                        Told::Outcome(Outcome::Refused { code: 403, message: TERMINATING.into() })
                    }
                    _ => Told::Answer(Answer::Terminating),
                }
            }
            (Sabotage::StoredAsSent, Answer::Stored(seen)) => {
                Told::Answer(as_sent(&flight.request, seen.version))
            }
            (_, answer) => Told::Answer(answer),
        })
    }

    fn has_opted_out(&self, service: &ServiceKey) -> bool {
        let key = Key::new(service.namespace.clone(), service.name.clone());
        let seen = self.store.services.get(&key);
        seen.is_some_and(|seen| !checks::is_ours(&seen.service, self.profile.settings.scope))
    }
}

const TERMINATING: &str = "the namespace is being terminated";

/// The answer to a write that was done to the letter.
fn as_sent(request: &Request, version: Version) -> Answer {
    match request {
        Request::Create { key, slice, .. } | Request::Update { key, slice, .. } => {
            let (namespace, slice) = (key.namespace.clone(), slice.clone());
            Answer::Stored(Box::new(SeenSlice { namespace, slice, version, deleting: false }))
        }
        Request::Conditions { .. } => Answer::Done,
        Request::Relabel { .. } | Request::Delete { .. } | Request::Read { .. } => Answer::Gone,
    }
}
