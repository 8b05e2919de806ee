//! What a check finds, and what to do about it.

use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

/// Rules are counted from 1, as priorities are. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Finding {
    /// No rule accepts any zone: without healthy endpoints in its zone a client gets errors.
    NeverFailsOver,
    /// There are rules, but none for clients in these zones. `n` are all of them.
    ZonesNeverFailOver { zones: Vec<Arc<str>>, n: usize },
    /// A threshold without rules only changes how Envoy counts.
    ThresholdWithoutRules { percentage: Arc<str> },
    /// Kuma's arithmetic makes another threshold of it.
    ThresholdTruncated { percentage: Arc<str>, factor: u32, meant: u32 },
    /// An earlier rule accepts all its zones, for all its clients.
    RuleNeverUsed { rule: u32, because_of: u32 },
    /// A rule behind one with None, which ends the list for the same zones, is never used.
    RuleAfterNone { rule: u32, none: u32 },
    /// To Kuma a rule with None does not end the list.
    NoneDoesNothing { rule: u32 },
    /// A rule names a zone in which there is nothing.
    UnknownZone { rule: u32, list: ListOfZones, zone: Arc<str> },
    /// A rule names a zone twice; perhaps another one was meant.
    ZoneTwice { rule: u32, list: ListOfZones, zone: Arc<str> },
    /// A tag is listed twice; its second place has no effect.
    TagTwice { key: Arc<str> },
    /// A group gets less than a thousandth of the traffic that stays in the zone; without a key, the group of
    /// endpoints that share no tag.
    AlmostNoTraffic { key: Option<Arc<str>>, weight: u64, total: u64 },
    /// `disabled` beside rules: to Kuma the rules count, to the decision record they don't.
    DisabledWithRules { rules_count: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Worth knowing; it may be meant.
    Info,
    /// It does not do what it says.
    Warning,
}

/// Which list of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ListOfZones {
    From,
    To,
}

impl Reason for Finding {}

impl Finding {
    pub fn severity(&self) -> Severity {
        match self {
            Self::NeverFailsOver | Self::AlmostNoTraffic { .. } => Severity::Info,
            _ => Severity::Warning,
        }
    }

    /// What to do, in the imperative.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NeverFailsOver => "to use other zones, add crossZone.failover with to.type Any",
            Self::ZonesNeverFailOver { .. } => "add a rule for these zones, or one without from",
            Self::ThresholdWithoutRules { .. } => "add failover rules, or remove failoverThreshold",
            Self::ThresholdTruncated { .. } => {
                "use compat: record, or a percentage such as 50 or 25"
            }
            Self::RuleNeverUsed { .. } => "remove the rule, or put it before the other",
            Self::RuleAfterNone { .. } => "remove the rule, or put it before the None",
            Self::NoneDoesNothing { .. } => "remove the rule; name the zones that may be used",
            Self::UnknownZone { .. } => "correct the name of the zone",
            Self::ZoneTwice { .. } => "remove one; perhaps another zone was meant",
            Self::TagTwice { .. } => "remove the second",
            Self::AlmostNoTraffic { .. } => "set weights that are nearer to each other",
            Self::DisabledWithRules { .. } => "remove disabled, or the rules",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverFailsOver => {
                write!(f, "traffic never leaves a zone, even if none of its endpoints is healthy")
            }
            Self::ZonesNeverFailOver { zones, n } => {
                write!(f, "clients in {} never use another zone", zones.join(", "))?;
                let more = n.saturating_sub(zones.len());
                if more > 0 { write!(f, ", nor those in {more} more zones") } else { Ok(()) }
            }
            Self::ThresholdWithoutRules { percentage } => {
                write!(f, "failoverThreshold {percentage} has no failover rules to act on")
            }
            Self::ThresholdTruncated { percentage, factor, meant } => {
                let acts_as = 10_000_u32.div_ceil(*factor);
                write!(f, "failoverThreshold {percentage} acts as {acts_as}: ")?;
                write!(f, "overprovisioning factor {factor} instead of {meant}")
            }
            Self::RuleNeverUsed { rule, because_of } => {
                write!(f, "rule {rule} is never used: rule {because_of} accepts all its zones")
            }
            Self::RuleAfterNone { rule, none } => {
                write!(f, "rule {rule} is never used: rule {none} (None) ends the list")
            }
            Self::NoneDoesNothing { rule } => {
                write!(f, "rule {rule} (None) does nothing: later rules still apply")
            }
            Self::UnknownZone { rule, list, zone } => {
                write!(f, "rule {rule}, {list}: zone {zone} does not exist")
            }
            Self::ZoneTwice { rule, list, zone } => {
                write!(f, "rule {rule}, {list}: zone {zone} is named more than once")
            }
            Self::TagTwice { key } => write!(f, "affinity tag {key} is listed more than once"),
            Self::AlmostNoTraffic { key, weight, total } => match key {
                Some(key) => write!(f, "endpoints that share {key} get {weight} of {total} parts"),
                None => write!(f, "endpoints that share no tag get {weight} of {total} parts"),
            },
            Self::DisabledWithRules { rules_count: true } => {
                write!(f, "locality awareness is disabled, but its failover rules still apply")
            }
            Self::DisabledWithRules { rules_count: false } => {
                write!(f, "locality awareness is disabled, so its failover rules do nothing")
            }
        }
    }
}

impl fmt::Display for ListOfZones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ListOfZones::From => "from.zones",
            ListOfZones::To => "to.zones",
        })
    }
}
