//! A commit gives what `nft -f` makes of the text.

use std::collections::BTreeMap;

use evenkeel_nft::Family;
use evenkeel_proxy::netlink::nftables::{Nftables, Ownership};
use serde_json::Value;

use super::ruleset::Sample;
use crate::namespace::Namespace;

#[test]
fn a_commit_equals_loading_the_text() {
    let (by_netlink, by_nft) = (Namespace::new(), Namespace::new());
    for seed in 0..8 {
        for family in Family::ALL {
            let sample = Sample::new(seed, family);
            by_netlink.enter(|| {
                let mut nftables = Nftables::open().unwrap();
                let transaction = sample.transaction();
                nftables.commit(&transaction, &sample.config, Ownership::Shared, None).unwrap();
            });
            by_nft.exec_with_input("nft -f -", &sample.text());
            let (committed, loaded) = (objects(&by_netlink, family), objects(&by_nft, family));
            for (name, object) in &loaded {
                assert_eq!(committed.get(name), Some(object), "seed {seed}: {name}");
            }
            assert_eq!(committed.len(), loaded.len(), "seed {seed}");
            assert_eq!(expressions(&by_netlink, family), expressions(&by_nft, family));
        }
    }
}

/// What `nft` prints of a commit loads again.
#[test]
fn the_listing_of_a_commit_loads_again() {
    let namespace = Namespace::new();
    for family in Family::ALL {
        let sample = Sample::new(3, family);
        namespace.enter(|| {
            let mut nftables = Nftables::open().unwrap();
            let transaction = sample.transaction();
            nftables.commit(&transaction, &sample.config, Ownership::Shared, None).unwrap();
        });
        let before = objects(&namespace, family);
        let text = namespace.exec(&format!("nft list table {family} evenkeel"));
        namespace.exec(&format!("nft delete table {family} evenkeel"));
        namespace.exec_with_input("nft -f -", &text);
        assert_eq!(objects(&namespace, family), before);
    }
}

/// The objects of the table by kind and name, rules in the order of their chain, without handles.
fn objects(namespace: &Namespace, family: Family) -> BTreeMap<String, Vec<Value>> {
    let json = namespace.exec(&format!("nft -j list table {family} evenkeel"));
    let listing: Value = serde_json::from_str(&json).unwrap();
    let mut objects: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for object in listing["nftables"].as_array().unwrap() {
        let (kind, value) = object.as_object().unwrap().iter().next().unwrap();
        let mut value = value.clone();
        if kind == "metainfo" {
            continue;
        }
        value.as_object_mut().unwrap().remove("handle");
        if let Some(elements) = value.get_mut("elem").and_then(Value::as_array_mut) {
            elements.sort_by_cached_key(Value::to_string);
        }
        let of = if kind == "rule" { "chain" } else { "name" };
        let name = format!("{kind} {}", value[of].as_str().unwrap_or_default());
        objects.entry(name).or_default().push(value);
    }
    objects
}

/// The kernel's expressions of each chain, line by line.
///
/// In keys of sets with ranges, `nft` turns the byte order of the protocol, which is one byte: the
/// kernel does nothing then, and the expression is left out here.
fn expressions(namespace: &Namespace, family: Family) -> BTreeMap<String, Vec<String>> {
    let text = namespace.exec(&format!("nft --debug=netlink list table {family} evenkeel"));
    let mut chains: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut chain = String::new();
    let of = format!("{family} evenkeel ");
    for line in text.lines().take_while(|line| !line.starts_with("table")) {
        if let Some(rule) = line.strip_prefix(&of) {
            chain = rule.split(' ').next().unwrap_or_default().to_owned();
        } else if line.starts_with("  [") && !line.contains("byteorder") {
            chains.entry(chain.clone()).or_default().push(line.to_owned());
        }
    }
    assert!(chains.len() > 10, "{text}");
    chains
}
