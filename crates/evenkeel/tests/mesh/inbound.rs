//! The instance of a service behind an Envoy of its own: a request passes both proxies.

use std::net::SocketAddr;

use evenkeel_testkit::envoy::{Answers, Envoy, Requests, Server};
use serde_json::{Value, json};

use crate::{
    client::{Client, Spec, bootstrap},
    control_plane::ControlPlane,
    folder::{Folder, free_address},
};

const N: usize = 500;

/// Accepts at one address, and forwards to the server at another.
fn dataplane(inbounds: &[(&str, &str, SocketAddr, &Server)]) -> Value {
    let inbound = |(service, protocol, at, server): &(&str, &str, SocketAddr, &Server)| {
        json!({
            "address": at.ip().to_string(),
            "port": at.port(),
            "serviceAddress": server.address().ip().to_string(),
            "servicePort": server.address().port(),
            "tags": {
                "kuma.io/service": service,
                "kuma.io/protocol": protocol,
                "kuma.io/zone": "zone-1",
            },
        })
    };
    json!({
        "type": "Dataplane",
        "mesh": "default",
        "name": "instance",
        "networking": {
            "address": "127.0.0.1",
            "inbound": inbounds.iter().map(inbound).collect::<Vec<_>>(),
        },
    })
}

#[test]
fn a_request_passes_the_proxy_of_its_client_and_that_of_the_instance() {
    let folder = Folder::new("inbound");
    let (web, raw) = (Server::http("web"), Server::tcp("raw"));
    let at = [free_address(), free_address()];
    folder.put(&dataplane(&[("web", "http", at[0], &web), ("raw", "tcp", at[1], &raw)]));
    let control_plane = ControlPlane::start(folder.path());
    for protocol in ["delta", "sotw"] {
        let spec = Spec { protocol, ..Spec::new("instance", "zone-1", &[]) };
        let instance = Envoy::start(&bootstrap(&spec, &folder, &control_plane));
        for address in at {
            instance.listener(&format!("inbound:{address}"));
        }
        let spec = Spec { protocol, ..Spec::new("client", "zone-1", &["web", "raw"]) };
        let client = Client::start(&spec, &folder, &control_plane);
        let passed = |answers: &Answers, server: &str| {
            assert!(answers.failures.is_empty(), "{protocol}: {:?}", answers.failures);
            assert_eq!(answers.by_server.get(server), Some(&N), "{protocol}: {answers:?}");
        };
        passed(&Requests::new(N).kept_alive().http(client.outbound("web")), "web");
        passed(&Requests::new(N).tcp(client.outbound("raw")), "raw");
        let forwarded = |stat: &str| {
            let stats = instance.stats(&format!("^cluster\\.inbound.*\\.{stat}$"));
            stats.values().sum::<u64>()
        };
        let of_http = forwarded("upstream_rq_completed");
        assert!(of_http >= N as u64, "{protocol}: {of_http}");
        let connections = forwarded("upstream_cx_total");
        assert!(connections > N as u64, "{protocol}: {connections}");
    }
}
