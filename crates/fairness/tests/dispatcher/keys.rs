//! Names that were searched for so that they share a victim's queues.

use std::collections::BTreeSet;

use evenkeel_fairness::{
    Settings,
    dispatcher::Admission,
    flow::{FlowHash, FlowHasher, FlowKey},
    queues::stats::RejectReason,
    shard::Dealer,
};

use crate::{
    Server,
    support::{config, cost, level, queuing},
};

const QUEUES: u32 = 16;
const HAND: u32 = 2;
const LENGTH: u32 = 4;
const VICTIM: &str = "victim";

fn key(number: u8) -> FlowHash {
    FlowHash::Keyed(Some(FlowKey::new([number; 32])))
}

/// The queues of a flow of the schema `shared`.
fn hand(hash: FlowHash, flow: &str) -> BTreeSet<u32> {
    let hash = FlowHasher::new(hash).hash("shared", flow);
    let dealer = Dealer::new(QUEUES, HAND).expect("a small hand");
    dealer.deal(hash).iter().copied().collect()
}

/// The first names whose hand is the victim's, for who knows how flows are hashed.
fn colliding(hash: FlowHash, n: usize) -> Vec<String> {
    let victim = hand(hash, VICTIM);
    let names = (0..).map(|n| format!("mallory-{n}"));
    names.filter(|name| hand(hash, name) == victim).take(n).collect()
}

/// Mallory's flows fill all queues they can; then the victim comes.
fn rejected(hash: FlowHash, mallory: &[String]) -> Option<RejectReason> {
    let settings = Settings { flow_hash: hash, ..Settings::default() };
    let shared = level("shared", 1, queuing(QUEUES, HAND, LENGTH));
    let mut server = Server::new(config(vec![shared]), 1, settings);
    let mut handles = vec![server.run("shared")];
    for name in mallory {
        match server.admit_with("shared", name, cost(1)) {
            Admission::Waiting(handle) => handles.push(handle),
            Admission::Rejected { .. } => {}
            Admission::Dispatched(_) => panic!("the seat is taken"),
        }
    }
    match server.admit_with("shared", VICTIM, cost(1)) {
        Admission::Rejected { reason, .. } => Some(reason),
        _ => None,
    }
}

#[test]
fn names_searched_for_offline_starve_a_victim_only_if_the_hash_is_known() {
    let mallory = colliding(FlowHash::Unkeyed, 20);
    assert_eq!(rejected(FlowHash::Unkeyed, &mallory), Some(RejectReason::QueueFull));
    for number in 1..=20 {
        assert_eq!(rejected(key(number), &mallory), None, "key {number}");
    }
    // Nor does the key of another process help.
    let mallory = colliding(key(1), 20);
    assert_eq!(rejected(key(1), &mallory), Some(RejectReason::QueueFull));
    assert_eq!(rejected(key(2), &mallory), None);
}

/// Of 120 hands one is the victim's.
#[test]
fn under_another_key_names_share_a_hand_as_often_as_any() {
    let mallory = colliding(FlowHash::Unkeyed, 200);
    let shared = |number| {
        let victim = hand(key(number), VICTIM);
        mallory.iter().filter(|name| hand(key(number), name) == victim).count()
    };
    let all: usize = (1..=30).map(shared).sum();
    assert!((25..=80).contains(&all), "{all} of 6,000; 50 are expected");
}

#[test]
fn only_the_default_profile_hashes_under_a_key() {
    for (settings, keyed) in [
        (Settings::kubernetes(), false),
        (Settings::proposal(), false),
        (Settings::default(), true),
    ] {
        assert_eq!(matches!(settings.flow_hash, FlowHash::Keyed(None)), keyed);
    }
}
