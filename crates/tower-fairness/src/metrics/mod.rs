//! Prometheus metrics: those of the proposal, those of Kubernetes, and a few of Evenkeel.
//!
//! Levels count under their own locks; a scrape takes one lock after the other, copies, and encodes
//! when it has none. Labels are names of configured objects and fixed words, never data from a
//! request.

mod families;
mod kubernetes;
mod own;
mod proposal;
mod slow_flows;
mod snapshot;

use std::{
    fmt,
    sync::{Arc, Weak},
};

use prometheus_client::{collector::Collector, encoding::DescriptorEncoder};

use self::{families::Families, snapshot::Snapshot};
use crate::shared::Shared;

/// The metrics of one layer; empty after the layer is dropped.
#[derive(Clone, Debug)]
pub struct Metrics {
    shared: Weak<Shared>,
}

impl Metrics {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Metrics { shared: Arc::downgrade(shared) }
    }
}

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(snapshot) = self.shared.upgrade().map(|shared| Snapshot::of(&shared)) else {
            return Ok(());
        };
        let mut families = Families(encoder);
        proposal::encode(&snapshot, &mut families)?;
        kubernetes::encode(&snapshot, &mut families)?;
        own::encode(&snapshot, &mut families)?;
        slow_flows::encode(&snapshot, &mut families)
    }
}
