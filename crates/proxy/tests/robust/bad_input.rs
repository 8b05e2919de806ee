//! Objects that ask for too much, through the API, with traffic.

use evenkeel_testkit::netns::{Failure, Port};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

use crate::{
    foreign::{listed, web},
    objects::{State, service, slice},
    proxy::Proxy,
    world::{PORT, World, until},
};

/// The first by name has an address that several request; the next gets it when it goes. Who waits is
/// reported.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_served_for_the_first_service_that_requests_it() {
    let (world, backends) = web("contested").await;
    world.patch_service("web", json!({"spec": {"externalIPs": ["192.0.2.80"]}})).await;
    let other = json!({"externalIPs": ["192.0.2.80"]});
    world.service(service("api", "10.96.1.2", &other)).await;
    world.slice(slice("api", "api-1", [(&backends[0].pod, State::Ready)])).await;
    world
        .patch_slice(
            "web-1",
            &json!({"endpoints": crate::objects::endpoints([(&backends[1].pod, State::Ready)])}),
        )
        .await;
    let (a1, to) = (world.network.host("node-a1"), "192.0.2.80:80".parse().unwrap());
    let reports = |settings: &mut evenkeel_proxy::Settings| {
        settings.reports = Some("default".to_owned());
    };
    let proxy = Proxy::with(&world.client, a1, reports).await.unwrap();
    let tally = a1.http_many(to, 20);
    assert_eq!((tally.by_pod().get("p0"), tally.failures.len()), (Some(&20), 0));
    assert_eq!(a1.http_many("10.96.1.1:80".parse().unwrap(), 20).failures, []);
    assert_eq!(proxy.metric("evenkeel_proxy_contested_frontends").await, 1.0);
    let reported = async || {
        let leases: Api<Lease> = Api::default_namespaced(world.client.clone());
        let leases = leases.list(&ListParams::default()).await.unwrap();
        leases.items.iter().any(|lease| {
            let text = serde_json::to_string(lease).unwrap();
            text.contains("FrontendContested") && text.contains("default/web")
        })
    };
    until("who waits is reported", reported).await;

    world.delete_service("api").await;
    until("the other has it", async || a1.http(to).is_ok_and(|answer| answer.pod == "p1")).await;
    assert_eq!(a1.http_many(to, 20).by_pod().len(), 1);
    until("nothing is contested", async || {
        proxy.metric("evenkeel_proxy_contested_frontends").await == 0.0
    })
    .await;
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_may_have_a_thousand_ports_and_the_last_one_too() {
    let (world, backends) = web("ports").await;
    let a1 = world.network.host("node-a1");
    let number = |n: u32| if n == 1_000 { 65_535 } else { n };
    let ports = |port: &dyn Fn(u32) -> Value| -> Vec<Value> { (1..=1_000).map(port).collect() };
    let of_service = ports(&|n| json!({"name": format!("p{n}"), "port": number(n)}));
    world.service(service("wide", "10.96.1.3", &json!({"ports": of_service}))).await;
    let mut wide = slice("wide", "wide-1", [(&backends[1].pod, State::Ready)]);
    wide["ports"] = ports(&|n| json!({"name": format!("p{n}"), "port": PORT})).into();
    world.slice(wide).await;
    let proxy = Proxy::start(&world.client, a1).await;
    for port in [1, 2, 500, 999, 65_535] {
        let tally = a1.http_many((std::net::Ipv4Addr::new(10, 96, 1, 3), port).into(), 5);
        assert_eq!((tally.by_pod().get("p1"), tally.failures.len()), (Some(&5), 0), "{port}");
    }
    let closed = a1.http("10.96.1.3:1000".parse().unwrap());
    assert_eq!(closed, Err(Failure::Refused), "a port that the Service does not have");
    world.delete_service("wide").await;
    until("all of it is gone", async || !listed(a1).contains("10.96.1.3")).await;
    proxy.stop().await;
}

/// Two slices with the same endpoint: it counts once, and stays until both are without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_in_two_slices_counts_once() {
    let (world, backends) = web("twice").await;
    let (a1, to) = (world.network.host("node-a1"), "10.96.1.1:80".parse().unwrap());
    world.slice(slice("web", "web-2", [(&backends[0].pod, State::Ready)])).await;
    let proxy = Proxy::start(&world.client, a1).await;
    let tally = a1.http_many(to, 200);
    let first = tally.by_pod()["p0"];
    assert!((60..=140).contains(&first), "{first} of 200 at one of two");
    world.patch_slice("web-1", &json!({"endpoints": []})).await;
    until("only one is left", async || a1.http_many(to, 10).by_pod().len() == 1).await;
    assert_eq!(a1.http(to).unwrap().pod, "p0");
    proxy.stop().await;
}

/// A Pod that reaches itself needs the mark.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bit_of_the_mark_can_be_used() {
    let world = World::start("mark").await;
    let a1 = world.network.host("node-a1");
    let pod = a1.pod("self");
    let _server = pod.serve(&[Port::Http(PORT)]);
    world.service(service("web", "10.96.1.1", &json!({}))).await;
    world.slice(slice("web", "web-1", [(&pod, State::Ready)])).await;
    for bit in [0, 31] {
        let settings = |settings: &mut evenkeel_proxy::Settings| settings.engine.nft.mark_bit = bit;
        let proxy = Proxy::with(&world.client, a1, settings).await.unwrap();
        let answer = pod.http("10.96.1.1:80".parse().unwrap()).unwrap();
        assert_eq!(answer.client.ip(), a1.v4, "bit {bit}: masqueraded");
        proxy.stop().await;
    }
}
