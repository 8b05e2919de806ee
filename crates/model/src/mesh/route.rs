//! Which request goes to which cluster.

use std::{sync::Arc, time::Duration};

use super::HashPolicy;

/// The routes of one listener; the first that matches counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteTable {
    pub name: Arc<str>,
    pub routes: Vec<Route>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub matches: RouteMatch,
    pub action: RouteAction,
}

/// All that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteMatch {
    pub path: PathMatch,
    pub method: Option<Arc<str>>,
    pub headers: Vec<HeaderMatch>,
    pub query: Vec<QueryMatch>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PathMatch {
    #[default]
    Any,
    Exact(Arc<str>),
    /// Whole path elements: `/a` matches `/a` and `/a/b`, not `/ab`.
    Prefix(Arc<str>),
    Regex(Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderMatch {
    pub name: Arc<str>,
    pub value: ValueMatch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryMatch {
    pub name: Arc<str>,
    pub value: ValueMatch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueMatch {
    Exact(Arc<str>),
    Prefix(Arc<str>),
    Regex(Arc<str>),
    Present,
    Absent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteAction {
    Forward {
        split: Split,
        hash_policies: Vec<HashPolicy>,
        timeout: Option<Duration>,
    },
    /// No cluster is left: answered with 503 and this text.
    Unavailable {
        why: Arc<str>,
    },
}

/// Clusters with weights. Weights are above 0; with one cluster its weight says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    pub clusters: Vec<(Arc<str>, u32)>,
    /// Of a TCP listener; those of HTTP are the route's.
    pub hash_source_ip: bool,
}
