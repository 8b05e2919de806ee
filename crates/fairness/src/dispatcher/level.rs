//! One level and its lock.

use std::{
    hint,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::{FxHashMap, FxHashSet};

use super::exchange::Claims;
use crate::{
    Time,
    queues::{QueueSet, RequestDump, SeatLimit, stats::SchemaStats},
    stripes::{self, STRIPES},
    top_flows::TopFlows,
};

/// How often a lock that is taken is tried before its thread may sleep: for about 20 microseconds, in case
/// the thread that holds it was interrupted.
const TRIES: u32 = 16;

/// The most pauses of the processor between two tries: one or two microseconds, in which the other thread
/// does several things to the level while all of it is in the cache of its core.
const MAX_PAUSES: u32 = 64;

/// A priority level with its requests.
#[derive(Debug)]
pub struct Level<W> {
    pub name: Arc<str>,
    state: Mutex<LevelState<W>>,
    pub(super) published: Published,
}

/// What others read without the lock. It is written under the lock if it changes, which is seldom; so
/// it is on other cache lines than the lock.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Published {
    /// Seats of its own that it lacks.
    pub(super) claim: AtomicU32,
    /// Seats it has borrowed and does not use.
    pub(super) spare: AtomicU32,
    /// Seats it has borrowed.
    borrowed: AtomicU32,
    pub(super) nominal: AtomicU32,
    /// Its next deadline.
    deadline: AtomicU64,
}

/// What the lock guards.
#[derive(Debug)]
pub(super) struct LevelState<W> {
    pub(super) set: QueueSet<W>,
    pub(super) top_flows: TopFlows,
    /// The names of the schemas that the set counts for, by number; empty: free.
    pub(super) schemas: Vec<Arc<str>>,
    /// It is no longer configured, and makes no claims.
    pub(super) quiescing: bool,
    /// It is quiescing and was idle: requests must be classified again.
    pub(super) retired: bool,
}

/// The schema and level of a request. Its references are counted on a cache line of their own.
#[derive(Debug)]
#[repr(align(128))]
pub struct Destination<W> {
    pub schema: Arc<str>,
    pub schema_uid: Arc<str>,
    pub level: Arc<Level<W>>,
    pub level_uid: Arc<str>,
    /// The maximum number of seats that a request may be estimated at; 0: no maximum.
    pub max_seats: u32,
    /// Requests don't wait there.
    pub(super) rejects: bool,
    pub(super) number: u32,
}

/// The destination of a schema. Every request holds a reference to it, and counting those would be a
/// write to one cache line by all threads: there is a copy for each stripe, made when it is first needed.
#[derive(Debug)]
pub(super) struct Copies<W> {
    first: Arc<Destination<W>>,
    others: [OnceLock<Arc<Destination<W>>>; STRIPES - 1],
}

/// A level, seen under its lock.
#[derive(Debug)]
pub struct LevelView<'l, W> {
    pub set: &'l mut QueueSet<W>,
    pub top_flows: &'l TopFlows,
    schemas: &'l [Arc<str>],
}

impl<W> Level<W> {
    pub(super) fn new(name: Arc<str>, set: QueueSet<W>) -> Self {
        Level {
            name,
            state: Mutex::new(LevelState {
                set,
                top_flows: TopFlows::default(),
                schemas: Vec::new(),
                quiescing: false,
                retired: false,
            }),
            published: Published {
                claim: AtomicU32::new(0),
                spare: AtomicU32::new(0),
                borrowed: AtomicU32::new(0),
                nominal: AtomicU32::new(0),
                deadline: AtomicU64::new(u64::MAX),
            },
        }
    }

    /// When [`Dispatcher::tick`](super::Dispatcher::tick) must be called for it; read without its
    /// lock.
    pub fn deadline(&self) -> Option<Time> {
        Some(Time(self.published.deadline.load(Ordering::Acquire))).filter(|time| *time < Time::MAX)
    }

    /// Whether it has seats that others lent; read without its lock.
    pub(super) fn borrows(&self) -> bool {
        self.published.borrowed.load(Ordering::Relaxed) > 0
    }

