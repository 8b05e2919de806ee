//! What proxies counted, beside what is predicted.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::ServiceKey;

use super::words::{Number, count};

/// Connections of clients in one zone to endpoints in another; the empty name is no zone.
pub type Connections = BTreeMap<(Arc<str>, Arc<str>), u64>;

/// Connections that proxies counted in a time that is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    pub seconds: u64,
    pub services: BTreeMap<ServiceKey, Connections>,
}

// === impl Measured ===

impl Measured {
    /// The part of what the clients of `from` sent that went to `to`.
    pub(super) fn share(&self, service: &ServiceKey, from: &str, to: &str) -> Number {
        let of = self.services.get(service).into_iter().flatten();
        let (mut sent, mut there) = (0, 0);
        for ((client, endpoint), n) in of {
            if **client == *from {
                sent = u64::saturating_add(sent, *n);
                there = u64::saturating_add(there, if **endpoint == *to { *n } else { 0 });
            }
        }
        Number::measured(there, sent)
    }

    /// Of a Service, the part that stayed in its zone. Connections from or to no known zone don't count.
    pub(super) fn in_zone(&self, service: &ServiceKey) -> Number {
        near(self.services.get(service).into_iter())
    }

    /// Of all Services, each connection alike.
    pub(super) fn in_zone_of_all(&self) -> Number {
        near(self.services.values())
    }

    /// What the figures of a Service rest on.
    pub(super) fn basis(&self, service: &ServiceKey) -> String {
        self.counted(self.services.get(service).into_iter())
    }

    pub(super) fn basis_of_all(&self) -> String {
        self.counted(self.services.values())
    }

    fn counted<'c>(&self, services: impl Iterator<Item = &'c Connections>) -> String {
        match services.flat_map(BTreeMap::values).fold(0, |sum, n| u64::saturating_add(sum, *n)) {
            0 => "Proxies counted no connections.".to_owned(),
            n => {
                let (n, seconds) = (usize::try_from(n).unwrap_or(usize::MAX), self.seconds);
                format!("Measured: {} in {seconds} s.", count(n, "connection"))
            }
        }
    }
}

fn near<'c>(services: impl Iterator<Item = &'c Connections>) -> Number {
    let (mut all, mut near) = (0, 0);
    for ((from, to), n) in services.flatten() {
        if !from.is_empty() && !to.is_empty() {
            all = u64::saturating_add(all, *n);
            near = u64::saturating_add(near, if from == to { *n } else { 0 });
        }
    }
    Number::measured(near, all)
}
