//! Services and slices, as JSON.

use evenkeel_testkit::netns::Pod;
use serde_json::{Value, json};

use crate::world::PORT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// Not ready, and about to go.
    Draining,
    Gone,
}

/// A Service with this cluster IP and TCP port 80.
pub(crate) fn service(name: &str, ip: &str, spec: &Value) -> Value {
    let mut value = json!({
        "metadata": {"name": name},
        "spec": {"clusterIP": ip, "ports": [{"name": "http", "port": 80}]},
    });
    merge(&mut value["spec"], spec);
    value
}

/// A slice `NAME` of Service `of`.
pub(crate) fn slice<'a>(
    of: &str,
    name: &str,
    pods: impl IntoIterator<Item = (&'a Pod, State)>,
) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": of}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": PORT, "protocol": "TCP"}],
        "endpoints": endpoints(pods),
    })
}

pub(crate) fn endpoints<'a>(pods: impl IntoIterator<Item = (&'a Pod, State)>) -> Value {
    let there = pods.into_iter().filter(|(_, state)| *state != State::Gone);
    let endpoint = |(pod, state): (&Pod, State)| {
        let is_ready = state == State::Ready;
        json!({
            "addresses": [pod.v4.to_string()],
            "nodeName": pod.node,
            "zone": pod.zone,
            "conditions": {"ready": is_ready, "serving": true, "terminating": !is_ready},
        })
    };
    there.map(endpoint).collect()
}

/// A slice with endpoints that nobody serves.
pub(crate) fn made_up(of: &str, name: &str, addresses: impl Iterator<Item = [u8; 4]>) -> Value {
    let endpoint = |ip: [u8; 4]| {
        let [a, b, c, d] = ip;
        json!({"addresses": [format!("{a}.{b}.{c}.{d}")], "conditions": {"ready": true}})
    };
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": of}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": PORT, "protocol": "TCP"}],
        "endpoints": addresses.map(endpoint).collect::<Vec<Value>>(),
    })
}

fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}
