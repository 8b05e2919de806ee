//! All priority levels of a server: where requests are admitted.
//!
//! ```text
//!   request ─► admit ─► classify: schema, level, flow ─► the level's QueueSet, under its lock
//!                 │                                             │
//!                 └─► Admission: dispatched, waiting, or rejected ◄───┘ wakers
//! ```
//!
//! There is one lock for each level, held for one call into its [`QueueSet`] and never while that of
//! another is, nor while a request is woken: calls collect wakers in `woken`, and the caller
//! wakes them. Levels share a few atomic numbers, and a lock that is taken where lent seats come
//! back or all limits are set or read: see `exchange.rs`. A request
//! reads the configuration in force without a lock; [`Dispatcher::configure`] swaps it while
//! requests wait and run.
//!
//! The caller must wake all of `woken`, and call [`Dispatcher::leave`] for every [`RequestHandle`];
//! [`Dispatcher::tick`] for a level when its [`Level::deadline`] is due; [`Dispatcher::adjust`]
//! every [`ADJUSTMENT_PERIOD`].

mod adjust;
mod admit;
mod configure;
mod exchange;
mod level;

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

pub use self::{
    adjust::LevelLimits,
    admit::{Admission, Admitted, Cost, RequestHandle},
    level::{Destination, Level, LevelView},
};
use self::{configure::Control, exchange::Claims, level::Copies};
#[cfg(doc)]
use crate::queues::QueueSet;
use crate::{Settings, Time, classify::Classifier, config::Config, limits::nominal::NoShares};

/// How often limits are adjusted to the demand, as in Kubernetes.
pub const ADJUSTMENT_PERIOD: Duration = Duration::from_secs(10);

/// Dispatches the requests to one server. `W` is what the caller needs to wake a waiting request.
#[derive(Debug)]
pub struct Dispatcher<W> {
    settings: Settings,
    in_force: ArcSwap<InForce<W>>,
    claims: Claims,
    /// For those who change limits and configuration; requests never take it.
    control: Mutex<Control<W>>,
}

/// A configuration in force, and its levels.
#[derive(Debug)]
pub struct InForce<W> {
    pub config: Config,
    pub classifier: Classifier,
    /// By schema, in the order of the configuration.
    destinations: Vec<Copies<W>>,
    /// In the order of the configuration.
    pub levels: Vec<Arc<Level<W>>>,
    /// These, and removed ones that are not yet idle.
    at_work: Vec<Arc<Level<W>>>,
}

impl<W> Dispatcher<W> {
    /// `server_limit` is how many seats the whole server has.
    pub fn new(
        now: Time,
        config: Config,
        server_limit: u32,
        settings: Settings,
    ) -> Result<Self, NoShares> {
        let claims = Claims::default();
        let mut control = Control::new(settings.flow_hash);
        let in_force =
            control.take(now, config, server_limit, &settings, &claims, &mut Vec::new())?;
        Ok(Dispatcher {
            settings,
            in_force: ArcSwap::from_pointee(in_force),
            claims,
            control: Mutex::new(control),
        })
    }

    /// Applies another configuration. Requests that wait or run are not affected: levels keep theirs,
    /// and those of removed levels are served as before until none is left. On an error the old one
    /// stays in force.
    pub fn configure(
        &self,
        now: Time,
        config: Config,
        server_limit: u32,
        woken: &mut Vec<W>,
    ) -> Result<(), NoShares> {
        let mut control = self.control.lock();
        let in_force =
            control.take(now, config, server_limit, &self.settings, &self.claims, woken)?;
        self.in_force.store(Arc::new(in_force));
        control.retire_idle(&self.claims);
        self.offer_all(now, &control.levels(), woken);
        Ok(())
    }

    /// The configuration in force now.
    pub fn in_force(&self) -> Arc<InForce<W>> {
        self.in_force.load_full()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Every level in force, and removed ones that still have requests.
    pub fn levels(&self) -> Vec<Arc<Level<W>>> {
        self.control.lock().levels()
    }
}
