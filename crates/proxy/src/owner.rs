//! The task that owns the engine and the kernel's tables.
//!
//! It waits for the first of: a batch of a watch, a change of addresses, the end of a look at
//! connections, the time to look at the tables. Then it takes what else has arrived, and commits at
//! once. Under load, the next commit waits for as long as the last one took, within bounds, so that
//! changes of a burst share commits and a single change never waits.

use std::{sync::Arc, time::Duration};

use evenkeel_k8s::watch::Received;
use evenkeel_nft::{Config, Create, Family, Remove, Transaction, Verb};
use jiff::Timestamp;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};
use tokio_util::sync::CancellationToken;

use crate::{
    engine::Engine,
    flows::Flows,
    health::Vitals,
    health_ports::HealthPorts,
    intake::Intake,
    kernel::{Intact, Kernel},
    metrics::{Metrics, Synced},
    netlink::{self, nftables::CommitError, route::AddressWatch},
    report::InForce,
    zone_counters::ZoneCounters,
};

/// How often the tables are looked at: a foreign change is repaired within a second.
const LOOK: Duration = Duration::from_millis(300);

/// Batches that are taken before a commit.
const TAKEN: usize = 64;

/// The longest wait between two commits under load.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// Larger transactions are committed on a thread of their own.
const MANY: usize = 2_000;

/// Pauses between attempts after the kernel refused everything.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) engine: Engine,
    pub(crate) intake: Intake,
    /// Away while a large transaction is committed.
    pub(crate) kernel: Option<Kernel>,
    pub(crate) flows: Flows,
    pub(crate) addresses: AddressWatch,
    pub(crate) health_ports: HealthPorts,
    /// `None`: connections are not counted.
    pub(crate) counters: Option<Arc<ZoneCounters>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) vitals: Arc<Vitals>,
    pub(crate) families: Vec<Family>,
    /// Signalled once, when rules are in force.
    pub(crate) synced: Option<oneshot::Sender<()>>,
    pub(crate) in_force: watch::Sender<Option<InForce>>,
    /// When the next commit may be.
    pub(crate) next: Instant,
    /// When the first change was received that is not in force yet.
    pub(crate) received: Option<Instant>,
    /// The kernel does not have what the engine decided: all of it must be replaced.
    pub(crate) is_broken: bool,
    pub(crate) failures: u32,
    pub(crate) has_news: bool,
    /// What was last logged about this node's zone.
    pub(crate) zone: Option<Option<String>>,
    pub(crate) contested: usize,
}

/// The inputs of the task.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) batches: mpsc::Receiver<Received>,
    pub(crate) stop: CancellationToken,
}

// === impl Owner ===

impl Owner {
    /// Until it is told to stop, or until the kernel refuses the first rules: then there are none to
    /// fall back to, and no retry would help.
    pub(crate) async fn run(mut self, mut inputs: Inputs) -> Result<(), CommitError> {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.read_addresses();
        loop {
            let is_due = self.has_news && self.engine.is_synced();
            tokio::select! {
                () = inputs.stop.cancelled() => return Ok(()),
                Some(batch) = inputs.batches.recv() => self.take(batch, &mut inputs.batches),
                changed = self.addresses.changed() => {
                    if let Err(error) = changed {
                        tracing::warn!(%error, "watching addresses failed, reading them again");
                    }
                    self.read_addresses();
                }
                done = self.flows.done() => {
                    self.flows.remove(done, &self.engine, &self.metrics);
                    self.check_flows();
                }
                () = sleep_until(self.next), if is_due => {}
                _ = look.tick() => self.look(),
            }
            if self.has_news && self.engine.is_synced() && Instant::now() >= self.next {
                self.sync().await?;
            }
        }
    }

    fn take(&mut self, first: Received, batches: &mut mpsc::Receiver<Received>) {
        let mut received = Some(first);
        for _ in 0..TAKEN {
            let Some(Received { at, batch }) = received else { break };
            self.received = Some(self.received.map_or(at, |first| first.min(at)));
            self.intake.take(&mut self.engine, &self.metrics, batch);
            received = batches.try_recv().ok();
        }
        self.news();
        self.metrics.queued(&self.families, self.intake.services, self.intake.slices);
        (self.intake.services, self.intake.slices) = (0, 0);
    }

