//! How much traffic a month brings, from where, and what it costs to leave a zone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use evenkeel_model::{ServiceKey, Snapshot};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Traffic of a month. Read from a small YAML; every field has a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TrafficProfile {
    /// For each Service, in gigabytes.
    pub gb_per_month: f64,
    /// Gigabytes by client zone, instead of `gb_per_month` in proportion to zone CPU.
    pub by_zone: BTreeMap<Arc<str>, f64>,
    pub price: Price,
    /// What differs for single Services, by `namespace/name`.
    pub services: BTreeMap<Arc<str>, ServiceTraffic>,
}

/// Money for a gigabyte that crosses zones. Clouds charge both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Price {
    pub out_per_gb: f64,
    pub in_per_gb: f64,
    pub currency: Arc<str>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ServiceTraffic {
    pub gb_per_month: Option<f64>,
    pub by_zone: BTreeMap<Arc<str>, f64>,
}

#[derive(Clone, Debug, PartialEq, Error)]
#[error("{field} is {value}; it must be a number from 0 up")]
pub struct ProfileError {
    pub field: String,
    pub value: f64,
}

// === impl TrafficProfile ===

impl TrafficProfile {
    /// Refuses negative and endless numbers.
    pub fn validate(&self) -> Result<(), ProfileError> {
        check("gbPerMonth", self.gb_per_month)?;
        check("price.outPerGb", self.price.out_per_gb)?;
        check("price.inPerGb", self.price.in_per_gb)?;
        check_zones("byZone", &self.by_zone)?;
        for (name, service) in &self.services {
            check(format_args!("services.{name}.gbPerMonth"), service.gb_per_month.unwrap_or(0.0))?;
            check_zones(format_args!("services.{name}.byZone"), &service.by_zone)?;
        }
        Ok(())
    }

    /// The zones named here that no node is in.
    pub fn unknown_zones(&self, snapshot: &Snapshot) -> BTreeSet<&str> {
        let names = &snapshot.topology.zones;
        let known: BTreeSet<&str> =
            snapshot.nodes.iter().map(|n| n.zone.map_or("", |zone| &**names.name(zone))).collect();
        let services = self.services.values().flat_map(|service| service.by_zone.keys());
        let named = self.by_zone.keys().chain(services).map(AsRef::as_ref);
        named.filter(|zone| !known.contains(zone)).collect()
    }

    /// The Services named here that are not in the snapshot, as `namespace/name`.
    pub fn unknown_services(&self, snapshot: &Snapshot) -> Vec<&str> {
        let is_there = |given: &str| {
            let key = given.split_once('/').map(|(ns, name)| ServiceKey::new(ns, name));
            key.is_some_and(|key| snapshot.service(&key).is_some())
        };
        self.services.keys().map(AsRef::as_ref).filter(|given| !is_there(given)).collect()
    }

    /// The zone that traffic of a Service mostly comes from, if a file says so and its CPU does not.
    pub(super) fn mostly_from(
        gb: &[f64],
        zones: &[(Arc<str>, f64)],
        threshold: f64,
    ) -> Option<Arc<str>> {
        let total: f64 = gb.iter().sum();
        let busiest = (0..gb.len()).max_by(|&a, &b| gb[a].total_cmp(&gb[b]))?;
        let (name, part) = &zones[busiest];
        (gb[busiest] > total * part * (1.0 + threshold)).then(|| Arc::clone(name))
    }

    /// The traffic of each zone for one Service; `ratios` are the zones' parts of the CPU.
    pub(super) fn of_service(&self, service: &str, zones: &[(Arc<str>, f64)]) -> Vec<f64> {
        let own = self.services.get(service);
        let by_zone = match own {
            Some(own) if !own.by_zone.is_empty() => &own.by_zone,
            Some(ServiceTraffic { gb_per_month: Some(gb), .. }) => {
                return zones.iter().map(|(_, ratio)| gb * ratio).collect();
            }
            _ => &self.by_zone,
        };
        if by_zone.is_empty() {
            return zones.iter().map(|(_, ratio)| self.gb_per_month * ratio).collect();
        }
        zones.iter().map(|(name, _)| by_zone.get(name).copied().unwrap_or(0.0)).collect()
    }
}

fn check(field: impl fmt::Display, value: f64) -> Result<(), ProfileError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(ProfileError { field: field.to_string(), value })
}

fn check_zones(
    field: impl fmt::Display,
    zones: &BTreeMap<Arc<str>, f64>,
) -> Result<(), ProfileError> {
    zones.iter().try_for_each(|(zone, gb)| check(format_args!("{field}.{zone}"), *gb))
}

impl Default for TrafficProfile {
    fn default() -> Self {
        TrafficProfile {
            gb_per_month: 1000.0,
            by_zone: BTreeMap::new(),
            price: Price::default(),
            services: BTreeMap::new(),
        }
    }
}

impl Default for Price {
    fn default() -> Self {
        Price { out_per_gb: 0.01, in_per_gb: 0.01, currency: "USD".into() }
    }
}