    /// Whoever holds the lock does so for a fraction of a microsecond, which is less than a system call
    /// takes. So those who find it taken try again, after longer and longer pauses, before they let the
    /// mutex yield and sleep.
    pub(super) fn lock(&self) -> MutexGuard<'_, LevelState<W>> {
        let mut guard = self.state.try_lock().unwrap_or_else(|| self.lock_contended());
        guard.set.use_stripe(stripes::stripe());
        guard
    }

    #[cold]
    fn lock_contended(&self) -> MutexGuard<'_, LevelState<W>> {
        let mut pauses = 1;
        for _ in 0..TRIES {
            (0..pauses).for_each(|_| hint::spin_loop());
            if let Some(guard) = self.state.try_lock() {
                return guard;
            }
            pauses = (pauses * 2).min(MAX_PAUSES);
        }
        self.state.lock()
    }

    /// Looks at the level under its lock; requests of this level wait meanwhile.
    pub fn view<T>(&self, look: impl FnOnce(LevelView<'_, W>) -> T) -> T {
        let state = &mut *self.lock();
        look(LevelView {
            set: &mut state.set,
            top_flows: &state.top_flows,
            schemas: &state.schemas,
        })
    }

    /// Publishes what others read without the lock, which the caller holds. Returns the level's
    /// deadline if it is earlier than before.
    pub(super) fn publish(&self, state: &LevelState<W>, claims: &Claims) -> Option<Time> {
        let (set, published) = (&state.set, &self.published);
        claims.change(&published.claim, if state.quiescing { 0 } else { set.claim() });
        store_if_changed(&published.spare, set.spare());
        let SeatLimit { limit, nominal } = set.seats();
        store_if_changed(&published.borrowed, limit.saturating_sub(nominal));
        store_if_changed(&published.nominal, nominal);
        let deadline = set.next_deadline().map_or(u64::MAX, |time| time.0);
        let old = self.published.deadline.load(Ordering::Relaxed);
        if deadline != old {
            self.published.deadline.store(deadline, Ordering::Release);
        }
        (deadline < old).then_some(Time(deadline))
    }
}

impl<W> LevelState<W> {
    /// The numbers under which requests of these schemas are counted: all that send requests here.
    /// A schema that was there before finds its counts; one that is new may take the place of one
    /// that is gone and idle.
    pub(super) fn numbers(&mut self, schemas: &[Arc<str>]) -> Vec<u32> {
        let wanted: FxHashSet<&str> = schemas.iter().map(|schema| &**schema).collect();
        let known: FxHashMap<Arc<str>, usize> =
            self.schemas.iter().cloned().zip(0..).filter(|(s, _)| wanted.contains(&**s)).collect();
        let counted = self.set.schemas();
        let idle = |number: &usize| counted[*number].is_idle();
        let free = (0..self.schemas.len()).filter(|n| !wanted.contains(&*self.schemas[*n]));
        let mut free: Vec<usize> = free.filter(idle).collect();
        let mut number = |schema: &Arc<str>| {
            let known = known.get(schema).copied();
            let number = known.unwrap_or_else(|| self.count_for(schema, free.pop()));
            u32::try_from(number).expect("fewer than 2^32 schemas")
        };
        schemas.iter().map(&mut number).collect()
    }

    /// Begins to count for a schema, in a free place if there is one.
    fn count_for(&mut self, schema: &Arc<str>, free: Option<usize>) -> usize {
        let number = free.unwrap_or(self.schemas.len());
        if number == self.schemas.len() {
            self.schemas.push(Arc::default());
            self.set.schemas_mut().push(SchemaStats::default());
        }
        self.schemas[number] = schema.clone();
        self.set.reset_schema(number);
        number
    }
}

impl<W> Copies<W> {
    pub(super) fn new(destination: Destination<W>) -> Self {
        Copies { first: Arc::new(destination), others: Default::default() }
    }

    /// That of this thread's stripe.
    pub(super) fn own(&self) -> &Arc<Destination<W>> {
        match stripes::stripe().checked_sub(1) {
            None => &self.first,
            Some(other) => self.others[other].get_or_init(|| Arc::new(self.first.copy())),
        }
    }
}

impl<W> Destination<W> {
    fn copy(&self) -> Self {
        Destination {
            schema: self.schema.clone(),
            schema_uid: self.schema_uid.clone(),
            level: self.level.clone(),
            level_uid: self.level_uid.clone(),
            ..*self
        }
    }
}

impl<W> LevelView<'_, W> {
    /// The requests that wait or run, each with the name of its schema.
    pub fn requests(&self) -> Vec<(Arc<str>, RequestDump)> {
        let name = |number: u32| self.schemas.get(number as usize).cloned().unwrap_or_default();
        self.set.requests().into_iter().map(|request| (name(request.schema), request)).collect()
    }

    /// What is counted for each schema, with its name.
    pub fn schemas(&self) -> impl Iterator<Item = (&Arc<str>, SchemaStats)> {
        self.schemas.iter().zip(self.set.schemas())
    }
}

fn store_if_changed(cell: &AtomicU32, value: u32) {
    if cell.load(Ordering::Relaxed) != value {
        cell.store(value, Ordering::SeqCst);
    }
}
