//! Resources in few words, and plans as text.

use std::sync::Arc;

use evenkeel_locality::{
    Assigned, Compat,
    resource::{Form, Key, Kind, Resource, parse},
    view::{Changes, ProxyKey, ProxyPlan, Settings, View},
};
use evenkeel_model::mesh::{Route, RouteAction, Split, Traffic};
use serde_json::{Value, json};

pub(crate) const MESH: &str = "default";

pub(crate) fn resource(value: &Value) -> Resource {
    match parse(value, Form::File, Compat::Record) {
        Ok(resource) => resource,
        Err(errors) => panic!("{value}: {errors:?}"),
    }
}

/// An instance of a service. Tags are `key=value`.
pub(crate) fn instance(name: &str, address: &str, service: &str, tags: &[&str]) -> Value {
    let mut all = json!({"kuma.io/service": service, "kuma.io/protocol": "http"});
    for tag in tags {
        let (key, value) = tag.split_once('=').expect("a tag is key=value");
        all[key] = json!(value);
    }
    json!({
        "type": "Dataplane", "mesh": MESH, "name": name,
        "networking": {
            "address": address,
            "inbound": [{"port": 80, "servicePort": 8080, "tags": all}],
        },
    })
}

/// The same with outbounds on ports 10000, 10001, ….
pub(crate) fn calling(mut dataplane: Value, services: &[&str]) -> Value {
    let outbounds = services
        .iter()
        .enumerate()
        .map(|(i, service)| json!({"port": 10_000 + i, "tags": {"kuma.io/service": service}}));
    dataplane["networking"]["outbound"] = outbounds.collect();
    dataplane
}

/// A client in a zone, which calls services.
pub(crate) fn client(name: &str, zone: &str, services: &[&str]) -> Value {
    let zone = format!("kuma.io/zone={zone}");
    calling(instance(name, "10.9.9.9", "frontend", &[&zone]), services)
}

pub(crate) fn policy(kind: &str, name: &str, target: &Value, to: &Value) -> Value {
    json!({
        "type": kind, "mesh": MESH, "name": name, "spec": {"targetRef": target, "to": to},
    })
}

pub(crate) fn strategy(name: &str, service: &str, awareness: &Value) -> Value {
    let to = json!([{
        "targetRef": {"kind": "MeshService", "name": service},
        "default": {"localityAwareness": awareness},
    }]);
    policy("MeshLoadBalancingStrategy", name, &json!({"kind": "Mesh"}), &to)
}

pub(crate) fn only_zone(zone: &str) -> Value {
    json!({"crossZone": {"failover": [{"to": {"type": "Only", "zones": [zone]}}]}})
}

pub(crate) fn view_of(values: &[Value]) -> View {
    let mut view = View::new(Settings::default());
    for value in values {
        view.apply(resource(value));
    }
    view
}

pub(crate) fn key(name: &str) -> ProxyKey {
    ProxyKey::new(MESH, name)
}

pub(crate) fn plan(view: &mut View, name: &str) -> ProxyPlan {
    view.proxy(&key(name)).expect("the Dataplane is there")
}

pub(crate) fn delete(view: &mut View, kind: Kind, name: &str) -> Changes {
    view.delete(&Key::new(kind, MESH, name))
}

/// Listeners for traffic of the client, routes and splits as text, one line each.
pub(crate) fn told(plan: &ProxyPlan) -> Vec<String> {
    let config = &plan.outbound.config;
    let mut lines = Vec::new();
    for listener in &config.listeners {
        let port = listener.address.port();
        match &listener.traffic {
            Traffic::Tcp(split) => lines.push(format!("{port} tcp {}", split_text(split))),
            Traffic::Http { route_table, .. } => {
                let table = config.routes.iter().find(|table| table.name == *route_table);
                let routes = &table.expect("its table is there").routes;
                lines.extend(routes.iter().map(|route| format!("{port} {}", route_text(route))));
            }
        }
    }
    lines
}

fn route_text(route: &Route) -> String {
    let action = match &route.action {
        RouteAction::Forward { split, .. } => split_text(split),
        RouteAction::Unavailable { .. } => "503".to_owned(),
    };
    format!("{:?} {action}", route.matches.path)
}

fn split_text(split: &Split) -> String {
    let clusters = split.clusters.iter();
    let parts: Vec<_> = clusters.map(|(cluster, weight)| format!("{cluster}*{weight}")).collect();
    if parts.is_empty() { "closed".to_owned() } else { parts.join(" ") }
}

/// Clusters with their endpoints: `cluster: priority=last-part-of-address,…`.
pub(crate) fn endpoints(view: &View, plan: &ProxyPlan) -> Vec<String> {
    let assignments = plan.assignments().iter();
    assignments.map(|(name, key)| format!("{name}: {}", groups(&view.assignment(key)))).collect()
}

pub(crate) fn groups(assigned: &Assigned) -> String {
    let mut groups: Vec<_> = assigned.assignment.groups.iter().collect();
    groups.sort_by_key(|group| group.priority);
    let text = |address: std::net::SocketAddr| address.ip().to_string();
    let groups = groups.iter().map(|group| {
        let endpoints = group.endpoints.iter().map(|endpoint| text(endpoint.address));
        format!("{}={}", group.priority, endpoints.collect::<Vec<_>>().join(","))
    });
    groups.collect::<Vec<_>>().join(" ")
}

pub(crate) fn codes(plan: &ProxyPlan) -> Vec<String> {
    let code = |reason| serde_json::to_value(reason).expect("reasons are JSON")["code"].clone();
    plan.reasons().map(|reason| code(reason).as_str().unwrap_or_default().to_owned()).collect()
}

pub(crate) fn names<T: ToString>(keys: impl IntoIterator<Item = T>) -> Vec<String> {
    keys.into_iter().map(|key| key.to_string()).collect()
}

pub(crate) fn shares<T>(one: &[Arc<T>], other: &[Arc<T>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}
