//! Whether what one proxy is sent fits together.
//!
//! A route to a cluster that is not there answers 503, a cluster without an assignment becomes active only
//! after a timeout. Both are faults of the control plane, found here before Envoy finds them.
//! Time is linear in the configuration.

use std::{fmt, sync::Arc};

use evenkeel_model::mesh::{Cluster, ClusterEndpoints, ProxyConfig, RouteAction, Split, Traffic};
use rustc_hash::FxHashSet;

/// Something refers to what is not there, or is there twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Inconsistency {
    AssignmentMissing {
        cluster: Arc<str>,
    },
    ClusterMissing {
        user: User,
        cluster: Arc<str>,
    },
    RouteTableMissing {
        listener: Arc<str>,
        route_table: Arc<str>,
    },
    /// Envoy takes the whole response as invalid.
    NameTwice {
        kind: crate::ResourceType,
        name: Arc<str>,
    },
}

/// What sends traffic to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum User {
    Listener(Arc<str>),
    RouteTable(Arc<str>),
}

/// All inconsistencies, in the order of the configuration. `has_assignment` knows the assignments that the
/// proxy is sent.
pub fn check(config: &ProxyConfig, has_assignment: impl Fn(&str) -> bool) -> Vec<Inconsistency> {
    let mut found = Vec::new();
    let clusters = names(config.clusters.iter().map(|c| &c.name), |name| {
        found.push(Inconsistency::NameTwice { kind: crate::ResourceType::Cluster, name });
    });
    let tables = names(config.routes.iter().map(|r| &r.name), |name| {
        found.push(Inconsistency::NameTwice { kind: crate::ResourceType::Route, name });
    });
    names(config.listeners.iter().map(|l| &l.name), |name| {
        found.push(Inconsistency::NameTwice { kind: crate::ResourceType::Listener, name });
    });
    let unassigned =
        |c: &&Arc<Cluster>| c.endpoints == ClusterEndpoints::Discovered && !has_assignment(&c.name);
    found.extend(
        config
            .clusters
            .iter()
            .filter(unassigned)
            .map(|c| Inconsistency::AssignmentMissing { cluster: c.name.clone() }),
    );
    for listener in &config.listeners {
        match &listener.traffic {
            Traffic::Tcp(split) => {
                let user = || User::Listener(listener.name.clone());
                found.extend(missing(split, &clusters, user));
            }
            Traffic::Http { route_table, .. } if !tables.contains(&**route_table) => {
                found.push(Inconsistency::RouteTableMissing {
                    listener: listener.name.clone(),
                    route_table: route_table.clone(),
                });
            }
            Traffic::Http { .. } => {}
        }
    }
    for table in &config.routes {
        for route in &table.routes {
            if let RouteAction::Forward { split, .. } = &route.action {
                let user = || User::RouteTable(table.name.clone());
                found.extend(missing(split, &clusters, user));
            }
        }
    }
    found
}

fn names<'a>(
    all: impl Iterator<Item = &'a Arc<str>>,
    mut twice: impl FnMut(Arc<str>),
) -> FxHashSet<&'a str> {
    let mut names = FxHashSet::default();
    for name in all {
        if !names.insert(&**name) {
            twice(name.clone());
        }
    }
    names
}

fn missing<'a>(
    split: &'a Split,
    clusters: &'a FxHashSet<&str>,
    user: impl Fn() -> User + 'a,
) -> impl Iterator<Item = Inconsistency> + 'a {
    let missing = split.clusters.iter().filter(|(name, _)| !clusters.contains(&**name));
    missing
        .map(move |(name, _)| Inconsistency::ClusterMissing { user: user(), cluster: name.clone() })
}

// === impl Inconsistency ===

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AssignmentMissing { cluster } => {
                write!(f, "cluster {cluster} has no load assignment")
            }
            Self::ClusterMissing { user: User::Listener(name), cluster } => {
                write!(f, "listener {name} uses cluster {cluster}, which does not exist")
            }
            Self::ClusterMissing { user: User::RouteTable(name), cluster } => {
                write!(f, "route table {name} uses cluster {cluster}, which does not exist")
            }
            Self::RouteTableMissing { listener, route_table } => {
                write!(
                    f,
                    "listener {listener} uses route table {route_table}, which does not exist"
                )
            }
            Self::NameTwice { kind, name } => write!(f, "{kind} has two resources named {name}"),
        }
    }
}
