//! Nodes.

use evenkeel_model::{Node, Topology, label, quantity::Quantity};
use k8s_openapi::api::core::v1 as core;

use crate::{
    convert::{FieldError, field, field::ConditionFacts, metadata::Meta},
    excerpt,
};

/// A Node. An empty label of zone or region is none, as for Kubernetes' topology cache.
pub fn node(topology: &mut Topology, node: &core::Node) -> Result<Node, FieldError> {
    from_facts(topology, node)
}

/// What is read of a Node.
pub(crate) trait NodeFacts {
    fn meta(&self) -> Meta<'_>;
    /// Of what is allocatable.
    fn cpu(&self) -> Option<&str>;
    fn conditions(&self) -> impl Iterator<Item = ConditionFacts<'_>>;
}

pub(crate) fn from_facts(
    topology: &mut Topology,
    node: &impl NodeFacts,
) -> Result<Node, FieldError> {
    let (node, problem) = with_problem(topology, node);
    problem.map_or(Ok(node), Err)
}

/// A Node whose CPU can't be read is there all the same, with a CPU that is not known.
pub(crate) fn with_problem(
    topology: &mut Topology,
    node: &impl NodeFacts,
) -> (Node, Option<FieldError>) {
    let meta = node.meta();
    let place = |name| meta.label(name).filter(|value| !value.is_empty());
    let (cpu_milli, problem) = match node.cpu().map(cpu_milli) {
        Some(Ok(cpu)) => (cpu, None),
        Some(Err(problem)) => (0, Some(problem)),
        None => (0, None),
    };
    let node = Node {
        id: topology.nodes.intern(meta.name.unwrap_or_default()),
        zone: place(label::ZONE).map(|name| topology.zones.intern(name)),
        region: place(label::REGION).map(|name| topology.regions.intern(name)),
        cpu_milli,
        ready: field::is_ready(node.conditions()),
        control_plane: [label::CONTROL_PLANE, label::MASTER]
            .iter()
            .any(|role| meta.label(role).is_some()),
    };
    (node, problem)
}

fn cpu_milli(cpu: &str) -> Result<u64, FieldError> {
    milli(cpu).map_err(|wrong| {
        let found = excerpt::quoted(cpu);
        let problem = format!("{found} {wrong}; expected something like 4 or 3920m");
        FieldError::new("status.allocatable.cpu", problem)
    })
}

/// Thousandths, rounded up. Kubernetes caps what doesn't fit; here it is an error, because no node
/// has that much CPU.
fn milli(cpu: &str) -> Result<u64, &'static str> {
    let quantity = Quantity::parse(cpu).ok().filter(|quantity| quantity.has_digits());
    let amount = quantity.ok_or("is not a quantity")?.amount();
    if amount.is_negative() {
        return Err("is negative");
    }
    u64::try_from(amount.milli_units()).map_err(|_| "is too large")
}

impl NodeFacts for core::Node {
    fn meta(&self) -> Meta<'_> {
        Meta::from(&self.metadata)
    }

    fn cpu(&self) -> Option<&str> {
        let allocatable = self.status.as_ref()?.allocatable.as_ref()?;
        allocatable.get("cpu").map(|cpu| cpu.0.as_str())
    }

    fn conditions(&self) -> impl Iterator<Item = ConditionFacts<'_>> {
        let conditions = self.status.iter().flat_map(|status| &status.conditions).flatten();
        conditions.map(|given| ConditionFacts { kind: &given.type_, status: &given.status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_is_read_in_thousandths_or_refused() {
        for (text, expected) in [
            ("3920m", Ok(3920)),
            ("0.0001", Ok(1)),
            ("-0", Ok(0)),
            ("18446744073709551.615", Ok(u64::MAX)),
            ("", Err("is not a quantity")),
            ("banana", Err("is not a quantity")),
            ("1.2.3", Err("is not a quantity")),
            (".", Err("is not a quantity")),
            ("+", Err("is not a quantity")),
            ("m", Err("is not a quantity")),
            ("e3", Err("is not a quantity")),
            ("--1", Err("is not a quantity")),
            ("1 ", Err("is not a quantity")),
            ("1K", Err("is not a quantity")),
            ("1e", Err("is not a quantity")),
            ("1e1.5", Err("is not a quantity")),
            ("0x10", Err("is not a quantity")),
            ("\u{ff11}", Err("is not a quantity")),
            ("-1n", Err("is negative")),
            ("1E", Err("is too large")),
            ("1Ei", Err("is too large")),
            ("18446744073709551615.5m", Err("is too large")),
            ("1e2147483647", Err("is too large")),
        ] {
            assert_eq!(milli(text), expected, "{text}");
        }
    }
}
