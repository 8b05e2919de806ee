//! Connections by Service and zone, read from the kernel when metrics are asked for.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_nft::{Config, Counted, Family, Ruleset};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::{
    NetworkNamespace, error::Error, kernel::inside, metrics::Connections,
    netlink::nftables::Nftables,
};

/// The most series that are exported. Those after them, by name, are added up without a name.
const MOST_SERIES: usize = 20_000;

/// The counters of a proxy.
#[derive(Debug)]
pub(crate) struct ZoneCounters {
    /// A socket of its own: a scrape must not wait for commits, nor a commit for a scrape.
    nftables: Mutex<Nftables>,
    table: String,
    families: Vec<Family>,
    labels: Mutex<Labels>,
}

#[derive(Debug, Default)]
struct Labels {
    from_zone: String,
    counted: FxHashMap<Arc<str>, Counted>,
}

// === impl ZoneCounters ===

impl ZoneCounters {
    /// `None`: connections are not counted.
    pub(crate) fn open(
        namespace: Option<&NetworkNamespace>,
        config: &Config,
        families: &[Family],
    ) -> Result<Option<ZoneCounters>, Error> {
        if !config.zone_counters {
            return Ok(None);
        }
        let nftables = inside(namespace, Nftables::open)?.map_err(Error::Netlink)?;
        Ok(Some(ZoneCounters {
            nftables: Mutex::new(nftables),
            table: config.table.clone(),
            families: families.to_vec(),
            labels: Mutex::default(),
        }))
    }

    /// The ruleset counts other things now.
    pub(crate) fn follow(&self, ruleset: &Ruleset, zone: Option<&str>) {
        let labels =
            Labels { from_zone: zone.unwrap_or_default().to_owned(), counted: ruleset.counted() };
        *self.labels.lock() = labels;
    }

    /// Connections since the table was created.
    pub(crate) fn read(&self) -> Vec<(Connections, u64)> {
        let mut packets: FxHashMap<String, u64> = FxHashMap::default();
        let mut nftables = self.nftables.lock();
        for family in &self.families {
            match nftables.counters(*family, &self.table) {
                Ok(counters) => counters.into_iter().for_each(|counter| {
                    *packets.entry(counter.name).or_default() += counter.packets;
                }),
                Err(error) => tracing::warn!(%error, "reading counters failed"),
            }
        }
        drop(nftables);
        add_up(&self.labels.lock(), &packets)
    }
}

fn add_up(labels: &Labels, packets: &FxHashMap<String, u64>) -> Vec<(Connections, u64)> {
    let mut sums: BTreeMap<&Counted, u64> = BTreeMap::new();
    for (name, counted) in &labels.counted {
        *sums.entry(counted).or_default() += packets.get(&**name).copied().unwrap_or(0);
    }
    let series = |(service, zone): (String, &str), n| {
        let (from_zone, to_zone) = (labels.from_zone.clone(), zone.to_owned());
        (Connections { service, from_zone, to_zone }, n)
    };
    let mut rest: BTreeMap<&str, u64> = BTreeMap::new();
    let mut all = Vec::with_capacity(sums.len().min(MOST_SERIES));
    for (counted, n) in sums {
        if all.len() < MOST_SERIES {
            all.push(series((counted.service.to_string(), &counted.zone), n));
        } else {
            *rest.entry(&counted.zone).or_default() += n;
        }
    }
    all.extend(rest.into_iter().map(|(zone, n)| series((String::new(), zone), n)));
    all
}

#[cfg(test)]
mod tests {
    use evenkeel_model::ServiceKey;

    use super::*;

    #[test]
    fn ports_of_a_service_are_added_up_and_series_are_bounded() {
        let counted = |service: usize| Counted {
            service: ServiceKey::new("shop", format!("web-{service:05}")),
            zone: "a".into(),
        };
        let name = |nth: usize| -> Arc<str> { format!("zone-{nth}").into() };
        let n = MOST_SERIES + 5;
        let mut labels = Labels { from_zone: "b".into(), ..Labels::default() };
        for nth in 0..n {
            labels.counted.insert(name(nth), counted(nth));
        }
        // Another port of the first Service.
        labels.counted.insert(name(n), counted(0));
        let packets = (0..=n).map(|nth| (name(nth).to_string(), 2)).collect();
        let series = add_up(&labels, &packets);
        assert_eq!(series.len(), MOST_SERIES + 1);
        assert_eq!((series[0].0.service.as_str(), series[0].1), ("shop/web-00000", 4));
        let (rest, sum) = &series[MOST_SERIES];
        assert_eq!((rest.service.as_str(), rest.to_zone.as_str(), *sum), ("", "a", 10));
    }
}
