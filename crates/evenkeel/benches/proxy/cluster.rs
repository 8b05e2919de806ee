//! What the clusters are made of.

use std::net::{Ipv4Addr, SocketAddr};

use futures_util::future::try_join_all;

use crate::load::{
    Failure,
    connection::{Connection, request},
    server::Server,
};

const CONNECTIONS: usize = 32;
const NODES: usize = 30;
const ZONES: usize = 3;
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/// The Node that the proxy runs on.
pub(crate) const NODE: &str = "node-0";

pub(crate) async fn create_node(server: &Server, address: Ipv4Addr) -> Result<(), Failure> {
    let mut connection = server.connect().await?;
    let node = format!(
        r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{NODE}","labels":{{"kubernetes.io/hostname":"{NODE}","topology.kubernetes.io/zone":"zone-0"}}}}}}"#
    );
    connection.answer(&request("POST", "/api/v1/nodes", JSON, &node)).await?;
    let status = format!(
        r#"{{"status":{{"addresses":[{{"type":"InternalIP","address":"{address}"}}],"conditions":[{{"type":"Ready","status":"True"}}]}}}}"#
    );
    let path = format!("/api/v1/nodes/{NODE}/status");
    connection.answer(&request("PATCH", &path, MERGE, &status)).await.map(drop)
}

/// Services 0 to `services`, and for each a slice with this many endpoints.
pub(crate) async fn create_services(
    server: &Server,
    services: usize,
    endpoints: usize,
) -> Result<(), Failure> {
    let shares = (0..CONNECTIONS).map(|share| async move {
        let mut connection = server.connect().await?;
        for service in (share..services).step_by(CONNECTIONS) {
            create_service(&mut connection, service).await?;
            let slice = slice(service, &addresses(service, endpoints), 8080);
            connection.answer(&request("POST", SLICES, JSON, &slice)).await?;
        }
        Ok::<(), Failure>(())
    });
    try_join_all(shares).await.map(drop)
}

/// A Service that is served at `to`.
pub(crate) async fn create_served(
    server: &Server,
    service: usize,
    to: SocketAddr,
) -> Result<(), Failure> {
    let mut connection = server.connect().await?;
    create_service(&mut connection, service).await?;
    let slice = slice(service, &[to.ip().to_string()], to.port());
    connection.answer(&request("POST", SLICES, JSON, &slice)).await.map(drop)
}

/// Replaces the last endpoint of a Service; each `round` by another one.
pub(crate) async fn replace_endpoint(
    connection: &mut Connection,
    service: usize,
    endpoints: usize,
    round: usize,
) -> Result<(), Failure> {
    let mut addresses = addresses(service, endpoints);
    if let Some(last) = addresses.last_mut() {
        *last = format!("172.16.{}.{}", round / 250 % 250, round % 250 + 1);
    }
    let path = format!("{SLICES}/{}", slice_name(service));
    let slice = slice(service, &addresses, 8080);
    connection.answer(&request("PUT", &path, JSON, &slice)).await.map(drop)
}

pub(crate) fn cluster_ip(service: usize) -> Ipv4Addr {
    let n = service as u32 + 0x100;
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 100, 0, 0).to_bits() + n)
}

async fn create_service(connection: &mut Connection, service: usize) -> Result<(), Failure> {
    let ip = cluster_ip(service);
    let service = format!(
        r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"service-{service}","labels":{{"app":"app-{service}"}}}},"spec":{{"clusterIP":"{ip}","ports":[{{"name":"http","port":80,"targetPort":8080}}]}}}}"#
    );
    connection.answer(&request("POST", SERVICES, JSON, &service)).await.map(drop)
}

fn slice_name(service: usize) -> String {
    format!("service-{service}-x7k2p")
}

/// As the EndpointSlice controller writes them.
fn slice(service: usize, addresses: &[String], port: u16) -> String {
    let name = slice_name(service);
    let endpoints: Vec<String> =
        (0..).zip(addresses).map(|(nth, ip)| endpoint(service, nth, ip)).collect();
    let endpoints = endpoints.join(",");
    format!(
        r#"{{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{{"name":"{name}","labels":{{"kubernetes.io/service-name":"service-{service}","endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"}}}},"addressType":"IPv4","ports":[{{"name":"http","port":{port},"protocol":"TCP"}}],"endpoints":[{endpoints}]}}"#
    )
}

fn endpoint(service: usize, nth: usize, ip: &str) -> String {
    let node = (service + nth) % NODES;
    let zone = node % ZONES;
    format!(
        r#"{{"addresses":["{ip}"],"conditions":{{"ready":true,"serving":true,"terminating":false}},"nodeName":"node-{node}","zone":"zone-{zone}","targetRef":{{"kind":"Pod","namespace":"default","name":"service-{service}-5d9c7b6f4-{nth:05}","uid":"0b6d4c3a-5e1f-4a7b-9c8d-{service:06}{nth:06}"}}}}"#
    )
}

fn addresses(service: usize, endpoints: usize) -> Vec<String> {
    let pod = |nth| service * endpoints + nth;
    let address = |pod| format!("10.{}.{}.{}", 128 + pod / 62_500, pod / 250 % 250, pod % 250 + 1);
    (0..endpoints).map(|nth| address(pod(nth))).collect()
}
