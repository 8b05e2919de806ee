//! How much traffic a month brings, from where, and what it costs to leave a zone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use evenkeel_model::{ServiceKey, Snapshot};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Traffic of a month. Read from a small YAML; every field is optional. What is not given is not
/// known: shares and loads are then forecast for clients in proportion to zone CPU, without prices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TrafficProfile {
    /// For each Service, in gigabytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gb_per_month: Option<f64>,
    /// Gigabytes by client zone, instead of `gb_per_month` in proportion to zone CPU.
    pub by_zone: BTreeMap<Arc<str>, f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
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

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Money {
    pub amount: f64,
    pub currency: Arc<str>,
}

/// The traffic of one Service by client zone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Traffic {
    /// Gigabytes, or if traffic is not known, the zones' shares of it.
    pub by_zone: Vec<f64>,
    pub is_known: bool,
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
        check("gbPerMonth", self.gb_per_month.unwrap_or(0.0))?;
        let price = self.price();
        check("price.outPerGb", price.out_per_gb)?;
        check("price.inPerGb", price.in_per_gb)?;
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

    /// What is given, or else the default.
    pub fn price(&self) -> Price {
        self.price.clone().unwrap_or_default()
    }

    /// The zone that most traffic is from, if a file says so and its CPU does not.
    pub(super) fn mostly_from(
        by_zone: &[f64],
        zones: &[(Arc<str>, f64)],
        threshold: f64,
    ) -> Option<Arc<str>> {
        let total: f64 = by_zone.iter().sum();
        let busiest = (0..by_zone.len()).max_by(|&a, &b| by_zone[a].total_cmp(&by_zone[b]))?;
        let (name, share) = &zones[busiest];
        (by_zone[busiest] > total * share * (1.0 + threshold)).then(|| Arc::clone(name))
    }

    /// The traffic of each zone for one Service; `zones` are the zones' shares of the CPU.
    pub(super) fn of_service(&self, service: &str, zones: &[(Arc<str>, f64)]) -> Traffic {
        let by_cpu = |gb: f64| zones.iter().map(|(_, share)| gb * share).collect();
        let listed = |by_zone: &BTreeMap<Arc<str>, f64>| {
            zones.iter().map(|(name, _)| by_zone.get(name).copied().unwrap_or(0.0)).collect()
        };
        let by_zone = match self.services.get(service) {
            Some(own) if !own.by_zone.is_empty() => Some(listed(&own.by_zone)),
            Some(ServiceTraffic { gb_per_month: Some(gb), .. }) => Some(by_cpu(*gb)),
            _ if !self.by_zone.is_empty() => Some(listed(&self.by_zone)),
            _ => self.gb_per_month.map(by_cpu),
        };
        let is_known = by_zone.is_some();
        Traffic { by_zone: by_zone.unwrap_or_else(|| by_cpu(1.0)), is_known }
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

// === impl Traffic ===

impl Traffic {
    pub(super) fn total(&self) -> f64 {
        self.by_zone.iter().sum()
    }
}

// === impl Price ===

impl Price {
    /// For each gigabyte that crosses zones, both sides together.
    pub fn per_gb(&self) -> f64 {
        self.out_per_gb + self.in_per_gb
    }
}

impl Default for Price {
    fn default() -> Self {
        Price { out_per_gb: 0.01, in_per_gb: 0.01, currency: "USD".into() }
    }
}

// === impl Money ===

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} {}", self.amount, self.currency)
    }
}
