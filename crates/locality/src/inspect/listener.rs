//! Listeners, and to which clusters their traffic goes.

use core::net::SocketAddr;
use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::mesh::{
    Direction, HeaderMatch, Listener, PathMatch, ProxyConfig, QueryMatch, RouteAction, RouteMatch,
    RouteTable, Split, Traffic, ValueMatch,
};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenerInspection {
    pub name: Arc<str>,
    pub address: SocketAddr,
    /// `inbound` or `outbound`.
    pub direction: &'static str,
    /// The first that matches counts.
    pub routes: Vec<RouteInspection>,
}

/// Where requests or connections go.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RouteInspection {
    /// Empty: all.
    pub matches: String,
    /// None: requests are answered with 503, connections are closed.
    pub clusters: Vec<WeightedCluster>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightedCluster {
    pub cluster: Arc<str>,
    /// Its part of the route's traffic, from 0 to 1.
    pub share: f64,
}

/// Route tables by name.
pub(super) type Tables<'a> = BTreeMap<&'a str, &'a RouteTable>;

pub(super) fn listeners(config: &ProxyConfig) -> Vec<ListenerInspection> {
    let tables = tables(config);
    config.listeners.iter().map(|listener| one(listener, &tables)).collect()
}

pub(super) fn tables(config: &ProxyConfig) -> Tables<'_> {
    config.routes.iter().map(|table| (&*table.name, &**table)).collect()
}

fn one(listener: &Listener, tables: &Tables<'_>) -> ListenerInspection {
    ListenerInspection {
        name: listener.name.clone(),
        address: listener.address,
        direction: match listener.direction {
            Direction::Inbound => "inbound",
            Direction::Outbound => "outbound",
        },
        routes: routes(&listener.traffic, tables),
    }
}

pub(super) fn routes(traffic: &Traffic, tables: &Tables<'_>) -> Vec<RouteInspection> {
    let table = match traffic {
        Traffic::Tcp(split) => return vec![forward(String::new(), split)],
        Traffic::Http { route_table, .. } => tables.get(&**route_table),
    };
    let routes = table.into_iter().flat_map(|table| &table.routes);
    let routes = routes.map(|route| match &route.action {
        RouteAction::Forward { split, .. } => forward(text(&route.matches), split),
        RouteAction::Unavailable { why } => RouteInspection {
            matches: text(&route.matches),
            clusters: Vec::new(),
            unavailable: Some(why.clone()),
        },
    });
    routes.collect()
}

fn forward(matches: String, split: &Split) -> RouteInspection {
    let sum: u64 = split.clusters.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let clusters = split.clusters.iter().map(|(cluster, weight)| WeightedCluster {
        cluster: cluster.clone(),
        share: f64::from(*weight) / sum.max(1) as f64,
    });
    RouteInspection { matches, clusters: clusters.collect(), unavailable: None }
}

fn text(matches: &RouteMatch) -> String {
    let path = match &matches.path {
        PathMatch::Any => None,
        PathMatch::Exact(path) => Some(format!("path {path}")),
        PathMatch::Prefix(path) => Some(format!("prefix {path}")),
        PathMatch::Regex(path) => Some(format!("path ~ {path}")),
    };
    let method = matches.method.iter().map(|method| format!("method {method}"));
    let header = |HeaderMatch { name, value }: &HeaderMatch| pair("header", name, value);
    let query = |QueryMatch { name, value }: &QueryMatch| pair("query", name, value);
    let headers = matches.headers.iter().map(header);
    let parts =
        path.into_iter().chain(method).chain(headers).chain(matches.query.iter().map(query));
    parts.collect::<Vec<_>>().join(", ")
}

fn pair(what: &str, name: &str, value: &ValueMatch) -> String {
    match value {
        ValueMatch::Exact(value) => format!("{what} {name}={value}"),
        ValueMatch::Prefix(value) => format!("{what} {name}={value}*"),
        ValueMatch::Regex(value) => format!("{what} {name} ~ {value}"),
        ValueMatch::Present => format!("{what} {name} is set"),
        ValueMatch::Absent => format!("{what} {name} is not set"),
    }
}
