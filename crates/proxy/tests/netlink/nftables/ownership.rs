//! Tables with an owner, generations, and tables of others.

use evenkeel_nft::{Family, Transaction};
use evenkeel_proxy::netlink::nftables::{CommitError, Nftables, Ownership};

use super::ruleset::Sample;
use crate::namespace::Namespace;

fn commit(nftables: &mut Nftables, sample: &Sample) -> Result<u32, CommitError> {
    let owned = Ownership::OwnedPersistent;
    nftables.commit(&sample.transaction(), &sample.config, owned, None)
}

#[test]
fn an_owned_table_is_safe_from_others_and_can_be_adopted() {
    let namespace = Namespace::new();
    let sample = Sample::new(1, Family::Ipv4);
    let table = |nftables: &mut Nftables| nftables.table(Family::Ipv4, "evenkeel").unwrap();
    namespace.enter(|| {
        let mut first = Nftables::open().unwrap();
        assert!(first.supports_ownership().unwrap());
        commit(&mut first, &sample).unwrap();
        let owned = table(&mut first).unwrap();
        assert_eq!((owned.owner, owned.is_orphan()), (Some(first.port()), false));
        let before = namespace.exec("nft list table ip evenkeel");

        namespace.exec("nft flush ruleset");
        assert!(!namespace.succeeds("nft add rule ip evenkeel services drop"));
        assert!(!namespace.succeeds("nft delete table ip evenkeel"));
        assert_eq!(namespace.exec("nft list table ip evenkeel"), before);

        let mut second = Nftables::open().unwrap();
        assert!(second.adopt(Family::Ipv4, "evenkeel").is_err());
        let error = commit(&mut second, &sample).unwrap_err().to_string();
        assert!(error.contains("owned by another process"), "{error}");

        drop(first);
        // A process that another test starts holds the closed socket until it runs its program.
        let begun = std::time::Instant::now();
        while !table(&mut second).unwrap().is_orphan() && begun.elapsed().as_secs() < 5 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let orphan = table(&mut second).unwrap();
        assert!(orphan.is_orphan() && orphan.handle == owned.handle);
        second.adopt(Family::Ipv4, "evenkeel").unwrap();
        let adopted = table(&mut second).unwrap();
        assert_eq!((adopted.owner, adopted.handle), (Some(second.port()), owned.handle));
        namespace.exec("nft flush ruleset");
        assert_eq!(table(&mut second), Some(adopted));

        commit(&mut second, &sample).unwrap();
        assert!(table(&mut second).unwrap().handle > owned.handle);
        assert!(second.delete_table(Family::Ipv4, "evenkeel").unwrap());
        assert!(!second.delete_table(Family::Ipv4, "evenkeel").unwrap());
    });
}

/// A table of an older version, without flags, is replaced by an owned one in one transaction.
#[test]
fn a_shared_table_and_an_orphan_can_be_replaced_by_an_owned_one() {
    let namespace = Namespace::new();
    let sample = Sample::new(2, Family::Ipv6);
    namespace.exec_with_input("nft -f -", &sample.text());
    namespace.enter(|| {
        for _ in 0..2 {
            let mut nftables = Nftables::open().unwrap();
            let begun = std::time::Instant::now();
            while let Err(error) = commit(&mut nftables, &sample) {
                assert!(begun.elapsed().as_secs() < 5, "{error}");
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            let table = nftables.table(Family::Ipv6, "evenkeel").unwrap().unwrap();
            assert_eq!(table.owner, Some(nftables.port()));
        }
    });
}

#[test]
fn asking_for_support_changes_nothing() {
    let namespace = Namespace::new();
    namespace.enter(|| {
        let mut nftables = Nftables::open().unwrap();
        let before = nftables.generation().unwrap();
        nftables.supports_ownership().unwrap();
        assert_eq!(nftables.generation().unwrap(), before);
    });
    assert_eq!(namespace.exec("nft list ruleset"), "");
}

#[test]
fn commits_of_others_raise_the_generation() {
    let namespace = Namespace::new();
    let sample = Sample::new(1, Family::Ipv4);
    namespace.enter(|| {
        let mut nftables = Nftables::open().unwrap();
        let mine = commit(&mut nftables, &sample).unwrap();
        assert_eq!(nftables.generation().unwrap().id, mine);
        // Without changes nothing is sent.
        let nothing = Transaction::default();
        let at = nftables.commit(&nothing, &sample.config, Ownership::Shared, Some(mine));
        assert_eq!(at, Ok(mine));

        let again = sample.transaction();
        let owned = Ownership::OwnedPersistent;
        let next = nftables.commit(&again, &sample.config, owned, Some(mine)).unwrap();
        assert!(next > mine);
        namespace.exec("nft add table ip other");
        let refused = nftables.commit(&again, &sample.config, owned, Some(next));
        assert_eq!(refused, Err(CommitError::OtherGeneration { expected: next }));
        assert_eq!(nftables.generation().unwrap().id, next + 1);
    });
}
