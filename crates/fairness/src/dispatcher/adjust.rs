//! Adjusts limits to the demand.

use std::sync::Arc;

use super::{
    Dispatcher,
    configure::{Control, Governed},
    exchange::Claims,
};
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
    /// Lends and borrows by the demand of each level since the last call; removes idle levels that are
    /// no longer configured.
    pub fn adjust(&self, now: Time, woken: &mut Vec<W>) {
        let mut control = self.control.lock();
        control.retire_idle(&self.claims);
        let shared = control.share_anew();
        control.adjust(now, &self.claims, woken);
        if shared {
            let config = self.in_force.load().config.clone();
            self.in_force.store(Arc::new(control.in_force(config)));
        }
        self.offer_all(now, &control.levels(), woken);
    }

    /// The limits in force, by level, and the fair proportion they were found by.
    pub fn limits(&self) -> (Vec<LevelLimits>, f64) {
        let control = self.control.lock();
        // Seats that change hands would be counted twice or not at all.
        let _exchange = self.claims.exchange();
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
        let _exchange = claims.exchange();
        let demands: Vec<_> = self
            .governed
            .iter_mut()
            .map(|governed| {
                let set = &mut governed.level.lock().set;
                // Seats may have changed hands since the last adjustment.
                governed.adjusted.limits.current = set.seats().limit;
                set.take_demand(now)
            })
            .collect();
        let before: Vec<_> =
            self.governed.iter().map(|governed| governed.adjusted.limits.current).collect();
        let levels = self.governed.iter_mut().map(|governed| &mut governed.adjusted);
        self.adjustment = Some(adjust(levels.zip(demands)));
        // Seats are taken before they are given, so that no moment has more of them.
        let rises = |of: &(&Governed<W>, u32)| of.0.adjusted.limits.current > of.1;
        let changes = || self.governed.iter().zip(before.iter().copied());
        for (governed, _) in changes().filter(|of| !rises(of)).chain(changes().filter(rises)) {
            governed.set_limit(now, claims, woken);
        }
    }
}

impl<W> Governed<W> {
    fn set_limit(&self, now: Time, claims: &Claims, woken: &mut Vec<W>) {
        let Limits { current, nominal, .. } = self.adjusted.limits;
        let state = &mut *self.level.lock();
        let seats = SeatLimit { limit: current, nominal };
        state.set.reconfigure(now, self.config.handling, seats, woken);
        self.level.publish(state, claims);
    }
}
