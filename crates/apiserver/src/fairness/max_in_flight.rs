//! The limits from before priority and fairness: so many mutating requests at once, so many others,
//! and whoever comes next is rejected. For `--enable-priority-and-fairness=false`.
//!
//! Source: `k8s.io/apiserver/pkg/server/filters/maxinflight.go`: watches and members of
//! `system:masters` are not counted.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{Asked, TooManyRequests};
use crate::{identity::MASTERS, request::info::is_long_running, settings::FairnessSettings};

#[derive(Debug)]
pub(super) struct MaxInFlight {
    read_only: Limit,
    mutating: Limit,
}

#[derive(Clone, Debug)]
struct Limit {
    most: u32,
    running: Arc<AtomicU32>,
}

/// A running request, until it is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<AtomicU32>);

impl MaxInFlight {
    pub(super) fn new(settings: &FairnessSettings) -> MaxInFlight {
        let limit = |most| Limit { most, running: Arc::default() };
        MaxInFlight {
            read_only: limit(settings.max_requests_inflight),
            mutating: limit(settings.max_mutating_requests_inflight),
        }
    }

    /// `None`: it is not counted.
    pub(super) fn enter(&self, asked: &Asked<'_>) -> Result<Option<Counted>, TooManyRequests> {
        let exempt = is_long_running(asked.attributes) || asked.user.is_in(MASTERS);
        let limit = match asked.attributes.verb {
            "get" | "list" | "watch" => &self.read_only,
            _ => &self.mutating,
        };
        // 0: no limit.
        if exempt || limit.most == 0 {
            return Ok(None);
        }
        let free = |running: u32| (running < limit.most).then(|| running + 1);
        match limit.running.fetch_update(Ordering::AcqRel, Ordering::Relaxed, free) {
            Ok(_) => Ok(Some(Counted(limit.running.clone()))),
            Err(_) => Err(TooManyRequests { retry_after: 1, rejected: None }),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