    fn news(&mut self) {
        self.has_news = true;
        if self.engine.is_synced() {
            self.vitals.waiting(Instant::now());
        }
    }

    fn read_addresses(&mut self) {
        match self.addresses.list() {
            Ok(list) => {
                let usable = list.into_iter().filter(|address| !address.tentative);
                self.engine.addresses(usable.map(|address| address.address).collect());
                self.news();
            }
            Err(error) => tracing::warn!(%error, "reading the node's addresses failed"),
        }
    }

    async fn sync(&mut self) -> Result<(), CommitError> {
        let start = Instant::now();
        self.has_news = false;
        let planned = self.engine.sync();
        let is_full = self.is_broken || !planned.create.is_empty();
        let transaction = if self.is_broken { self.engine.rebuild() } else { planned };
        let (transaction, committed) = self.commit(transaction).await;
        let took = start.elapsed();
        self.next = start + took + took.min(LONGEST_PAUSE);
        match committed {
            Ok(()) => self.committed(&transaction, took, is_full),
            Err(error) if self.synced.is_some() && self.is_broken => return Err(error),
            Err(error) => self.refused(&error),
        }
        Ok(())
    }

    /// Gives the transaction back: a large one is not to be in memory twice.
    async fn commit(&mut self, transaction: Transaction) -> (Transaction, Result<(), CommitError>) {
        let lost = || Err(CommitError::Netlink(netlink::Error::NoAnswer));
        let Some(mut kernel) = self.kernel.take() else { return (transaction, lost()) };
        if transaction.is_empty() {
            self.kernel = Some(kernel);
            return (transaction, Ok(()));
        }
        let config: Config = self.engine.ruleset().config().clone();
        if transaction.elements.len() < MANY {
            let committed = kernel.commit(&transaction, &config);
            self.kernel = Some(kernel);
            return (transaction, committed);
        }
        let task = tokio::task::spawn_blocking(move || {
            let committed = kernel.commit(&transaction, &config);
            (kernel, transaction, committed)
        });
        match task.await {
            Ok((kernel, transaction, committed)) => {
                self.kernel = Some(kernel);
                (transaction, committed)
            }
            Err(_) => (Transaction::default(), lost()),
        }
    }

    fn committed(&mut self, transaction: &Transaction, took: Duration, is_full: bool) {
        let families = &self.families;
        let waited = self.received.take().map(|received| received.elapsed());
        self.metrics.synced(&Synced { transaction, families, took, waited, is_full });
        (self.is_broken, self.failures) = (false, 0);
        self.vitals.in_force();
        self.vitals.eligible(self.engine.own_node().is_some_and(|own| !own.is_leaving));
        self.observe_triggers();
        self.log(transaction, took, is_full);
        self.check_flows();
        let ips = self.engine.node_port_ips();
        self.health_ports.follow(self.engine.health_checks(), &ips);
        self.report();
        self.follow_counters(transaction);
        self.note_zone();
        self.note_contested();
        if let Some(synced) = self.synced.take() {
            // The receiver may be gone.
            let _ = synced.send(());
        }
    }

