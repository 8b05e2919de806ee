//! What the condition of a Service says.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::ServiceId;
use rustc_hash::FxHashSet;

use super::{Needs, Reports, Shown};
use crate::engine::conditions::{BEHIND, EXCEPTED, IN_FORCE};

/// Without numbers, which would change with every node.
const WHY_IN_FORCE: &str = "in force on all nodes that run Evenkeel's proxy";

/// Nodes named in a message.
const NAMED: usize = 3;

pub(super) fn in_force() -> Shown {
    Shown { status: true, reason: IN_FORCE.into(), message: WHY_IN_FORCE.into() }
}

impl Reports {
    /// The nodes that are furthest behind come first.
    pub(super) fn late(&self, id: ServiceId) -> Shown {
        let tracked = &self.standings[&id];
        let Needs { service, slices } = tracked.standing.lacking();
        let of_slices = slices.iter().flat_map(|revision| self.slices.below(revision));
        let mut behind: Vec<&Arc<str>> = Vec::new();
        let mut counted: FxHashSet<&Arc<str>> = FxHashSet::default();
        behind.extend(
            of_slices.chain(self.services.below(service)).filter(|node| counted.insert(node)),
        );
        let excepting: BTreeMap<&Arc<str>, &str> =
            self.excepting(&tracked.key).filter(|(node, _)| counted.insert(node)).collect();
        let in_force = self.n_active - counted.len();
        let mut message = format!("in force on {in_force} of {} nodes", self.n_active);
        if !behind.is_empty() {
            message += &format!("; behind: {}", named(behind.iter().map(ToString::to_string)));
        }
        if !excepting.is_empty() {
            let word = |(node, reason): (&&Arc<str>, &&str)| match *reason {
                "" => format!("{node} (not listed)"),
                reason => format!("{node} ({reason})"),
            };
            message += &format!("; not served as it is: {}", named(excepting.iter().map(word)));
        }
        let reason = if behind.is_empty() { EXCEPTED } else { BEHIND };
        Shown { status: false, reason: reason.into(), message: message.into() }
    }
}

/// The first few of many.
fn named(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let shown: Vec<String> = all.take(NAMED).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
