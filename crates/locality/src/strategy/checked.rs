//! The checked form of a policy's locality awareness: what [`crate::assign`] follows.

use std::{collections::BTreeSet, num::NonZeroU32, sync::Arc};

use super::{
    AffinityTag, Failover, LocalityAwareness, ToZone, ToZoneType, overprovisioning_factor, validate,
};
use crate::{Compat, Errors, FieldError, FieldPath};

/// How a client ranks the endpoints of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// No policy: the own zone, then all others alike.
    #[default]
    OwnZoneFirst,
    /// Locality awareness is disabled: all endpoints alike.
    AllAlike,
    /// No policy, and a Service of Kubernetes: its own topology decides, for clients of one zone alike
    /// unless `by_node`.
    Topology {
        by_node: bool,
    },
    Ranked(Ranking),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// In the order in which they are tried.
    pub affinity: Vec<Affinity>,
    /// In the order in which they are tried.
    pub rules: Vec<Rule>,
    pub overprovisioning_factor: NonZeroU32,
    /// The load balancer hashes: where weights count, Envoy answers 503 for a priority without any.
    pub hashes: bool,
}

/// Endpoints of the own zone that have the client's value of this tag share this weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affinity {
    pub key: Arc<str>,
    pub weight: NonZeroU32,
}

/// A rule for endpoints of other zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its place in the list as written, from 1; the priority of what it accepts.
    pub position: u32,
    /// The zones of clients it is for; all if it is `None`.
    pub from: Option<ZoneSet>,
    pub reach: Reach,
}

/// The zones that a rule accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    Any,
    Only(ZoneSet),
    AnyExcept(ZoneSet),
    /// None, and no later rule is looked at.
    Stop,
}

pub type ZoneSet = BTreeSet<Arc<str>>;

/// Envoy refuses priorities above 128.
pub(super) const MOST_RULES: usize = 128;
/// 9 · 10^9 does not fit 32 bits.
pub(super) const MOST_TAGS: usize = 9;
/// More tell endpoints apart by nothing, and each costs every plan.
pub(super) const MOST_WEIGHTED_TAGS: usize = 128;

// === impl Strategy ===

impl Strategy {
    /// The strategy of the locality awareness in force; `None` if no policy has one.
    ///
    /// With [`Compat::Record`] `disabled` beats the sections beside it, an empty object is an empty
    /// `localZone`, the heaviest matching tag wins, and `None` ends the list. With
    /// [`Compat::Kuma`] sections beat `disabled`, an empty object is no policy, the first matching
    /// tag wins, and `None` does nothing.
    pub fn new(
        awareness: Option<&LocalityAwareness>,
        compat: Compat,
    ) -> Result<Self, Vec<FieldError>> {
        let Some(awareness) = awareness else { return Ok(Strategy::OwnZoneFirst) };
        let disabled = awareness.disabled.unwrap_or_default();
        let has_section = awareness.local_zone.is_some() || awareness.cross_zone.is_some();
        match compat {
            _ if disabled && (compat == Compat::Record || !has_section) => Ok(Strategy::AllAlike),
            Compat::Kuma if !has_section => Ok(Strategy::OwnZoneFirst),
            _ => Ranking::new(awareness, compat).map(Strategy::Ranked),
        }
    }

    /// The tags that matter, in the order in which they are tried.
    pub fn affinity(&self) -> &[Affinity] {
        match self {
            Strategy::OwnZoneFirst | Strategy::AllAlike | Strategy::Topology { .. } => &[],
            Strategy::Ranked(ranking) => &ranking.affinity,
        }
    }

    /// For a load balancer that hashes.
    #[must_use]
    pub fn hashing(mut self) -> Self {
        if let Strategy::Ranked(ranking) = &mut self {
            ranking.hashes = true;
        }
        self
    }

    /// Whether groups of other zones must have weights too.
    pub(crate) fn weighs_all(&self) -> bool {
        matches!(self, Strategy::Ranked(ranking) if ranking.hashes) && self.locality_weighted()
    }

