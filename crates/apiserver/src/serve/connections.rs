//! All connections: their activity and slots. The decisions are in `registry`.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::{
    sync::Notify,
    time::{Instant, interval, sleep},
};

use super::{
    Limits,
    metrics::{Closed, ConnectionMetrics},
    registry::{self, Activity, Availability, ConnectionState, Counts},
};

/// Pause between attempts to get a slot while no connection may be evicted yet.
const AGAIN: Duration = Duration::from_millis(50);

/// Maximum time between two sweeps.
const SWEEP: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Connections {
    started: Instant,
    limits: Limits,
    next: AtomicU64,
    table: Mutex<Table>,
    freed: Notify,
    metrics: ConnectionMetrics,
}

#[derive(Debug, Default)]
struct Table {
    strangers: FxHashMap<u64, Arc<Connection>>,
    authenticated: FxHashMap<u64, Arc<Connection>>,
}

/// The slot of a connection, released on drop.
#[derive(Debug)]
pub(super) struct ConnectionGuard(Arc<Connection>);

/// One connection, as its requests see it.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u64,
    all: Arc<Connections>,
    accepted: Duration,
    is_authenticated: AtomicBool,
    requests: AtomicUsize,
    /// Milliseconds since startup; valid while no request is open.
    idle_since: AtomicU64,
    /// Milliseconds since startup; 0: no head has begun.
    head_since: AtomicU64,
    is_closing: AtomicBool,
    close: Notify,
    cut: Notify,
}

/// A request that is open until this is dropped.
#[derive(Debug)]
pub(super) struct Open(Arc<Connection>);

// === impl Connections ===

impl Connections {
    pub(super) fn new(limits: Limits, metrics: ConnectionMetrics) -> Arc<Connections> {
        Arc::new(Connections {
            started: Instant::now(),
            limits,
            next: AtomicU64::new(0),
            table: Mutex::default(),
            freed: Notify::new(),
            metrics,
        })
    }

    /// Gets a slot for a new connection; another one may be evicted for it.
    pub(super) async fn admit(self: &Arc<Self>) -> ConnectionGuard {
        loop {
            let freed = self.freed.notified();
            if let Some(guard) = self.try_admit() {
                return guard;
            }
            tokio::select! {
                () = freed => {}
                () = sleep(AGAIN) => {}
            }
        }
    }

    /// Evicts the least important connection, to free its resources. `false`: there is none to
    /// evict.
    pub(super) fn evict(&self) -> bool {
        let mut table = self.table.lock();
        self.evict_from(&mut table, Availability::ForAnybody)
    }

    /// Closes connections that were idle for too long, while the server runs.
    pub(super) async fn close_idle(&self) {
        let Limits { idle, stranger_idle, headers, .. } = self.limits;
        let shortest = idle.min(stranger_idle).min(headers);
        let mut ticks = interval((shortest / 4).clamp(Duration::from_millis(5), SWEEP));
        loop {
            ticks.tick().await;
            self.sweep();
        }
    }

    fn sweep(&self) {
        let now = self.now();
        let table = self.table.lock();
        self.metrics.reset();
        for connection in table.strangers.values().chain(table.authenticated.values()) {
            let seen = connection.seen();
            self.metrics.seen(&seen);
            if registry::is_expired(&seen, now, &self.limits) {
                connection.close_idle();
            }
        }
        self.metrics.publish();
    }

    fn try_admit(self: &Arc<Self>) -> Option<ConnectionGuard> {
        let mut table = self.table.lock();
        let room = registry::room(table.counts(), &self.limits);
        if room != Availability::Free && !self.evict_from(&mut table, room) {
            return None;
        }
        let now = self.now();
        let connection = Arc::new(Connection {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            all: Arc::clone(self),
            accepted: now,
            is_authenticated: AtomicBool::new(false),
            requests: AtomicUsize::new(0),
            idle_since: AtomicU64::new(millis(now)),
            head_since: AtomicU64::new(0),
            is_closing: AtomicBool::new(false),
            close: Notify::new(),
            cut: Notify::new(),
        });
        table.strangers.insert(connection.id, Arc::clone(&connection));
        Some(ConnectionGuard(connection))
    }

    /// Its slot is free at once; its task ends soon.
    fn evict_from(&self, table: &mut Table, room: Availability) -> bool {
        let strangers = table.strangers.values();
        let others = table.authenticated.values();
        let seen = |connection: &Arc<Connection>| connection.seen();
        let victim = match room {
            Availability::ForStranger => {
                registry::victim(strangers.map(seen), self.now(), &self.limits)
            }
            Availability::ForAnybody | Availability::Free => {
                registry::victim(strangers.chain(others).map(seen), self.now(), &self.limits)
            }
        };
        let Some(connection) = victim.and_then(|id| table.remove(id)) else { return false };
        connection.cut.notify_one();
        self.metrics.closed(Closed::Evicted);
        true
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Table {
    fn counts(&self) -> Counts {
        Counts { strangers: self.strangers.len(), authenticated: self.authenticated.len() }
    }

    fn remove(&mut self, id: u64) -> Option<Arc<Connection>> {
        self.strangers.remove(&id).or_else(|| self.authenticated.remove(&id))
    }
}

// === impl ConnectionGuard ===

impl ConnectionGuard {
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.0
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let all = &self.0.all;
        all.table.lock().remove(self.0.id);
        all.freed.notify_one();
    }
}

// === impl Connection ===

impl Connection {
    /// From now on it counts as authenticated.
    pub(crate) fn authenticated(&self) {
        if self.is_authenticated.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut table = self.all.table.lock();
        // It may have been evicted already.
        if let Some(own) = table.strangers.remove(&self.id) {
            table.authenticated.insert(self.id, own);
        }
    }

    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.requests.fetch_add(1, Ordering::AcqRel);
        self.head_since.store(0, Ordering::Relaxed);
        Open(Arc::clone(self))
    }

    /// Bytes were received.
    pub(super) fn received(&self) {
        if !self.is_busy() && self.head_since.load(Ordering::Relaxed) == 0 {
            self.head_since.store(millis(self.all.now()).max(1), Ordering::Relaxed);
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Acquire) > 0
    }

    /// Completes when it should close for being idle too long.
    pub(super) async fn expired(&self) {
        self.close.notified().await;
    }

    /// Completes when it is evicted.
    pub(super) async fn evicted(&self) {
        self.cut.notified().await;
    }

    fn close_idle(&self) {
        if !self.is_closing.swap(true, Ordering::Relaxed) {
            self.all.metrics.closed(Closed::Idle);
            self.close.notify_one();
        }
    }

    fn seen(&self) -> ConnectionState {
        let since = |value: &AtomicU64| Duration::from_millis(value.load(Ordering::Relaxed));
        let activity = match (self.is_busy(), since(&self.head_since)) {
            (true, _) => Activity::Requests,
            (false, Duration::ZERO) => Activity::Idle { since: since(&self.idle_since) },
            (false, since) => Activity::Head { since },
        };
        let is_authenticated = self.is_authenticated.load(Ordering::Relaxed);
        ConnectionState { id: self.id, accepted: self.accepted, is_authenticated, activity }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let connection = &self.0;
        // Before the count, so that no reader sees an idle connection with an old time.
        connection.idle_since.store(millis(connection.all.now()), Ordering::Relaxed);
        connection.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
