//! Limits follow the demand.

use std::sync::Arc;

use super::{Dispatcher, configure::Control, exchange::Claims};
use crate::{
    Time,
    limits::{
        Limits,
        adjust::{Adjustment, Need, adjust},
    },
    queues::SeatLimit,
};

/// The limits of a level, and what they were found from.
#[derive(Clone, Debug)]
pub struct LevelLimits {
    pub level: Arc<str>,
    pub limits: Limits,
    pub need: Need,
    pub quiescing: bool,
}

impl<W> Dispatcher<W> {
    /// Lends and borrows by what each level wanted since the last call; levels that are no longer
    /// configured go if they are idle.
    pub fn adjust(&self, now: Time, woken: &mut Vec<W>) {
        let mut control = self.control.lock();
        control.retire_idle(&self.claims);
        let shared = control.share_anew();
        control.adjust(now, &self.claims, woken);
        if shared {
            let config = self.in_force.load().config.clone();
            self.in_force.store(Arc::new(control.in_force(config)));
        }
    }

    /// The limits in force, by level, and the fair proportion they were found by.
    pub fn limits(&self) -> (Vec<LevelLimits>, f64) {
        let control = self.control.lock();
        let levels = control.governed.iter().map(|governed| {
            let current = governed.level.view(|view| view.set.seats().limit);
            LevelLimits {
                level: governed.level.name.clone(),
                limits: governed.adjusted.limits.with_current(current),
                need: governed.adjusted.need,
                quiescing: governed.quiescing,
            }
        });
        let fair = control.adjustment.as_ref().map_or(0.0, Adjustment::fair_fraction);
        (levels.collect(), fair)
    }
}

impl<W> Control<W> {
    pub(super) fn adjust(&mut self, now: Time, claims: &Claims, woken: &mut Vec<W>) {
        let demands: Vec<_> = self
            .governed
            .iter_mut()
            .map(|governed| {
                let set = &mut governed.level.state.lock().set;
                // Seats may have changed hands since the last adjustment.
                governed.adjusted.limits.current = set.seats().limit;
                set.take_demand(now)
            })
            .collect();
        let levels = self.governed.iter_mut().map(|governed| &mut governed.adjusted);
        self.adjustment = Some(adjust(levels.zip(demands)));
        for governed in &self.governed {
            let Limits { current, nominal, .. } = governed.adjusted.limits;
            let state = &mut *governed.level.state.lock();
            let seats = SeatLimit { limit: current, nominal };
            state.set.reconfigure(now, governed.config.handling, seats, woken);
            governed.level.publish(state, claims);
        }
    }
}
