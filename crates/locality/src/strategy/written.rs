//! The policy as written: Kuma's schema, field by field.
//!
//! What is absent is `None`, so that policies can be merged. Types that Kuma checks only when it
//! validates are kept as text.

use std::{fmt, sync::Arc};

use serde::Serialize;

use super::{HashPolicy, LoadBalancer};
use crate::TargetRef;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// Whose traffic; all of the mesh if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<TargetRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<To>>,
}

/// What holds for traffic to one destination.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct To {
    pub target_ref: TargetRef,
    pub default: Conf,
}

/// The part of a policy that is merged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conf {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality_awareness: Option<LocalityAwareness>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_policies: Option<Vec<HashPolicy>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalityAwareness {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_zone: Option<LocalZone>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_zone: Option<CrossZone>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalZone {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity_tags: Option<Vec<AffinityTag>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AffinityTag {
    pub key: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CrossZone {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<Vec<Failover>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover_threshold: Option<FailoverThreshold>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Failover {
    /// The zones of the clients it is for; all if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<FromZone>,
    pub to: ToZone,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FromZone {
    pub zones: Vec<Arc<str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToZone {
    /// As written; [`ToZone::zone_type`] says which it is.
    pub r#type: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<Arc<str>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToZoneType {
    None,
    Only,
    Any,
    AnyExcept,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailoverThreshold {
    pub percentage: IntOrText,
}

/// A number that is written as such if it is whole, and as a text if it has decimals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum IntOrText {
    Int(i32),
    Text(Arc<str>),
}

// === impl ToZone ===

impl ToZone {
    /// `None` if the type is not known; case matters.
    pub fn zone_type(&self) -> Option<ToZoneType> {
        match &*self.r#type {
            "None" => Some(ToZoneType::None),
            "Only" => Some(ToZoneType::Only),
            "Any" => Some(ToZoneType::Any),
            "AnyExcept" => Some(ToZoneType::AnyExcept),
            _ => None,
        }
    }

    /// The zones as written, none if there is no list.
    pub fn zones(&self) -> &[Arc<str>] {
        self.zones.as_deref().unwrap_or_default()
    }
}

// === impl LocalityAwareness ===

impl LocalityAwareness {
    pub fn affinity_tags(&self) -> &[AffinityTag] {
        let tags = self.local_zone.as_ref().and_then(|local| local.affinity_tags.as_deref());
        tags.unwrap_or_default()
    }

    pub fn failover(&self) -> &[Failover] {
        let rules = self.cross_zone.as_ref().and_then(|cross| cross.failover.as_deref());
        rules.unwrap_or_default()
    }

    pub fn percentage(&self) -> Option<&IntOrText> {
        let cross = self.cross_zone.as_ref()?;
        Some(&cross.failover_threshold.as_ref()?.percentage)
    }
}

impl fmt::Display for IntOrText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntOrText::Int(number) => number.fmt(f),
            IntOrText::Text(text) => f.write_str(&crate::field_error::quoted(text)),
        }
    }
}
