//! The chains of a table, by name.
//!
//! A few are always there. The others pick one of N endpoints and are shared by all Services that
//! need the same pick; they are created when the first Service needs them.

use std::fmt;

use crate::{
    By, Lane,
    config::{PRIORITY_DESTINATION, PRIORITY_SOURCE},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChainId {
    Prerouting,
    Output,
    Input,
    Postrouting,
    Services,
    NodePorts,
    /// Frontends with `externalTrafficPolicy: Local`.
    OutsideLocal(By),
    /// Counts connections by the zone of their endpoint.
    Count,
    Reject,
    /// An empty chain whose name says what rules the table has.
    Version(Version),
    Pick(Pick),
}

/// Which rules a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// A hash of its rules and sets.
    pub rules: u32,
    /// [`Config::seed`](crate::Config::seed).
    pub seed: u32,
}

/// A chain that picks one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pick {
    pub by: By,
    pub lane: Lane,
    /// Session affinity, with its timeout in seconds.
    pub sticky: Option<u32>,
    pub from: From,
}

/// What a chain picks from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum From {
    /// This many endpoints, all alike.
    All(u32),
    /// This many slots, which lead to zones.
    Slots(u32),
    /// Endpoints of one zone, all alike.
    Zone { rank: u16, endpoints: u32 },
}

/// A hook of the kernel that a chain is called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    pub name: &'static str,
    /// `NF_INET_*`.
    pub number: u32,
    pub priority: i32,
}

// === impl ChainId ===

impl ChainId {
    /// The chains that are always there with rules, each after those that it names.
    pub fn fixed(zone_counters: bool) -> impl Iterator<Item = ChainId> {
        let all = [
            ChainId::Reject,
            ChainId::Count,
            ChainId::OutsideLocal(By::Address),
            ChainId::OutsideLocal(By::NodePort),
            ChainId::NodePorts,
            ChainId::Services,
            ChainId::Prerouting,
            ChainId::Output,
            ChainId::Input,
            ChainId::Postrouting,
        ];
        let counts = |chain: &ChainId| matches!(chain, ChainId::Count | ChainId::Input);
        all.into_iter().filter(move |chain| zone_counters || !counts(chain))
    }

    pub fn hook(self) -> Option<Hook> {
        let (name, number, priority) = match self {
            ChainId::Prerouting => ("prerouting", 0, PRIORITY_DESTINATION),
            ChainId::Input => ("input", 1, PRIORITY_SOURCE),
            ChainId::Output => ("output", 3, PRIORITY_DESTINATION),
            ChainId::Postrouting => ("postrouting", 4, PRIORITY_SOURCE),
            _ => return None,
        };
        Some(Hook { name, number, priority })
    }

    /// `None`: no chain of these rulesets.
    pub fn from_name(name: &str) -> Option<ChainId> {
        if let Some(version) = name.strip_prefix("version-") {
            return Version::from_text(version).map(ChainId::Version);
        }
        let pick = || name.parse_pick().map(ChainId::Pick);
        ChainId::fixed(true).find(|chain| chain.to_string() == name).or_else(pick)
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChainId::Prerouting => "prerouting",
            ChainId::Output => "output",
            ChainId::Input => "input",
            ChainId::Postrouting => "postrouting",
            ChainId::Services => "services",
            ChainId::NodePorts => "nodeports",
            ChainId::OutsideLocal(By::Address) => "local-services",
            ChainId::OutsideLocal(By::NodePort) => "local-nodeports",
            ChainId::Count => "count",
            ChainId::Reject => "reject-connection",
            ChainId::Version(Version { rules, seed }) => {
                return write!(f, "version-{rules:08x}-{seed:08x}");
            }
            ChainId::Pick(pick) => return pick.fmt(f),
        })
    }
}

// === impl Version ===

impl Version {
    fn from_text(text: &str) -> Option<Version> {
        let number = |text: &str| u32::from_str_radix(text, 16).ok().filter(|_| text.len() == 8);
        let (rules, seed) = text.split_once('-')?;
        Some(Version { rules: number(rules)?, seed: number(seed)? })
    }
}

// === impl Pick ===

impl fmt::Display for Pick {
    /// As in `pick-5`, `outside-nodeport-sticky-10800-pick-5`, `slots-100` and `zone-1-5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pick { by, lane, sticky, from } = self;
        if *lane == Lane::Outside {
            f.write_str("outside-")?;
        }
        if *by == By::NodePort {
            f.write_str("nodeport-")?;
        }
        if let Some(seconds) = sticky {
            write!(f, "sticky-{seconds}-")?;
        }
        match from {
            From::All(endpoints) => write!(f, "pick-{endpoints}"),
            From::Slots(slots) => write!(f, "slots-{slots}"),
            From::Zone { rank, endpoints } => write!(f, "zone-{rank}-{endpoints}"),
        }
    }
}

trait ParsePick {
    fn parse_pick(&self) -> Option<Pick>;
}

impl ParsePick for str {
    fn parse_pick(&self) -> Option<Pick> {
        let rest = self.strip_prefix("outside-");
        let lane = if rest.is_some() { Lane::Outside } else { Lane::Main };
        let rest = rest.unwrap_or(self);
        let behind = rest.strip_prefix("nodeport-");
        let by = if behind.is_some() { By::NodePort } else { By::Address };
        let mut rest = behind.unwrap_or(rest);
        let mut sticky = None;
        if let Some(behind) = rest.strip_prefix("sticky-") {
            let (seconds, behind) = behind.split_once('-')?;
            (sticky, rest) = (Some(seconds.parse().ok()?), behind);
        }
        let (kind, numbers) = rest.split_once('-')?;
        let from = match kind {
            "pick" => From::All(numbers.parse().ok()?),
            "slots" => From::Slots(numbers.parse().ok()?),
            "zone" => {
                let (rank, endpoints) = numbers.split_once('-')?;
                From::Zone { rank: rank.parse().ok()?, endpoints: endpoints.parse().ok()? }
            }
            _ => return None,
        };
        Some(Pick { by, lane, sticky, from })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_can_be_read_again() {
        let mut chains: Vec<ChainId> = ChainId::fixed(true).collect();
        chains.push(ChainId::Version(Version { rules: 7, seed: u32::MAX }));
        for by in [By::Address, By::NodePort] {
            for lane in [Lane::Main, Lane::Outside] {
                for sticky in [None, Some(10_800)] {
                    for from in
                        [From::All(5), From::Slots(100), From::Zone { rank: 2, endpoints: 7 }]
                    {
                        chains.push(ChainId::Pick(Pick { by, lane, sticky, from }));
                    }
                }
            }
        }
        for chain in chains {
            assert_eq!(ChainId::from_name(&chain.to_string()), Some(chain), "{chain}");
        }
        for name in ["", "pick", "pick-", "pick-x", "zone-1", "sticky-pick-5", "services-2"] {
            assert_eq!(ChainId::from_name(name), None, "{name}");
        }
    }
}
