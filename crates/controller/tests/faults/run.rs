//! One seed from its start to its end: the agenda, and what each event does.

mod built_in;
mod cluster;
mod instants;
mod processes;
mod watches;
mod writes;

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc, time::Duration};

use evenkeel_controller::engine::{Effect, Outcome, Settings, Ticket};
use evenkeel_model::{Node, ServiceKey};
use evenkeel_testkit::sim::{
    Admission, Agenda, Answer, Cursor, Fate, Key, Lease, Request, Rng, Store,
};
use evenkeel_topology::EnabledEvent;

use self::watches::head;
use crate::{
    checks::converged,
    process::{KINDS, Kind, Process},
    profile::Profile,
    script::Script,
};

/// Within which everything must have settled once nothing goes wrong any more.
const SETTLES: Duration = Duration::from_secs(3600);
/// For how long it is then to be quiet.
const QUIET: Duration = Duration::from_secs(2 * 3600);
/// Far more than any run needs: beyond it something turns without end.
const MOST_EVENTS: u64 = 30_000;

/// What is broken on purpose, to see that it is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sabotage {
    #[default]
    None,
    /// The store looks at no preconditions.
    CarelessStore,
    /// Every fifth write is said to be done and is not.
    FalseAnswers,
    /// A process that lost its lease is not told, and the test is.
    DeafToTheLease,
    /// Updates lose an endpoint on their way.
    LostEndpoints,
    /// Slices are created twice, under two names.
    Twins,
    /// Records of withdrawals are said to be stored and are not.
    LostRecords,
    /// Deletes of slices of Services that opted out are said to be done and are not.
    KeptSlices,
    /// A busy server is told as one of which nothing is known.
    BusyIsUnknown,
    /// A namespace that is being deleted is told as any refusal.
    TerminatingIsRefused,
    /// Writes are answered with what was sent, whatever was stored.
    StoredAsSent,
    /// Nodes have no grace, and the test thinks they have.
    NoNodeGrace,
    /// Creates are answered long before they are done.
    EarlyAnswers,
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) seed: u64,
    pub(crate) event: u64,
    pub(crate) at: Duration,
    pub(crate) what: String,
    pub(crate) trace: String,
}

/// How much happened, so that a test which tests nothing is noticed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) writes: u64,
    /// Events on Services.
    pub(crate) told: u64,
    pub(crate) refused: u64,
    pub(crate) timed_out: u64,
    pub(crate) ghosts: u64,
    pub(crate) crashes: u64,
    pub(crate) lists: u64,
    pub(crate) rivals: u64,
    /// Watches that showed nothing for long.
    pub(crate) stalls: u64,
    /// Nodes that went and came back.
    pub(crate) blinks: u64,
    /// Services that opted in or out.
    pub(crate) opts: u64,
    /// Namespaces that were deleted.
    pub(crate) ended: u64,
    /// Creates in them.
    pub(crate) terminating: u64,
    /// Writes of Kubernetes' own controller.
    pub(crate) built_in: u64,
    /// Writes that were stored otherwise.
    pub(crate) altered: u64,
    pub(crate) busy: u64,
}

/// Runs one seed. With `traced`, a failure tells all that happened.
pub(crate) fn run(seed: u64, sabotage: Sabotage, traced: bool) -> Result<Tally, Failure> {
    let mut run = Run::new(seed, sabotage, traced);
    match run.live() {
        Ok(()) => Ok(run.tally),
        Err(what) => Err(Failure {
            seed,
            event: run.tally.events,
            at: run.agenda.now(),
            what,
            trace: run.trace.unwrap_or_default(),
        }),
    }
}

enum Event {
    Script,
    Roll(Key, usize),
    RemoveService(Key),
    RemoveSlice(Key, Arc<str>),
    NodeIsBack(Key, Node),
    EndNamespace(Arc<str>),
    /// Kubernetes' own controller looks at all Services.
    BuiltIn,
    Heal,
    Collect,
    Start(usize),
    Resume(usize),
    Lead(usize, bool),
    Deliver(usize, u32, Kind),
    Arrive(Box<Flight>),
    Answer(usize, u32, Ticket, Told),
    Timer(usize, u32),
}