    /// The report is written elsewhere, at its own pace.
    fn report(&self) {
        let now = self.engine.in_force();
        self.in_force.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(now);
            if is_new {
                *known = Some(now.clone());
            }
            is_new
        });
    }

    fn follow_counters(&self, transaction: &Transaction) {
        let Some(counters) = &self.counters else { return };
        let zone = self.engine.zone();
        let is_moved = self.zone.as_ref().is_none_or(|known| known.as_deref() != zone);
        let creates = |create: &Create| matches!(create, Create::Counter(..));
        let removes = |remove: &Remove| matches!(remove, Remove::Counter(..));
        if is_moved
            || transaction.create.iter().any(creates)
            || transaction.remove.iter().any(removes)
        {
            counters.follow(self.engine.ruleset(), zone);
        }
    }

    fn log(&self, transaction: &Transaction, took: Duration, is_full: bool) {
        let is_add = |change: &&evenkeel_nft::Change| change.verb == Verb::Add;
        let added = transaction.elements.iter().filter(is_add).count();
        let deleted = transaction.elements.len() - added;
        match is_full || self.synced.is_some() {
            true => tracing::info!(added, deleted, ?took, "rules synced"),
            false => tracing::debug!(added, deleted, ?took, "rules synced"),
        }
    }

    /// Nothing of it is in force. What is there stays, until all of it is replaced.
    fn refused(&mut self, error: &CommitError) {
        self.metrics.failed(&self.families);
        self.vitals.failed(error.to_string());
        let pause = match self.is_broken {
            false => Duration::ZERO,
            true => {
                let doubled = RETRY.0.saturating_mul(1 << self.failures.min(10));
                self.failures += 1;
                doubled.min(RETRY.1)
            }
        };
        tracing::warn!(%error, "programming nftables failed, replacing all rules in {pause:?}");
        self.is_broken = true;
        self.has_news = true;
        self.next = Instant::now() + pause;
    }

    fn observe_triggers(&mut self) {
        let now = Timestamp::now();
        for (family, time) in &self.intake.triggers {
            let took = Duration::try_from(now.duration_since(*time)).unwrap_or_default();
            if let Some(family) = Family::of_slices(*family) {
                self.metrics.programmed(family, took);
            }
        }
        self.intake.clear();
    }

    fn check_flows(&mut self) {
        let stale = self.engine.take_stale();
        self.flows.check(stale, self.engine.node_port_ips());
    }

    /// A node without a zone uses all endpoints, which should not go unnoticed.
    fn note_zone(&mut self) {
        let zone = self.engine.zone().map(str::to_owned);
        if self.zone.as_ref() == Some(&zone) {
            return;
        }
        match &zone {
            Some(zone) => tracing::info!(zone, "node is in zone"),
            None => tracing::warn!(
                "node has no label topology.kubernetes.io/zone; all endpoints are used"
            ),
        }
        self.zone = Some(zone);
    }

    fn note_contested(&mut self) {
        let contested: Vec<_> = self.engine.ruleset().contested().collect();
        if contested.len() != self.contested {
            for (frontend, owner, losers) in contested.iter().take(10) {
                let (owner, losers) = (&owner.service, losers.first().map(|name| &name.service));
                tracing::warn!(?frontend, %owner, ?losers, "several Services request the same frontend");
            }
        }
        self.contested = contested.len();
        self.metrics.facts(&self.engine.facts(), self.contested);
    }

    /// Restores what others changed, and takes what they gave back.
    fn look(&mut self) {
        self.health_ports.retry();
        let config = self.engine.ruleset().config().clone();
        let Some(kernel) = self.kernel.as_mut().filter(|_| self.synced.is_none()) else { return };
        match kernel.look(&config) {
            Ok(Intact::Yes | Intact::OthersChanged) => {}
            Ok(Intact::Lost) => self.restore("table was deleted by another process"),
            Ok(Intact::Unknown) => match self.is_as_committed(&config) {
                Ok(true) => {}
                Ok(false) => self.restore("table was changed by another process"),
                Err(error) => {
                    tracing::warn!(%error, "looking at nftables failed, retrying");
                    self.kernel.iter_mut().for_each(Kernel::look_again);
                }
            },
            Err(error) => tracing::warn!(%error, "looking at nftables failed"),
        }
    }

    /// Compares all elements. Only where tables can't be owned, and somebody committed something.
    fn is_as_committed(&mut self, config: &Config) -> netlink::Result<bool> {
        let Some(kernel) = self.kernel.as_mut() else { return Ok(true) };
        let mut known: rustc_hash::FxHashMap<_, _> =
            self.engine.elements().into_iter().map(|e| (e.key(), e.data)).collect();
        for family in &self.families {
            let Some(table) = kernel.list(*family, config)? else { return Ok(false) };
            let version = evenkeel_nft::version(config, *family);
            if table.is_foreign || table.version() != Some(version) {
                return Ok(false);
            }
            for element in table.elements {
                if known.remove(&element.key()) != Some(element.data) {
                    return Ok(false);
                }
            }
        }
        Ok(known.is_empty())
    }

    fn restore(&mut self, why: &'static str) {
        tracing::warn!(reason = why, "restoring rules");
        self.metrics.restored();
        (self.is_broken, self.has_news) = (true, true);
        self.next = Instant::now();
    }
}
