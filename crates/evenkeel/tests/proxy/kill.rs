//! `kill -9` at any moment: no connection fails, and the next proxy makes of it what it should be.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use evenkeel_proxy::netlink::nftables::Nftables;
use evenkeel_testkit::netns::{Namespace, Protocol};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::sleep,
};

use crate::{
    process::ran,
    shape::{assert_alike, elements},
    world::{World, evenkeel},
};

const SHARES: &str = r#"{"zone-a":{"zone-a":600,"zone-b":400}}"#;
const NAMES: [&str; 3] = ["plain", "sticky", "shared"];
const KILLS: u64 = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_connection_fails_and_the_state_is_right_after_any_kill() {
    let world = World::start("kill").await;
    let plain = json!({"type": "NodePort", "externalTrafficPolicy": "Local"});
    world.service("plain", "10.96.1.1", plain, None).await;
    world.service("sticky", "10.96.1.2", json!({"sessionAffinity": "ClientIP"}), None).await;
    world.service("shared", "10.96.1.3", json!({}), Some(SHARES)).await;
    let mut first = world.proxy(&[]);
    first.ready();
    let loads = ["10.96.1.1:80", "10.96.1.2:80", "10.96.1.3:80"]
        .map(|to| world.a1().load(Protocol::Http, to.parse().unwrap(), 200));
    let (stop, changes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let slices: Api<EndpointSlice> = Api::default_namespaced(world.client.clone());
    let all = world.endpoints();
    let changing = tokio::spawn(change(slices, all, Arc::clone(&stop), Arc::clone(&changes)));
    first.process.kill();
    for round in 0..KILLS {
        let mut proxy = world.proxy(&[]);
        // At every stage of its life: before its lists, in its first commit, and later.
        if round % 3 == 2 {
            proxy.ready();
        }
        sleep(Duration::from_millis(30 + round * 37 % 250)).await;
        proxy.process.kill();
    }
    stop.store(true, Ordering::Relaxed);
    changing.await.unwrap();

    let mut last = world.proxy(&[]);
    last.ready();
    let tallies = loads.map(evenkeel_testkit::netns::Load::stop);
    let n: usize = tallies.iter().map(|tally| tally.answers.len()).sum();
    println!("{KILLS} kills, {} changes, {n} connections", changes.load(Ordering::Relaxed));
    for tally in &tallies {
        assert_eq!(tally.failures, [], "of {}", tally.answers.len());
    }
    let expected = rendered(&world);
    assert_alike(&elements(world.a1()), &expected);
    last.process.kill();
    restart_commits_nothing(&world).await;
}

/// Takes endpoints out of slices and puts them back, all the time.
async fn change(
    slices: Api<EndpointSlice>,
    all: Vec<Value>,
    stop: Arc<AtomicBool>,
    changes: Arc<AtomicUsize>,
) {
    while !stop.load(Ordering::Relaxed) {
        let n = changes.fetch_add(1, Ordering::Relaxed);
        let is_there = |at: usize| at == n % 2 || n / 2 % 4 == at || n / 3 % 2 == at % 2;
        let there = all.iter().enumerate().filter(|(at, _)| is_there(*at));
        let endpoints: Vec<&Value> = there.map(|(_, endpoint)| endpoint).collect();
        let patch = Patch::Merge(json!({"endpoints": endpoints}));
        slices.patch(NAMES[n % 3], &PatchParams::default(), &patch).await.unwrap();
        sleep(Duration::from_millis(4)).await;
    }
}

/// What `evenkeel proxy render` prints, loaded with `nft -f` into the other node's namespace.
fn rendered(world: &World) -> Vec<evenkeel_nft::Element> {
    let kubeconfig = world.kubeconfig();
    let ran = ran(&mut evenkeel(&[&["proxy", "render"], &world.args(&kubeconfig)[..]].concat()));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let other = world.network.host("node-b1");
    other.nft(&ran.out);
    elements(other)
}

async fn restart_commits_nothing(world: &World) {
    let before = (elements(world.a1()), generation(world.a1()));
    let mut proxy = world.proxy(&[]);
    let metrics = get(&proxy.ready()).await;
    assert!(metrics.contains("\nevenkeel_proxy_commits_total 0\n"), "{metrics}");
    assert_eq!(elements(world.a1()), before.0);
    // Ownership of each table is a commit.
    assert_eq!(generation(world.a1()), before.1 + 2);
    assert_eq!(proxy.process.stop(), Some(0));
}

fn generation(namespace: &Namespace) -> u32 {
    namespace.run(|| Nftables::open().unwrap().generation().unwrap().id)
}

async fn get(address: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}
