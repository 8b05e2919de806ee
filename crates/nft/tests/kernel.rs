//! The evaluator and the kernel agree.

mod support;
use evenkeel_model::Protocol;
use evenkeel_nft::Family;
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};
use support::network::{Network, Seen, at};

#[test]
fn smoke() {
    let t = Instant::now();
    let network = Network::new();
    eprintln!("{:?}", t.elapsed());
    for family in Family::ALL {
        for endpoint in at::endpoints(family) {
            for p in [Protocol::Tcp, Protocol::Udp] {
                for (ns, from) in [
                    (&network.outside, at::outside(family)),
                    (&network.pod, at::pod(family)),
                    (&network.node, at::node(family)),
                ] {
                    let t = Instant::now();
                    let seen = ns.ask(
                        p,
                        from,
                        SocketAddr::new(endpoint.ip, endpoint.port),
                        Duration::from_millis(300),
                    );
                    assert_eq!(seen, Seen::Answer { from: endpoint, client: from }, "{p:?} {from}");
                    if t.elapsed() > Duration::from_millis(10) {
                        eprintln!("{p:?} {from} {endpoint} {:?}", t.elapsed());
                    }
                }
            }
        }
    }
    eprintln!("{:?}", t.elapsed());
}
