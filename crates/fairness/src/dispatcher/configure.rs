//! Applies a configuration while requests wait and run.

use std::sync::Arc;

use super::{Destination, InForce, Level, exchange::Claims, level::Copies};
use crate::{
    Settings, Time,
    classify::Classifier,
    config::{self, Config, Handling},
    flow::FlowHash,
    limits::{adjust::Adjustment, adjust::LevelState as Adjusted, nominal},
    queues::{QueueSet, SeatLimit},
};

/// What those who change limits and configuration need to know.
#[derive(Debug)]
pub(super) struct Control<W> {
    server_limit: u32,
    pub(super) governed: Vec<Governed<W>>,
    /// Idle when the configuration without them came, until it is in force.
    leaving: Vec<Governed<W>>,
    pub(super) adjustment: Option<Adjustment>,
    /// A level that was counted when the seats were shared is gone.
    shares_freed: bool,
    flow_hash: FlowHash,
}

/// A level, as configured and as adjusted.
#[derive(Debug)]
pub(super) struct Governed<W> {
    pub(super) level: Arc<Level<W>>,
    pub(super) config: config::Level,
    pub(super) adjusted: Adjusted,
    /// No longer configured: its requests are served with the shares it had, then it is removed.
    pub(super) quiescing: bool,
}

impl<W> Control<W> {
    pub(super) fn new(flow_hash: FlowHash) -> Self {
        Control {
            server_limit: 0,
            governed: Vec::new(),
            leaving: Vec::new(),
            adjustment: None,
            shares_freed: false,
            flow_hash,
        }
    }

    pub(super) fn levels(&self) -> Vec<Arc<Level<W>>> {
        self.governed.iter().map(|governed| governed.level.clone()).collect()
    }

    /// Applies a configuration to the levels, and returns what requests will use.
    pub(super) fn take(
        &mut self,
        now: Time,
        config: Config,
        server_limit: u32,
        settings: &Settings,
        claims: &Claims,
        woken: &mut Vec<W>,
    ) -> Result<InForce<W>, nominal::NoShares> {
        let configured = |name: &str| config.levels.iter().any(|level| &*level.name == name);
        let busy = |governed: &&Governed<W>| !governed.level.view(|view| view.set.is_idle());
        let gone = self.governed.iter().filter(|governed| !configured(&governed.level.name));
        let draining: Vec<_> = gone.filter(busy).map(|governed| governed.config.clone()).collect();
        nominal::limits(config.levels.iter(), server_limit)?;
        let all = config.levels.iter().chain(&draining);
        let limits = nominal::limits(all.clone(), server_limit)?;
        self.server_limit = server_limit;
        let mut governed = Vec::with_capacity(limits.len());
        for (level, limits) in all.zip(limits) {
            let old = self.governed.iter().position(|old| old.level.name == level.name);
            let old = old.map(|index| self.governed.swap_remove(index));
            let quiescing = governed.len() >= config.levels.len();
            let mut next = govern(now, level, limits, old, settings);
            next.quiesce(quiescing);
            governed.push(next);
        }
        self.leaving.append(&mut self.governed);
        self.governed = governed;
        self.shares_freed = false;
        self.adjust(now, claims, woken);
        Ok(self.in_force(config))
    }

    /// Once levels that drained are gone, their seats are those of the others. Returns whether any
    /// were to be shared.
    pub(super) fn share_anew(&mut self) -> bool {
        if !std::mem::take(&mut self.shares_freed) {
            return false;
        }
        let levels = self.governed.iter().map(|governed| &governed.config);
        let Ok(limits) = nominal::limits(levels, self.server_limit) else { return false };
        for (governed, limits) in self.governed.iter_mut().zip(limits) {
            let old = &mut governed.adjusted.limits;
            *old = limits.with_current(old.current);
        }
        true
    }

    pub(super) fn in_force(&self, config: Config) -> InForce<W> {
        let levels: Vec<_> =
            self.governed[..config.levels.len()].iter().map(|g| g.level.clone()).collect();
        let mut numbers: Vec<_> = (0..levels.len()).map(|n| self.numbers(&config, n)).collect();
        let destinations = config.schemas.iter().map(|schema| {
            let governed = &self.governed[schema.level];
            Copies::new(Destination {
                schema: schema.name.clone(),
                schema_uid: schema.uid.clone(),
                level: governed.level.clone(),
                level_uid: governed.config.uid.clone(),
                rejects: governed.config.handling == Handling::Reject,
                max_seats: governed.adjusted.limits.max_seats.unwrap_or(0),
                number: numbers[schema.level].next().expect("one for each schema of the level"),
            })
        });
        let destinations = destinations.collect();
        let at_work = self.levels();
        let classifier = Classifier::with_hash(&config, self.flow_hash);
        InForce { classifier, destinations, levels, at_work, config }
    }

    /// Under which numbers a level counts for its schemas, in their order.
    fn numbers(&self, config: &Config, level: usize) -> impl Iterator<Item = u32> + use<W> {
        let of_level = config.schemas.iter().filter(|schema| schema.level == level);
        let names: Vec<_> = of_level.map(|schema| schema.name.clone()).collect();
        self.governed[level].level.lock().numbers(&names).into_iter()
    }

    /// Levels that are no longer configured go once they are idle. One that was idle, but got a
    /// request from someone who had looked at the old configuration, drains like the others.
    pub(super) fn retire_idle(&mut self, claims: &Claims) {
        let Control { governed, leaving, shares_freed, .. } = self;
        governed.retain(|governed| {
            let stays = !governed.quiescing || !governed.retire_if_idle(claims);
            *shares_freed |= !stays;
            stays
        });
        for mut leaving in leaving.drain(..) {
            leaving.quiesce(true);
            if !leaving.retire_if_idle(claims) {
                governed.push(leaving);
            }
        }
    }
}

impl<W> Governed<W> {
    fn quiesce(&mut self, quiescing: bool) {
        self.quiescing = quiescing;
        self.level.lock().quiescing = quiescing;
    }

    fn retire_if_idle(&self, claims: &Claims) -> bool {
        let mut state = self.level.lock();
        state.retired = state.set.is_idle();
        if state.retired {
            claims.change(&self.level.published.claim, 0);
        }
        state.retired
    }
}

/// An existing level keeps its state; a new one starts empty.
fn govern<W>(
    now: Time,
    config: &config::Level,
    limits: crate::limits::Limits,
    old: Option<Governed<W>>,
    settings: &Settings,
) -> Governed<W> {
    let exempt = config.handling == Handling::Exempt;
    let (level, adjusted) = match old {
        Some(old) => {
            let current = old.adjusted.limits.current;
            (old.level, Adjusted { exempt, limits: limits.with_current(current), ..old.adjusted })
        }
        None => {
            let seats = SeatLimit { limit: limits.current, nominal: limits.nominal };
            let set = QueueSet::new(now, config.handling, seats, settings);
            let level = Arc::new(Level::new(config.name.clone(), set));
            (level, Adjusted { exempt, limits, ..Adjusted::default() })
        }
    };
    Governed { level, config: config.clone(), adjusted, quiescing: false }
}
