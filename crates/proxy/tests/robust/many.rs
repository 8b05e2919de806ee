//! Very many endpoints: time in proportion, and all of them in the kernel.

use std::{fs, time::Duration};

use evenkeel_k8s::watched;
use evenkeel_model::Watched;
use evenkeel_proxy::{
    Settings,
    engine::Engine,
    netlink::nftables::{Nftables, Ownership},
};
use evenkeel_testkit::netns::Network;
use serde_json::json;

use crate::objects::made_up;

/// Endpoints of a slice, as Kubernetes' own controller writes them at most.
const PER_SLICE: usize = 1_000;

#[test]
fn a_service_may_have_a_hundred_thousand_endpoints() {
    let network = Network::new(&[("node-a1", "zone-a")]);
    network.host("node-a1").run(|| {
        let (small, large) = (fill(1, 25_000), fill(1, 100_000));
        println!("one Service: 25,000 endpoints in {small:?}, 100,000 in {large:?}");
        assert!(large < small.max(Duration::from_millis(100)) * 10, "{small:?}, {large:?}");
    });
}

#[test]
fn there_may_be_a_quarter_of_a_million_endpoints() {
    let network = Network::new(&[("node-a1", "zone-a")]);
    network.host("node-a1").run(|| {
        let (small, large) = (fill(50, 62_500), fill(50, 250_000));
        println!("50 Services: 62,500 endpoints in {small:?}, 250,000 in {large:?}");
        assert!(large < small.max(Duration::from_millis(100)) * 10, "{small:?}, {large:?}");
    });
}

/// The processor's time from objects to the kernel, without that of the API. Then one endpoint more, which must
/// not cost what all cost.
fn fill(services: usize, endpoints: usize) -> Duration {
    let mut engine = Engine::new(Settings::new("node-a1").engine);
    let config = engine.ruleset().config().clone();
    let mut nftables = Nftables::open().unwrap();
    engine.addresses(vec![]);
    engine.node(Watched::Complete);
    for at in 0..services {
        let service = json!({
            "metadata": {"name": format!("web-{at}"), "namespace": "n", "resourceVersion": "1"},
            "spec": {"clusterIP": format!("10.96.3.{at}"), "clusterIPs": [format!("10.96.3.{at}")],
                "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
        });
        let service: watched::Service = serde_json::from_value(service).unwrap();
        engine.service(Watched::Listed(service.seen()));
    }
    engine.service(Watched::Complete);
    let per_service = endpoints / services;
    for at in 0..services {
        for first in (0..per_service).step_by(PER_SLICE) {
            let numbers = first..per_service.min(first + PER_SLICE);
            let seen = slice(&mut engine, at, first, numbers.map(|n| at * per_service + n));
            engine.slice(Watched::Listed(seen));
        }
    }
    engine.slice(Watched::Complete);
    let begun = on_cpu();
    let transaction = engine.sync();
    nftables.commit(&transaction, &config, Ownership::OwnedPersistent, None).unwrap();
    let took = on_cpu() - begun;
    assert!(transaction.elements.len() >= endpoints);

    let seen = slice(&mut engine, 0, 1, [endpoints].into_iter());
    engine.slice(Watched::Applied(seen));
    let one = engine.sync();
    assert!(one.elements.len() <= 3, "{} elements for one endpoint", one.elements.len());
    nftables.commit(&one, &config, Ownership::OwnedPersistent, None).unwrap();
    took
}

/// For how long this thread ran, in the kernel too. Others that run beside it don't count.
fn on_cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

fn slice(
    engine: &mut Engine,
    service: usize,
    first: usize,
    numbers: impl Iterator<Item = usize>,
) -> evenkeel_model::SeenSlice {
    let address = |n: usize| [10, 128 + (n >> 16) as u8, (n >> 8) as u8, n as u8];
    let name = format!("web-{service}-{first}");
    let mut value = made_up(&format!("web-{service}"), &name, numbers.map(address));
    value["metadata"]["namespace"] = "n".into();
    value["metadata"]["resourceVersion"] = "1".into();
    let slice: watched::EndpointSlice = serde_json::from_value(value).unwrap();
    slice.seen(engine.names_mut()).unwrap()
}