/// A write on its way.
struct Flight {
    process: usize,
    life: u32,
    ticket: Ticket,
    service: ServiceKey,
    /// What was known before this step is in its plan.
    planned_after: u64,
    /// Its process had not been shown all changes of slices.
    blind: bool,
    /// How many changes of slices there were when it was sent.
    head: usize,
    /// Its process knew the Service as one that opted in.
    opted_in: bool,
    request: Request,
    sent: Duration,
    fate: Fate,
}

enum Told {
    Answer(Answer),
    Outcome(Outcome),
}

struct Run {
    rng: Rng,
    profile: Profile,
    sabotage: Sabotage,
    store: Store,
    agenda: Agenda<Event>,
    script: Script,
    steps_left: usize,
    processes: Vec<Process>,
    lease: Lease,
    /// The first states that a list may show.
    base: [usize; 4],
    /// Two may be writing at once: leaders, or one and what an earlier life left on its way.
    rivals: bool,
    healed: bool,
    /// The agenda has the next look of Kubernetes' own controller.
    built_in_due: bool,
    /// Endpoints that a third party touched, by Pod uid.
    disturbed: BTreeSet<Arc<str>>,
    /// Services of which a third party gave slices back to the built-in controller.
    released: BTreeSet<Key>,
    tally: Tally,
    trace: Option<String>,
}

impl Run {
    fn new(seed: u64, sabotage: Sabotage, traced: bool) -> Run {
        let mut rng = Rng::new(seed);
        let profile = Profile::draw(&mut rng);
        let mut store = Store::default();
        store.careless = sabotage == Sabotage::CarelessStore;
        store.admission = profile.admission;
        let script = Script::set_up(&profile, &mut store, &mut rng);
        let processes = 0..profile.processes;
        let settings = settings(&profile, sabotage);
        let processes = processes.map(|_| Process::new(&settings, &mut rng)).collect();
        let base = KINDS.map(|kind| head(&store, kind));
        let mut run = Run {
            steps_left: profile.steps,
            trace: traced.then(|| format!("{profile:#?}\n")),
            rng,
            profile,
            sabotage,
            store,
            agenda: Agenda::default(),
            script,
            processes,
            lease: Lease::default(),
            base,
            rivals: false,
            healed: false,
            built_in_due: false,
            disturbed: BTreeSet::new(),
            released: BTreeSet::new(),
            tally: Tally::default(),
        };
        for process in 0..run.processes.len() {
            run.watch(process);
        }
        run.pass_lease(0);
        let delay = run.rng.millis(0, 2_000);
        run.agenda.after(delay, Event::Script);
        run
    }

    fn live(&mut self) -> Result<(), String> {
        let far = Duration::from_secs(1_000_000);
        while !self.healed {
            let event = self.agenda.next_until(far).ok_or("the script does not end")?;
            self.happens(event)?;
        }
        let settled = self.agenda.now() + SETTLES;
        self.pass_until(settled)?;
        converged(&self.store, &self.profile, &self.released)?;
        let Tally { writes, told, .. } = self.tally;
        self.pass_until(settled + QUIET)?;
        if self.tally.writes > writes {
            return Err("it goes on writing after it has converged".into());
        }
        if self.tally.told > told {
            return Err("it goes on telling Events after it has converged".into());
        }
        self.fresh()
    }

    fn pass_until(&mut self, end: Duration) -> Result<(), String> {
        while let Some(event) = self.agenda.next_until(end) {
            self.happens(event)?;
        }
        self.agenda.pass(end);
        Ok(())
    }

    fn happens(&mut self, event: Event) -> Result<(), String> {
        self.tally.events += 1;
        if self.tally.events > MOST_EVENTS {
            return Err("it does not come to rest".into());
        }
        let Some(event) = self.postponed(event) else {
            return Ok(());
        };
        match event {
            Event::Script => self.step(),
            Event::Roll(service, left) => self.roll(&service, left),
            Event::RemoveService(key) => self.remove_service(&key),
            Event::RemoveSlice(key, uid) => self.remove_slice(&key, &uid),
            Event::NodeIsBack(key, node) => self.node_is_back(&key, node),
            Event::EndNamespace(namespace) => self.end_namespace(&namespace),
            Event::BuiltIn => self.built_in(),
            Event::Heal => self.heal(),
            Event::Collect => self.collect(),
            Event::Start(process) => self.start(process),
            Event::Resume(process) => return self.pump(process),
            Event::Lead(process, leading) => return self.lead(process, leading),
            Event::Deliver(process, life, kind) => return self.deliver(process, life, kind),
            Event::Arrive(flight) => return self.arrive(&flight),
            Event::Answer(process, life, ticket, told) => {
                return self.answer(process, life, ticket, told);
            }
            Event::Timer(process, life) => return self.timer(process, life),
        }
        Ok(())
    }