    /// Whether Envoy must be told that weights of groups count.
    pub fn locality_weighted(&self) -> bool {
        matches!(self, Strategy::Topology { .. }) || !self.affinity().is_empty()
    }
}

// === impl Ranking ===

impl Ranking {
    fn new(awareness: &LocalityAwareness, compat: Compat) -> Result<Self, Vec<FieldError>> {
        let mut errors = Errors::default();
        let path = FieldPath::root("localityAwareness");
        validate::locality_awareness_section(awareness, &path, compat, &mut errors);
        let factor = overprovisioning_factor(awareness.percentage(), compat);
        let factor = factor.unwrap_or(NonZeroU32::MIN);
        let mut affinity = weights(awareness.affinity_tags()).unwrap_or_default();
        if compat == Compat::Record {
            // A stable sort: equal weights keep the order of the list.
            affinity.sort_by_key(|tag| std::cmp::Reverse(tag.weight));
        }
        let rules = (1..).zip(awareness.failover()).filter_map(|(n, rule)| Rule::new(n, rule));
        let rules = rules.filter(|rule| compat == Compat::Record || rule.reach != Reach::Stop);
        errors.or(Ranking {
            affinity,
            rules: rules.collect(),
            overprovisioning_factor: factor,
            hashes: false,
        })
    }
}

/// The tags with their weights, in the order of the list. `None` if the weights do not fit 32 bits
/// together. Endpoints with none of the tags have weight 1 and must fit beside them, so of a sum
/// at the limit the heaviest tag gives one up.
pub(super) fn weights(tags: &[AffinityTag]) -> Option<Vec<Affinity>> {
    let n = tags.len();
    let weight = |(i, tag): (usize, &AffinityTag)| {
        let weight = tag.weight.or_else(|| default_weight(i, n));
        Some(Affinity { key: tag.key.clone(), weight: NonZeroU32::new(weight?)? })
    };
    // Weights of 0 are errors of their own.
    let mut affinity: Vec<Affinity> = tags.iter().enumerate().filter_map(weight).collect();
    let sum: u64 = affinity.iter().map(|tag| u64::from(tag.weight.get())).sum();
    if sum == u64::from(u32::MAX) {
        let heaviest = affinity.iter_mut().max_by_key(|tag| tag.weight)?;
        heaviest.weight = NonZeroU32::new(heaviest.weight.get() - 1).unwrap_or(heaviest.weight);
    }
    (sum <= u64::from(u32::MAX)).then_some(affinity)
}

/// 9 · 10^(n-1-i): together with the 1 of the rest a power of ten, of which the first tag has 90 %.
pub(crate) fn default_weight(i: usize, n: usize) -> Option<u32> {
    let exponent = u32::try_from(n.checked_sub(i + 1)?).ok()?;
    10_u32.checked_pow(exponent)?.checked_mul(9)
}

// === impl Rule ===

impl Rule {
    pub(crate) fn new(position: u32, written: &Failover) -> Option<Self> {
        let Failover { from, to } = written;
        let from = from.as_ref().map(|from| from.zones.iter().cloned().collect());
        Some(Rule { position, from, reach: Reach::new(to)? })
    }

    pub fn is_for(&self, client_zone: &str) -> bool {
        self.from.as_ref().is_none_or(|zones| zones.contains(client_zone))
    }
}

// === impl Reach ===

impl Reach {
    fn new(to: &ToZone) -> Option<Self> {
        let zones = || to.zones().iter().cloned().collect();
        Some(match to.zone_type()? {
            ToZoneType::None => Reach::Stop,
            ToZoneType::Any => Reach::Any,
            ToZoneType::Only => Reach::Only(zones()),
            ToZoneType::AnyExcept => Reach::AnyExcept(zones()),
        })
    }

    pub fn accepts(&self, zone: &str) -> bool {
        match self {
            Reach::Any => true,
            Reach::Only(zones) => zones.contains(zone),
            Reach::AnyExcept(zones) => !zones.contains(zone),
            Reach::Stop => false,
        }
    }
}
