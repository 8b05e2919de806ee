//! Compares the pools with the stored Services: a pure decision.
//!
//! An address or port that two Services have, or that is out of range, is reported and never
//! changed. One that a Service has and that is not allocated is allocated again. One that is
//! allocated and no Service has is released after it was found in [`PASSES`] consecutive passes.
//! Source: `controller/repair.go` of `pkg/registry/core/service/{ipallocator,portallocator}`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use evenkeel_store::Revision;

use super::{
    Claims, Numbers, Pools,
    range::{Addresses, Ports},
};
use crate::{kinds::names::sloppy_ip, settings::IpRange};

/// Consecutive passes that must find a leak before it is released.
pub(crate) const PASSES: u32 = 3;

/// One stored Service.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) key: Box<str>,
    pub(crate) revision: Revision,
    pub(crate) claims: Claims,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Number {
    Ip(IpAddr),
    Port(i64),
}

/// The values that the pools hold for Services.
#[derive(Debug)]
pub(crate) struct Held {
    pub(super) holders: BTreeMap<Number, u32>,
    /// Held for the Service `kubernetes`, whether it exists or not.
    pub(super) reserved: Option<IpAddr>,
    pub(super) ranges: Vec<IpRange>,
    pub(super) node_ports: (u16, u16),
}

/// Consecutive passes in which a value was held that no Service has.
pub(crate) type Leaks = BTreeMap<Number, u32>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Pool {
    ClusterIps,
    NodePorts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Problem {
    Invalid,
    Duplicate,
    OutOfRange,
    NotAllocated,
    Leaked,
}

/// To be reported on a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Its index among the examined Services.
    pub(crate) service: usize,
    pub(crate) pool: Pool,
    pub(crate) problem: Problem,
    pub(crate) note: String,
}

/// The recorded and the actual number of holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Correction {
    pub(crate) number: Number,
    pub(crate) problem: Problem,
    from: u32,
    to: u32,
    /// The Services that have it, by their index.
    pub(crate) services: Vec<usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Examined {
    pub(crate) findings: Vec<Finding>,
    pub(crate) corrections: Vec<Correction>,
    /// Possible leaks found for the first time in this pass.
    pub(crate) suspects: Vec<Number>,
    pub(crate) leaks: Leaks,
}

pub(crate) fn examine(services: &[Service], held: &Held, leaks: &Leaks) -> Examined {
    let mut owners: BTreeMap<Number, Vec<usize>> = BTreeMap::new();
    let mut examined = Examined::default();
    let ranges = Ranges::new(held);
    for (index, service) in services.iter().enumerate() {
        let mut report = |pool, problem, note| {
            examined.findings.push(Finding { service: index, pool, problem, note });
        };
        for number in ranges.numbers(&service.claims, &mut report) {
            let owners = owners.entry(number).or_default();
            owners.push(index);
            let holders = held.holders.get(&number).copied().unwrap_or_default();
            if owners.len() > 1 {
                report(number.pool(), Problem::Duplicate, ranges.duplicate(number));
            } else if holders < held.expected(number, 1) {
                report(number.pool(), Problem::NotAllocated, ranges.not_allocated(number));
            }
        }
    }
    compare(owners, held, leaks, &mut examined);
    examined
}

fn compare(
    mut owners: BTreeMap<Number, Vec<usize>>,
    held: &Held,
    leaks: &Leaks,
    examined: &mut Examined,
) {
    let numbers: BTreeSet<Number> = owners.keys().chain(held.holders.keys()).copied().collect();
    for number in numbers {
        let services = owners.remove(&number).unwrap_or_default();
        let from = held.holders.get(&number).copied().unwrap_or_default();
        let to = held.expected(number, u32::try_from(services.len()).unwrap_or(u32::MAX));
        let problem = match from.cmp(&to) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Less => Problem::NotAllocated,
            std::cmp::Ordering::Greater => Problem::Leaked,
        };
        let passes = leaks.get(&number).map_or(1, |passes| passes + 1);
        if problem == Problem::Leaked && passes < PASSES {
            examined.leaks.insert(number, passes);
            examined.suspects.extend((passes == 1).then_some(number));
        } else {
            examined.corrections.push(Correction { number, problem, from, to, services });
        }
    }
}

/// The ranges, without allocations.
struct Ranges {
    addresses: Vec<Addresses>,
    ports: Ports,
}

// === impl Ranges ===

impl Ranges {
    fn new(held: &Held) -> Ranges {
        let addresses = held.ranges.iter().copied().map(Addresses::new).collect();
        Ranges { addresses, ports: Ports::new(held.node_ports) }
    }

