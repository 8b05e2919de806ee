//! On which nodes the rules of a Service are in force, by what the proxies of nodes report.
//!
//! A node reports up to which revisions of Services and of EndpointSlices its rules are in force. A
//! node whose report is older than it may be, or that has none, is unknown and counted apart.
//! O(nodes) for each Service.

use std::{fmt, sync::Arc};

use evenkeel_model::{ProxyReport, Reason, Revisions, SeenReport, ServiceState, Snapshot};
use serde::Serialize;

/// Nodes listed by name in a sentence.
const LISTED: usize = 3;

/// The nodes of a cluster by their proxies.
#[derive(Clone, Debug, Default)]
pub struct Proxies<'a> {
    /// By name.
    reporting: Vec<&'a ProxyReport>,
    stale: Vec<Arc<str>>,
    /// Nodes without a report.
    without: usize,
    read_at: Option<i64>,
}

/// How many nodes report Evenkeel's proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    pub reporting: usize,
    pub nodes: usize,
}

/// On how many nodes the rules of a Service are in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum InForce {
    /// On all nodes that report.
    Everywhere { nodes: usize, stale: Vec<Arc<str>>, without: usize },
    /// On `nodes` of the `of` nodes that report.
    Partly {
        nodes: usize,
        of: usize,
        behind: Vec<Behind>,
        exceptions: Vec<Exception>,
        stale: Vec<Arc<str>>,
        without: usize,
    },
    /// Revisions are not known or can't be compared, or all reports are too old.
    Unknown { stale: Vec<Arc<str>>, without: usize },
}

/// A node whose rules are those of an earlier state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Behind {
    pub node: Arc<str>,
    /// Since the change that it lacks, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// A node that can't serve the Service as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exception {
    pub node: Arc<str>,
    /// The code that its proxy gives; empty where it gives none.
    pub reason: Arc<str>,
}

// === impl Proxies ===

impl<'a> Proxies<'a> {
    /// Reports of Nodes that are not there don't count.
    pub fn of(snapshot: &'a Snapshot) -> Proxies<'a> {
        let mut proxies = Proxies { read_at: snapshot.read_at, ..Proxies::default() };
        let by_node = |name: &Arc<str>| {
            let found = snapshot.reports.binary_search_by(|seen| seen.report.node.cmp(name));
            found.ok().map(|index| &snapshot.reports[index])
        };
        for node in &snapshot.nodes {
            let name = snapshot.topology.nodes.name(node.id);
            match by_node(name) {
                None => proxies.without += 1,
                Some(seen) if is_stale(seen, snapshot.read_at) => {
                    proxies.stale.push(Arc::clone(name));
                }
                Some(seen) => proxies.reporting.push(&seen.report),
            }
        }
        proxies
    }

    pub fn fleet(&self) -> Fleet {
        let reporting = self.reporting.len();
        Fleet { reporting, nodes: reporting + self.stale.len() + self.without }
    }

    /// `None`: no node has Evenkeel's proxy, or it does not serve this Service.
    pub fn in_force(&self, state: &ServiceState) -> Option<InForce> {
        let (stale, without) = (self.stale.clone(), self.without);
        if (self.reporting.is_empty() && stale.is_empty()) || !state.service.is_served_by(None) {
            return None;
        }
        let Some(needs) = state.revisions.as_ref().filter(|_| !self.reporting.is_empty()) else {
            return Some(InForce::Unknown { stale, without });
        };
        let (mut behind, mut exceptions) = (Vec::new(), Vec::new());
        for report in &self.reporting {
            let node = Arc::clone(&report.node);
            if !has(report, needs) {
                behind.push(Behind { node, seconds: self.seconds(needs) });
            } else if let Some(reason) = report.exception(&state.service.key) {
                exceptions.push(Exception { node, reason: reason.into() });
            }
        }
        let of = self.reporting.len();
        let nodes = of - behind.len() - exceptions.len();
        Some(match nodes == of {
            true => InForce::Everywhere { nodes, stale, without },
            false => InForce::Partly { nodes, of, behind, exceptions, stale, without },
        })
    }

    fn seconds(&self, needs: &Revisions) -> Option<u64> {
        u64::try_from(self.read_at?.saturating_sub(needs.changed?)).ok()
    }
}

/// Whether the rules of a node are those of this state. What a node does not report it does not have.
fn has(report: &ProxyReport, needs: &Revisions) -> bool {
    report.services.as_ref() >= Some(&needs.service) && report.slices >= needs.slices
}

fn is_stale(seen: &SeenReport, now: Option<i64>) -> bool {
    let Some(now) = now else { return false };
    let age = seen.renewed.map(|renewed| now.saturating_sub(renewed));
    age.is_none_or(|age| u64::try_from(age).is_ok_and(|age| age > seen.valid_for.as_secs()))
}

// === impl InForce ===

impl Reason for InForce {}

impl fmt::Display for InForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stale, without) = match self {
            InForce::Everywhere { nodes: 1, stale, without } => {
                write!(f, "in force on the one node that reports")?;
                (stale, without)
            }
            InForce::Everywhere { nodes, stale, without } => {
                write!(f, "in force on all {nodes} nodes that report")?;
                (stale, without)
            }
            InForce::Partly { nodes, of, behind, exceptions, stale, without } => {
                write!(f, "in force on {nodes} of {of} nodes")?;
                list(f, behind, |Behind { node, seconds }| match seconds {
                    Some(seconds) => format!("{node} is {seconds} s behind"),
                    None => format!("{node} is behind"),
                })?;
                list(f, exceptions, |Exception { node, reason }| match &**reason {
                    "" => format!("{node} may not serve it as it is"),
                    reason => format!("{node} does not serve it as it is ({reason})"),
                })?;
                (stale, without)
            }
            InForce::Unknown { stale, without } => {
                write!(f, "not known on any node")?;
                (stale, without)
            }
        };
        list(f, stale, |node| format!("{node} no longer reports"))?;
        match without {
            0 => Ok(()),
            1 => write!(f, "; 1 node without Evenkeel's proxy"),
            n => write!(f, "; {n} nodes without Evenkeel's proxy"),
        }
    }
}

/// The first few of many.
fn list<T>(f: &mut fmt::Formatter<'_>, all: &[T], text: impl Fn(&T) -> String) -> fmt::Result {
    for one in all.iter().take(LISTED) {
        write!(f, "; {}", text(one))?;
    }
    match all.len().saturating_sub(LISTED) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}