    /// Puts off what a process that stands still can't take in yet.
    fn postponed(&mut self, event: Event) -> Option<Event> {
        let (Event::Lead(process, _)
        | Event::Deliver(process, ..)
        | Event::Answer(process, ..)
        | Event::Timer(process, _)) = event
        else {
            return Some(event);
        };
        let until = self.processes[process].paused_until;
        if until <= self.agenda.now() {
            return Some(event);
        }
        self.agenda.at(until, event);
        None
    }

    /// A process that starts on the final state has nothing to do or to say.
    fn fresh(&mut self) -> Result<(), String> {
        let settings = settings(&self.profile, self.sabotage);
        let mut process = Process::new(&settings, &mut self.rng);
        let (store, step) = (&self.store, self.tally.events);
        let mut cursor = Cursor::default();
        for shown in cursor.list(&store.nodes, usize::MAX) {
            process.show_node(&shown, store, step, Duration::ZERO);
        }
        for shown in cursor.list(&store.pods, usize::MAX) {
            process.show_pod(&shown, store, step);
        }
        for shown in cursor.list(&store.services, usize::MAX) {
            process.show_service(&shown, step);
        }
        for shown in cursor.list(&store.slices, usize::MAX) {
            process.show_slice(&shown, store);
        }
        process.lead(true);
        // Without conditions nothing remembers what was told before, and Kubernetes tells anew.
        let settings = &self.profile.settings;
        let alters = self.profile.admission != Admission::AsSent;
        let forgetful = !settings.conditions
            || alters
            || settings.topology.enabled_event == EnabledEvent::WhenNotRemembered;
        let mut now = Duration::ZERO;
        for _ in 0..100 {
            while let Some(effect) = process.engine.poll(now) {
                let quiet = match effect {
                    Effect::Synced(_) => true,
                    Effect::Event(_) => forgetful,
                    // Whether the server still changes what it is sent must be tried.
                    Effect::Write(_) => alters,
                };
                if !quiet {
                    return Err(format!("a fresh start on the final state wants {effect:?}"));
                }
            }
            match process.engine.next_due().filter(|due| *due < QUIET) {
                Some(due) => now = due.max(now + Duration::from_millis(1)),
                None => break,
            }
        }
        Ok(())
    }

    fn lives(&self, process: usize, life: u32) -> bool {
        let target = &self.processes[process];
        target.alive && target.life == life
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let (event, at) = (self.tally.events, self.agenda.now());
            let _ = writeln!(trace, "{event:>5} {at:>12.3?}  {}", what());
        }
    }
}

// === impl Tally ===

impl Tally {
    /// Every fault happened, and often.
    pub(crate) fn has_everything(mut self) -> bool {
        self.events = u64::MAX;
        self.counts().iter().all(|n| **n >= 500)
    }

    pub(crate) fn plus(mut self, mut other: Tally) -> Tally {
        for (sum, n) in self.counts().into_iter().zip(other.counts()) {
            *sum = sum.saturating_add(*n);
        }
        self
    }

    fn counts(&mut self) -> [&mut u64; 17] {
        let Tally {
            events,
            writes,
            told,
            refused,
            timed_out,
            ghosts,
            crashes,
            lists,
            rivals,
            stalls,
            blinks,
            opts,
            ended,
            terminating,
            built_in,
            altered,
            busy,
        } = self;
        [
            events,
            writes,
            told,
            refused,
            timed_out,
            ghosts,
            crashes,
            lists,
            rivals,
            stalls,
            blinks,
            opts,
            ended,
            terminating,
            built_in,
            altered,
            busy,
        ]
    }
}

/// Of the processes.
fn settings(profile: &Profile, sabotage: Sabotage) -> Settings {
    let mut settings = profile.settings.clone();
    if sabotage == Sabotage::NoNodeGrace {
        settings.missing_node_grace = Duration::ZERO;
    }
    settings
}
