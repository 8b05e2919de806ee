//! A listing gives back what was committed.

use std::collections::BTreeSet;

use evenkeel_nft::{Element, Family, MOST_AFFINITIES, fixed_chains, rules, text};
use evenkeel_proxy::netlink::nftables::{Listing, Nftables, Ownership};

use super::ruleset::Sample;
use crate::namespace::Namespace;

fn sorted(elements: &[Element]) -> Vec<Element> {
    let mut elements = elements.to_vec();
    elements.sort_by_key(Element::key);
    elements
}

fn check(listing: &Listing, sample: &Sample) {
    assert_eq!(listing.foreign, Vec::<String>::new());
    assert_eq!(sorted(&listing.elements), sorted(&sample.elements));
    let counters: BTreeSet<_> = listing.counters.iter().cloned().collect();
    assert_eq!(counters, sample.counters.iter().cloned().collect());
    assert_eq!(listing.sets, text::sets(&sample.config).collect::<Vec<_>>());
    let mut chains = fixed_chains(&sample.config, sample.family);
    chains.extend(&sample.chains);
    chains.sort_unstable();
    assert_eq!(listing.chains, chains);
    let n_rules: usize =
        chains.iter().map(|chain| rules(*chain, &sample.config, sample.family).len()).sum();
    assert_eq!(listing.rules.len(), n_rules);
    let adopted = listing.clone().adopted(sample.family, &sample.config);
    assert!(!adopted.is_foreign);
}

#[test]
fn a_listing_gives_back_the_value() {
    let namespace = Namespace::new();
    namespace.enter(|| {
        let mut nftables = Nftables::open().unwrap();
        for seed in 0..12 {
            for family in Family::ALL {
                let sample = Sample::new(seed, family);
                let transaction = sample.transaction();
                let generation = nftables
                    .commit(&transaction, &sample.config, Ownership::OwnedPersistent, None)
                    .unwrap();
                let listing = nftables.list(family, "evenkeel").unwrap().unwrap();
                check(&listing, &sample);
                assert_eq!(listing.generation, generation);
                assert_eq!(listing.table.owner, Some(nftables.port()));
            }
        }
    });
}

#[test]
fn what_nft_loaded_is_listed_alike() {
    let namespace = Namespace::new();
    for family in Family::ALL {
        let sample = Sample::new(5, family);
        namespace.exec_with_input("nft -f -", &sample.text());
        namespace.enter(|| {
            let listing = Nftables::open().unwrap().list(family, "evenkeel").unwrap().unwrap();
            check(&listing, &sample);
            assert_eq!((listing.table.owner, listing.table.flags), (None, 0));
        });
    }
}

#[test]
fn foreign_objects_are_named_and_other_tables_left_out() {
    let namespace = Namespace::new();
    let sample = Sample::new(1, Family::Ipv4);
    namespace.exec_with_input("nft -f -", &sample.text());
    namespace.exec_with_input(
        "nft -f -",
        "table ip evenkeel {
           chain stranger { counter comment \"x\"; }
           set odd { type mark; }
         }
         add element ip evenkeel services { 192.0.2.9 . tcp . 9 : jump stranger }
         table ip other {
           chain services { drop; }
           set firewall { type mark; }
         }
         table ip6 evenkeel {
           chain elsewhere { drop; }
         }
",
    );
    namespace.enter(|| {
        let mut nftables = Nftables::open().unwrap();
        let listing = nftables.list(Family::Ipv4, "evenkeel").unwrap().unwrap();
        assert_eq!(listing.foreign, ["stranger", "odd", "services"]);
        assert_eq!(sorted(&listing.elements), sorted(&sample.elements));
        let stranger: Vec<_> =
            listing.rules.iter().filter(|rule| rule.chain == "stranger").collect();
        assert_eq!(stranger.len(), 1);
        assert!(!stranger[0].user_data.is_empty());
        assert_eq!(nftables.list(Family::Ipv6, "absent").unwrap(), None);
    });
}

/// Each of these leaves names and numbers of objects as they are, or nearly so.
#[test]
fn edits_are_noticed() {
    let namespace = Namespace::new();
    let sample = Sample::new(1, Family::Ipv4);
    let is_foreign = || {
        namespace.enter(|| {
            let listing = Nftables::open().unwrap().list(Family::Ipv4, "evenkeel");
            listing.unwrap().unwrap().adopted(Family::Ipv4, &sample.config).is_foreign
        })
    };
    for edit in [
        "replace rule ip evenkeel prerouting handle HANDLE counter",
        "replace rule ip evenkeel prerouting handle HANDLE goto services",
        "replace rule ip evenkeel prerouting handle HANDLE jump nodeports",
        "replace rule ip evenkeel prerouting handle HANDLE jump services comment \"x\"",
        "delete rule ip evenkeel prerouting handle HANDLE",
        "add rule ip evenkeel services accept",
        "add chain ip evenkeel postrouting { policy drop; }",
        "add set ip evenkeel other { type mark; }",
    ] {
        namespace.exec_with_input("nft -f -", &sample.text());
        assert!(!is_foreign(), "before: {edit}");
        let handle = namespace.enter(|| {
            let listing = Nftables::open().unwrap().list(Family::Ipv4, "evenkeel");
            let rules = listing.unwrap().unwrap().rules;
            rules.iter().find(|rule| rule.chain == "prerouting").unwrap().handle
        });
        namespace.exec_with_input("nft -f -", &edit.replace("HANDLE", &handle.to_string()));
        assert!(is_foreign(), "{edit}");
    }
    // A map in use can't be replaced, so this one is smaller from the start.
    let smaller = sample.text().replace(&MOST_AFFINITIES.to_string(), "1000");
    namespace.exec_with_input("nft -f -", &smaller);
    assert!(is_foreign());
}

#[test]
fn counters_are_read() {
    let namespace = Namespace::new();
    namespace.exec_with_input(
        "nft -f -",
        "table ip evenkeel { counter a { packets 7 bytes 70; }; counter b { }; quota q { 1 mbytes; }; }
         table ip other { counter c { packets 9 bytes 90; }; }
         table ip6 evenkeel { counter d { packets 1 bytes 1; }; }",
    );
    let counters =
        namespace.enter(|| Nftables::open().unwrap().counters(Family::Ipv4, "evenkeel").unwrap());
    let mut counters: Vec<_> =
        counters.into_iter().map(|counter| (counter.name, counter.packets)).collect();
    counters.sort();
    assert_eq!(counters, [("a".to_owned(), 7), ("b".to_owned(), 0)]);
}
