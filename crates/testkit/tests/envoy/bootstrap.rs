//! Bootstraps as JSON, without a control plane.

use std::net::SocketAddr;

use evenkeel_model::mesh::{EndpointHealth, Group, LoadAssignment};
use evenkeel_testkit::envoy::Server;
use serde_json::{Value, json};

/// HTTP on port 0: requests for `/NAME/` go to the cluster of that name.
pub(crate) fn listener(clusters: &[&str]) -> Value {
    let routes = clusters
        .iter()
        .map(|name| json!({"match": {"prefix": format!("/{name}/")}, "route": {"cluster": name}}));
    let hosts = [json!({"name": "all", "domains": ["*"], "routes": routes.collect::<Value>()})];
    let http = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
    let router = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router";
    let manager = json!({
        "@type": http,
        "stat_prefix": "web",
        "route_config": {"virtual_hosts": hosts},
        "http_filters": [{"name": "router", "typed_config": {"@type": router}}],
    });
    filters("web", "http", &manager)
}

/// TCP on port 0, to one cluster.
pub(crate) fn tcp_listener(name: &str, cluster: &str) -> Value {
    let proxy = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy";
    filters(name, "tcp", &json!({"@type": proxy, "stat_prefix": name, "cluster": cluster}))
}

fn filters(name: &str, filter: &str, config: &Value) -> Value {
    json!({
        "name": name,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": filter, "typed_config": config}]}],
    })
}

pub(crate) fn bootstrap(listeners: &[Value], clusters: &[Value]) -> String {
    json!({"static_resources": {"listeners": listeners, "clusters": clusters}}).to_string()
}

/// All servers, healthy and alike.
pub(crate) fn plain_cluster(name: &str, servers: &[Server]) -> Value {
    let endpoints =
        servers.iter().map(|server| json!({"endpoint": {"address": address(server.address())}}));
    let endpoints = [json!({"lb_endpoints": endpoints.collect::<Value>()})];
    cluster(name, &json!({"cluster_name": name, "endpoints": endpoints}))
}

pub(crate) fn cluster(name: &str, load_assignment: &Value) -> Value {
    json!({
        "name": name, "type": "STATIC", "connect_timeout": "5s", "load_assignment": load_assignment,
    })
}

pub(crate) fn load_assignment(name: &str, assignment: &LoadAssignment) -> Value {
    let groups: Vec<Value> = assignment.groups.iter().map(group).collect();
    let factor = assignment.overprovisioning_factor;
    json!({
        "cluster_name": name,
        "endpoints": groups,
        "policy": {"overprovisioning_factor": factor.map(std::num::NonZero::get)},
    })
}

fn group(group: &Group) -> Value {
    let endpoints = group.endpoints.iter().map(|endpoint| {
        let health = match endpoint.health {
            EndpointHealth::Healthy => "HEALTHY",
            EndpointHealth::Unhealthy => "UNHEALTHY",
            EndpointHealth::Draining => "DRAINING",
            EndpointHealth::Degraded => "DEGRADED",
        };
        json!({
            "endpoint": {"address": address(endpoint.address)},
            "health_status": health,
            "load_balancing_weight": endpoint.weight.map(std::num::NonZero::get),
        })
    });
    json!({
        "priority": group.priority,
        "locality": {"zone": group.zone.as_deref()},
        "load_balancing_weight": group.weight.map(std::num::NonZero::get),
        "lb_endpoints": endpoints.collect::<Value>(),
    })
}

fn address(address: SocketAddr) -> Value {
    let (ip, port) = (address.ip().to_string(), address.port());
    json!({"socket_address": {"address": ip, "port_value": port}})
}