    /// The values of a Service, without duplicates; invalid ones are reported.
    fn numbers(
        &self,
        claims: &Claims,
        report: &mut impl FnMut(Pool, Problem, String),
    ) -> BTreeSet<Number> {
        let mut numbers = BTreeSet::new();
        for text in &claims.ips {
            let Some(ip) = sloppy_ip(text) else {
                let note = format!("Cluster IP {text} is not a valid IP; please recreate service");
                report(Pool::ClusterIps, Problem::Invalid, note);
                continue;
            };
            match self.range(ip) {
                None => {
                    let note = format!(
                        "Cluster IP {ip}({}) is of ip family that is no longer configured on \
                         cluster; please recreate service",
                        family(ip)
                    );
                    report(Pool::ClusterIps, Problem::Invalid, note);
                }
                Some(range) if !range.holds(ip) => {
                    let note = format!(
                        "Cluster IP [{}]:{ip} is not within the service CIDR {range}; please \
                         recreate service",
                        family(ip)
                    );
                    report(Pool::ClusterIps, Problem::OutOfRange, note);
                }
                Some(_) => drop(numbers.insert(Number::Ip(ip))),
            }
        }
        for &port in &claims.ports {
            if self.ports.number(port).is_some() {
                numbers.insert(Number::Port(port));
                continue;
            }
            let range = &self.ports;
            let note = format!(
                "Port {port} is not within the port range {range}; please recreate service"
            );
            report(Pool::NodePorts, Problem::OutOfRange, note);
        }
        numbers
    }

    fn range(&self, ip: IpAddr) -> Option<&Addresses> {
        self.addresses.iter().find(|range| range.family() == family(ip))
    }

    fn duplicate(&self, number: Number) -> String {
        format!("{number} was assigned to multiple services; please recreate service")
    }

    fn not_allocated(&self, number: Number) -> String {
        format!("{number} is not allocated; repairing")
    }
}

fn family(ip: IpAddr) -> &'static str {
    if ip.is_ipv4() { "IPv4" } else { "IPv6" }
}

// === impl Held ===

impl Held {
    #[cfg(test)]
    pub(crate) fn n_holders(&self) -> usize {
        self.holders.len()
    }

    /// The expected number of holders of a number that this many Services have.
    fn expected(&self, number: Number, services: u32) -> u32 {
        let reserved = self.reserved.is_some_and(|ip| number == Number::Ip(ip));
        services.saturating_add(u32::from(reserved))
    }
}

// === impl Number ===

impl Number {
    pub(crate) fn pool(self) -> Pool {
        match self {
            Number::Ip(_) => Pool::ClusterIps,
            Number::Port(_) => Pool::NodePorts,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Ip(ip) => write!(f, "Cluster IP [{}]:{ip}", family(*ip)),
            Number::Port(port) => write!(f, "Port {port}"),
        }
    }
}

// === impl Problem ===

impl Problem {
    /// Kubernetes' label for it in metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Problem::Invalid => "invalid",
            Problem::Duplicate => "duplicate",
            Problem::OutOfRange => "outOfRange",
            Problem::NotAllocated => "repair",
            Problem::Leaked => "leak",
        }
    }
}

// === impl Finding ===

impl Finding {
    /// The reason of the Event.
    pub(crate) fn reason(&self) -> &'static str {
        match (self.pool, self.problem) {
            (Pool::ClusterIps, Problem::Invalid) => "ClusterIPNotValid",
            (Pool::ClusterIps, Problem::Duplicate) => "ClusterIPAlreadyAllocated",
            (Pool::ClusterIps, Problem::OutOfRange) => "ClusterIPOutOfRange",
            (Pool::ClusterIps, _) => "ClusterIPNotAllocated",
            (Pool::NodePorts, Problem::Duplicate) => "PortAlreadyAllocated",
            (Pool::NodePorts, Problem::OutOfRange) => "PortOutOfRange",
            (Pool::NodePorts, _) => "PortNotAllocated",
        }
    }

    /// The action of the Event.
    pub(crate) fn action(&self) -> &'static str {
        match (self.pool, self.problem) {
            (Pool::ClusterIps, Problem::Invalid) => "ClusterIPValidation",
            (Pool::ClusterIps, _) => "ClusterIPAllocation",
            (Pool::NodePorts, _) => "PortAllocation",
        }
    }
}

// === impl Pools ===

impl Pools {
    /// Everything held for Services, without the values taken by writes in progress.
    pub(crate) fn held(&self) -> Held {
        let state = self.state.lock();
        let ips = state.addresses.iter().flat_map(|pool| {
            let held = pool.numbers.held();
            held.map(|(number, holders)| (Number::Ip(pool.address(number)), holders))
        });
        let ports = state.ports.numbers.held();
        let ports = ports.map(|(number, n)| (Number::Port(state.ports.port(number)), n));
        Held {
            holders: ips.chain(ports).collect(),
            reserved: state.reserved,
            ranges: self.ranges.clone(),
            node_ports: self.node_ports,
        }
    }

    /// `false`: it has changed since the decision.
    pub(crate) fn correct(&self, correction: &Correction) -> bool {
        let mut state = self.state.lock();
        let found = match correction.number {
            Number::Ip(ip) => state.addresses_of(ip).and_then(|pool| {
                let number = pool.number(ip)?;
                Some((&mut pool.numbers, number))
            }),
            Number::Port(port) => {
                let number = state.ports.number(port);
                number.map(|number| (&mut state.ports.numbers, number))
            }
        };
        let Some((numbers, number)) = found else { return false };
        if numbers.holders(number) != correction.from {
            return false;
        }
        for _ in correction.from..correction.to {
            Numbers::hold(numbers, number);
        }
        for _ in correction.to..correction.from {
            Numbers::let_go(numbers, number);
        }
        true
    }
}

#[cfg(test)]
mod tests;
