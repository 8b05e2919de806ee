//! The names and addresses in a serving certificate.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// A host name or address in a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Dns(String),
    Address(IpAddr),
}

const DNS: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// All names of a server that listens on `listen` and has the first address of each service range.
pub(crate) fn names(listen: SocketAddr, services: &[IpAddr]) -> Vec<Name> {
    let mut names: Vec<Name> = DNS.iter().map(|name| Name::Dns((*name).to_owned())).collect();
    names.extend(host_name().map(Name::Dns));
    let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let reached =
        if listen.ip().is_unspecified() { outward(listen.ip()) } else { Some(listen.ip()) };
    for address in addresses.iter().chain(services).chain(&reached) {
        let name = Name::Address(address.to_canonical());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The host name, if it is valid in a certificate.
fn host_name() -> Option<String> {
    let uname = rustix::system::uname();
    let name = uname.nodename().to_str().ok()?.to_ascii_lowercase();
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_name = name.len() <= 253 && name.split('.').all(is_label);
    (is_name && !DNS.contains(&name.as_str())).then_some(name)
}

/// The address by which other hosts see this one. Connecting a UDP socket consults the routing
/// table and sends nothing; the target is an address reserved for documentation.
fn outward(unspecified: IpAddr) -> Option<IpAddr> {
    let target: IpAddr = match unspecified {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    };
    let socket = UdpSocket::bind((unspecified, 0)).ok()?;
    socket.connect((target, 9)).ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_unspecified()).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_to_its_usual_names_and_addresses() {
        let service = IpAddr::from([10, 96, 0, 1]);
        let listen = SocketAddr::from(([192, 0, 2, 7], 6443));
        let names = names(listen, &[service]);
        for dns in DNS {
            assert!(names.contains(&Name::Dns(dns.to_owned())), "{dns}");
        }
        for address in ["127.0.0.1", "::1", "10.96.0.1", "192.0.2.7"] {
            assert!(names.contains(&Name::Address(address.parse().unwrap())), "{address}");
        }
    }

    #[test]
    fn no_name_is_there_twice_and_no_address_means_all() {
        for listen in ["127.0.0.1:1", "0.0.0.0:1", "[::]:1", "[::1]:1"] {
            let names = names(listen.parse().unwrap(), &[]);
            for (at, name) in names.iter().enumerate() {
                assert!(!names[..at].contains(name), "{listen}: {name:?}");
                assert!(!matches!(name, Name::Address(a) if a.is_unspecified()), "{listen}");
            }
        }
    }
}
