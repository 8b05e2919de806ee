//! Changes, and refusals that name what was refused and leave everything as it was.

use core::net::{IpAddr, Ipv4Addr};

use evenkeel_model::{Backend, Protocol};
use evenkeel_nft::{
    By, ChainId, Change, Config, Create, Data, Element, Family, Key, Lane, Remove, SetId,
    Transaction, Verb, Verdict,
    chain::{From, Pick},
};
use evenkeel_proxy::netlink::nftables::{CommitError, Nftables, Operation, Ownership};
use rustix::io::Errno;

use super::ruleset::Sample;
use crate::namespace::{self, Namespace};

const ENDPOINTS: SetId = SetId::Endpoints(By::Address, Lane::Main);

fn pick(endpoints: u32) -> ChainId {
    let from = From::All(endpoints);
    ChainId::Pick(Pick { by: By::Address, lane: Lane::Main, sticky: None, from })
}

/// The n-th endpoint of a Service.
pub(super) fn endpoint(n: u32, port: u16) -> Element {
    let ip = |high: u32| IpAddr::V4(Ipv4Addr::from_bits(high << 24 | n));
    let key = Key::new().address(ip(10)).protocol(Protocol::Tcp).port(80).number(0);
    Element::new(Family::Ipv4, ENDPOINTS, key, Data::Backend(Backend { ip: ip(11), port }))
}

pub(super) fn changes(verb: Verb, elements: impl IntoIterator<Item = Element>) -> Vec<Change> {
    elements.into_iter().map(|element| Change { verb, element }).collect()
}

pub(super) fn commit(
    nftables: &mut Nftables,
    create: Vec<Create>,
    elements: Vec<Change>,
    remove: Vec<Remove>,
) -> Result<u32, CommitError> {
    let mut transaction = Transaction { create, elements, remove };
    transaction.settle();
    nftables.commit(&transaction, &Config::default(), Ownership::Shared, None)
}

fn listed(nftables: &mut Nftables) -> Vec<Element> {
    let mut elements = nftables.list(Family::Ipv4, "evenkeel").unwrap().unwrap().elements;
    elements.sort_by_key(Element::key);
    elements
}

#[test]
fn elements_chains_and_counters_change_in_one_transaction() {
    Namespace::new().enter(|| {
        let nftables = &mut Nftables::open().unwrap();
        let family = Family::Ipv4;
        let services = SetId::Services(By::Address, Lane::Main);
        let key = Key::new().address("10.96.0.1".parse().unwrap()).protocol(Protocol::Udp).port(53);
        let to = |n| Element::new(family, services, key, Data::Verdict(Verdict::Goto(pick(n))));
        let create = vec![
            Create::Table(family),
            Create::Chain(family, pick(2)),
            Create::Counter(family, "one".into()),
        ];
        let add = changes(Verb::Add, [to(2), endpoint(1, 80), endpoint(2, 80)]);
        commit(nftables, create, add, vec![]).unwrap();
        assert_eq!(listed(nftables).len(), 3);

        // The chain that elements led to goes with the change that leads them elsewhere.
        let mut moved = changes(Verb::Delete, [to(2), endpoint(1, 80), endpoint(2, 80)]);
        moved.extend(changes(Verb::Add, [to(1), endpoint(1, 81)]));
        let create = vec![Create::Chain(family, pick(1)), Create::Counter(family, "two".into())];
        let remove = vec![Remove::Chain(family, pick(2)), Remove::Counter(family, "one".into())];
        commit(nftables, create, moved, remove).unwrap();
        assert_eq!(listed(nftables), [to(1), endpoint(1, 81)]);
        let listing = nftables.list(family, "evenkeel").unwrap().unwrap();
        assert!(listing.chains.contains(&pick(1)) && !listing.chains.contains(&pick(2)));
        assert_eq!(listing.counters, ["two".into()]);
    });
}

#[test]
fn a_refused_element_is_named_and_nothing_changes() {
    Namespace::new().enter(|| {
        let nftables = &mut Nftables::open().unwrap();
        let table = vec![Create::Table(Family::Ipv4)];
        commit(nftables, table, changes(Verb::Add, [endpoint(777, 80)]), vec![]).unwrap();
        let before = nftables.generation().unwrap().id;

        // Many messages; one element of one of them is there already, with other data.
        let add = changes(Verb::Add, (0..9_000).map(|n| endpoint(n, 81)));
        let error = commit(nftables, vec![], add, vec![]).unwrap_err();
        let CommitError::Refused { operation, reason, .. } = &error else { panic!("{error}") };
        assert_eq!(reason.errno, Errno::EXIST);
        assert!(
            matches!(operation, Operation::Element { key, elements: 1, set: ENDPOINTS, .. }
                if key == "10.0.3.9 . tcp . 80 . 0"),
            "{error}"
        );
        assert!(error.to_string().contains("add element 10.0.3.9 . tcp . 80 . 0"), "{error}");

        let delete = changes(Verb::Delete, [endpoint(5, 80)]);
        let error = commit(nftables, vec![], delete, vec![]).unwrap_err().to_string();
        assert!(
            error.contains("delete element 10.0.0.5") && error.contains("endpoints"),
            "{error}"
        );
        assert_eq!(listed(nftables), [endpoint(777, 80)]);
        assert_eq!(nftables.generation().unwrap().id, before);
        // The socket goes on.
        commit(nftables, vec![], changes(Verb::Add, [endpoint(5, 80)]), vec![]).unwrap();
    });
}

#[test]
fn refused_chains_and_removals_are_named() {
    Namespace::new().enter(|| {
        let nftables = &mut Nftables::open().unwrap();
        let family = Family::Ipv4;
        let missing = vec![Create::Chain(family, pick(1))];
        let error = commit(nftables, missing, vec![], vec![]).unwrap_err();
        let CommitError::Refused { operation, .. } = &error else { panic!("{error}") };
        assert_eq!(*operation, Operation::CreateChain(family, pick(1)));

        let create = vec![Create::Table(family)];
        let remove = vec![Remove::Counter(family, "none".into())];
        let error = commit(nftables, create, vec![], remove).unwrap_err();
        let CommitError::Refused { operation, .. } = &error else { panic!("{error}") };
        assert_eq!(*operation, Operation::RemoveCounter(family, "none".into()));
        assert_eq!(nftables.table(family, "evenkeel").unwrap(), None);
    });
}

#[test]
fn without_the_privilege_the_message_says_so() {
    let sample = Sample::new(0, Family::Ipv4);
    let error = Namespace::new().enter(|| {
        let mut nftables = Nftables::open().unwrap();
        namespace::drop_net_admin();
        nftables.commit(&sample.transaction(), &sample.config, Ownership::Shared, None).unwrap_err()
    });
    assert!(error.to_string().contains("CAP_NET_ADMIN"), "{error}");
}
