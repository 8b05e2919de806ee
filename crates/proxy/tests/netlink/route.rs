use std::time::Duration;

use evenkeel_proxy::netlink::route::{Address, AddressWatch, Addresses, Scope};
use rustix::net::sockopt::set_socket_recv_buffer_size;

use crate::namespace::Namespace;

fn find<'a>(addresses: &'a [Address], address: &str) -> Option<&'a Address> {
    addresses.iter().find(|found| found.address == address.parse::<core::net::IpAddr>().unwrap())
}

#[test]
fn addresses_are_listed_with_interface_scope_and_flags() {
    let namespace = Namespace::new();
    namespace.exec("ip link add eth0 type veth peer name eth1");
    namespace.exec("ip link set eth0 up");
    namespace.exec("ip link set eth1 up");
    namespace.exec("ip addr add 192.0.2.1/24 dev eth0");
    namespace.exec("ip addr add 192.0.2.2/24 dev eth0");
    namespace.exec("ip addr add 198.51.100.1 peer 198.51.100.2/32 dev eth0");
    namespace.exec("ip -6 addr add 2001:db8::1/64 dev eth0 preferred_lft 0 nodad");
    let list = namespace.enter(|| Addresses::open().unwrap().list().unwrap());

    let loopback = find(&list, "127.0.0.1").unwrap();
    assert_eq!((loopback.interface.as_str(), loopback.prefix_length), ("lo", 8));
    assert_eq!((loopback.interface_index, loopback.scope), (1, Scope::Host));
    let first = find(&list, "192.0.2.1").unwrap();
    assert_eq!((first.interface.as_str(), first.scope), ("eth0", Scope::Global));
    assert!(!first.secondary && find(&list, "192.0.2.2").unwrap().secondary);
    assert_eq!(find(&list, "198.51.100.1").unwrap().prefix_length, 32);
    assert!(find(&list, "198.51.100.2").is_none());
    let v6 = find(&list, "2001:db8::1").unwrap();
    assert_eq!((v6.deprecated, v6.tentative, v6.prefix_length), (true, false, 64));
    assert!(list.iter().any(|address| address.scope == Scope::Link && address.address.is_ipv6()));
}

#[test]
fn a_change_is_seen_once() {
    let namespace = Namespace::new();
    namespace.enter(|| {
        let mut addresses = Addresses::open().unwrap();
        addresses.list().unwrap();
        assert!(!addresses.changed().unwrap());
        namespace.exec("ip addr add 192.0.2.1/24 dev lo");
        assert!(addresses.changed().unwrap());
        assert!(!addresses.changed().unwrap());
        namespace.exec("ip addr del 192.0.2.1/24 dev lo");
        assert!(find(&addresses.list().unwrap(), "192.0.2.1").is_none());
        assert!(!addresses.changed().unwrap());
    });
}

#[test]
fn a_task_waits_for_changes() {
    let namespace = Namespace::new();
    namespace.enter(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut watch = AddressWatch::new(Addresses::open().unwrap()).unwrap();
            watch.list().unwrap();
            let quiet = tokio::time::timeout(Duration::from_millis(50), watch.changed()).await;
            assert!(quiet.is_err());
            for command in ["add", "del"] {
                namespace.exec(&format!("ip -6 addr {command} 2001:db8::5/128 dev lo"));
                let changed = tokio::time::timeout(Duration::from_secs(5), watch.changed()).await;
                changed.unwrap().unwrap();
                let present = find(&watch.list().unwrap(), "2001:db8::5").is_some();
                assert_eq!(present, command == "add");
            }
        });
    });
}

/// The kernel drops events that find no room, and says so once.
#[test]
fn lost_events_count_as_a_change() {
    let namespace = Namespace::new();
    namespace.enter(|| {
        let mut addresses = Addresses::open().unwrap();
        set_socket_recv_buffer_size(&addresses, 1).unwrap();
        let commands: String =
            (0..200).map(|host| format!("addr add 10.0.0.{host}/32 dev lo\n")).collect();
        namespace.exec_with_input("ip -batch -", &commands);
        assert!(addresses.changed().unwrap());
        assert!(addresses.list().unwrap().len() >= 200);
    });
}
