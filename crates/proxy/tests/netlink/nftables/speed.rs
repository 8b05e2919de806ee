//! Large commits and listings work, and take time in proportion. Figures are printed, not judged:
//! `cargo xtask bench proxy` measures.

use std::time::{Duration, Instant};

use evenkeel_nft::{Create, Family, Verb};
use evenkeel_proxy::netlink::nftables::Nftables;

use super::commit::{changes, commit, endpoint};
use crate::namespace::Namespace;

#[test]
fn a_large_table_is_committed_listed_and_changed() {
    let n = 60_000;
    Namespace::new().enter(|| {
        let nftables = &mut Nftables::open().unwrap();
        let add = changes(Verb::Add, (0..n).map(|n| endpoint(n, 80)));
        let committed = time(|| {
            commit(nftables, vec![Create::Table(Family::Ipv4)], add, vec![]).unwrap();
        });
        let mut listed = 0;
        let listing = time(|| {
            listed = nftables.list(Family::Ipv4, "evenkeel").unwrap().unwrap().elements.len();
        });
        assert_eq!(listed, n as usize);
        let mut change = changes(Verb::Delete, [endpoint(7, 80)]);
        change.extend(changes(Verb::Add, [endpoint(7, 81)]));
        let changed = time(|| {
            commit(nftables, vec![], change, vec![]).unwrap();
        });
        println!("commit {committed:?}, list {listing:?}, one change {changed:?}");
        let bound = Duration::from_secs(20);
        assert!(committed < bound && listing < bound && changed < bound);
    });
}

fn time(act: impl FnOnce()) -> Duration {
    let start = Instant::now();
    act();
    start.elapsed()
}
