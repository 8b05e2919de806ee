//! Many changes at once share commits, and the last state is the right one.

use std::time::Instant;

use serde_json::json;

use crate::{
    objects::{made_up, service},
    proxy::{Proxy, backends_of, elements},
    world::{World, until},
};

const SLICES: usize = 20;
const CHANGES: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_changes_of_slices_share_commits() {
    let world = World::start("storm").await;
    for at in 0..SLICES {
        let name = format!("web-{at}");
        world.service(service(&name, &format!("10.96.2.{at}"), &json!({}))).await;
        world.slice(made_up(&name, &name, addresses(at, 0))).await;
    }
    let a1 = world.network.host("node-a1");
    let proxy = Proxy::start(&world.client, a1).await;
    let before = proxy.metric("evenkeel_proxy_commits_total").await;
    let begun = Instant::now();
    let writers = (0..SLICES).map(|at| {
        let slices = world.slices();
        tokio::spawn(async move {
            let name = format!("web-{at}");
            for n in 1..=CHANGES {
                let slice = made_up(&name, &name, addresses(at, n));
                let patch = kube::api::Patch::Merge(json!({"endpoints": slice["endpoints"]}));
                slices.patch(&name, &kube::api::PatchParams::default(), &patch).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let written = begun.elapsed();
    let is_last = async || {
        let elements = elements(a1);
        (0..SLICES).all(|at| {
            let mut wanted: Vec<_> = addresses(at, CHANGES).map(std::net::IpAddr::from).collect();
            wanted.sort_unstable();
            backends_of(&elements, [10, 96, 2, at as u8]) == wanted
        })
    };
    let behind = until("the last state is in force", is_last).await;
    let commits = proxy.metric("evenkeel_proxy_commits_total").await - before;
    let changes = (SLICES * CHANGES) as f64;
    println!("{changes} changes in {written:?}: {commits} commits, in force {behind:?} later");
    assert!((1.0..changes * 0.9).contains(&commits), "{commits} commits");
    assert!(behind.as_secs() < 3, "in force {behind:?} after the last change");
    assert_eq!(proxy.metric("kubeproxy_sync_proxy_rules_nftables_sync_failures_total").await, 0.0);
    proxy.stop().await;
}

/// Of Service `at` after change `n`: some stay, some move, and there are more or fewer.
fn addresses(at: usize, n: usize) -> impl Iterator<Item = [u8; 4]> {
    let (count, first) = (3 + n % 5, n % 7);
    (first..first + count).map(move |last| [10, 9, at as u8, last as u8 + 1])
}
