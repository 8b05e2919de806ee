//! Who asks: a client, and what of it an assignment depends on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::label;

use crate::{Strategy, strategy::Affinity};

/// A proxy whose traffic is to be kept near.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// `None` if nothing says where it is.
    pub zone: Option<Arc<str>>,
    /// The tags of all its inbounds together.
    pub tags: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Of the object that describes it; used for keys of which it has no tag.
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
}

/// What of a client the assignments of one strategy depend on. Equal places get equal assignments.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// `None` if the zone says nothing, or is not known.
    pub(super) zone: Option<Arc<str>>,
    /// For each affinity tag of the strategy the client's value, if it has one.
    pub(super) values: Vec<Option<Arc<str>>>,
}

// === impl Client ===

impl Client {
    /// Its value of a tag. Of several the smallest counts, as in Kuma.
    pub fn value(&self, key: &str) -> Option<&Arc<str>> {
        let tag = self.tags.get(key).and_then(BTreeSet::first);
        tag.or_else(|| self.labels.get(key))
    }

    /// Its zone in the sense of Kubernetes, which is its zone where nothing else says so.
    pub fn topology_zone(&self) -> Option<&Arc<str>> {
        self.value(label::ZONE).or(self.zone.as_ref())
    }
}

// === impl Place ===

impl Place {
    pub fn of(client: &Client, strategy: &Strategy) -> Self {
        if let Strategy::Topology { by_node } = strategy {
            let node = by_node.then(|| client.value(label::HOSTNAME).cloned());
            let zone = client.topology_zone().cloned();
            return Place { zone, values: node.into_iter().collect() };
        }
        let zone = match strategy {
            Strategy::AllAlike | Strategy::Topology { .. } => None,
            Strategy::OwnZoneFirst | Strategy::Ranked(_) => client.zone.clone(),
        };
        let value = |tag: &Affinity| client.value(&tag.key).cloned();
        Place { zone, values: strategy.affinity().iter().map(value).collect() }
    }

    pub fn zone(&self) -> Option<&Arc<str>> {
        self.zone.as_ref()
    }

    /// Where the own topology of a Service decides by node: that of the client.
    pub(crate) fn node(&self) -> Option<&Arc<str>> {
        self.values.first()?.as_ref()
    }

    /// The affinity tags of which the client has a value, with it, in the order they are tried.
    pub fn affinity<'a>(
        &'a self,
        strategy: &'a Strategy,
    ) -> impl Iterator<Item = (&'a Affinity, &'a Arc<str>)> {
        let values = strategy.affinity().iter().zip(&self.values);
        values.filter_map(|(tag, value)| Some((tag, value.as_ref()?)))
    }

    /// Compared with the zones of endpoints; those without one count as a zone without a name.
    pub(super) fn zone_name(&self) -> &str {
        self.zone.as_deref().unwrap_or_default()
    }
}
