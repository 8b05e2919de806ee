//! Pods of a host.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    ops::Deref,
};

use super::{Host, Namespace, Port, Server, ip::ip, ip::ip_anyway};

/// A Pod: an address of each family, and a namespace. Has the methods of [`Namespace`].
#[derive(Debug)]
pub struct Pod {
    pub name: String,
    pub node: String,
    pub zone: String,
    pub v4: Ipv4Addr,
    pub v6: Ipv6Addr,
    place: Place,
}

/// What a server says of itself.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) pod: String,
    pub(super) node: String,
    pub(super) zone: String,
}

#[derive(Debug)]
enum Place {
    /// The node's end of the link is removed with the Pod: the kernel removes a namespace later.
    Own {
        namespace: Namespace,
        node: Namespace,
        link: String,
    },
    /// The addresses are on the node's loopback interface, and removed with the Pod.
    Loopback {
        node: Namespace,
    },
    Node {
        node: Namespace,
    },
}

/// The addresses of Pod number `last` on host number `host`.
pub(super) fn addresses(host: u8, last: u8) -> (Ipv4Addr, Ipv6Addr) {
    let v6 = Ipv6Addr::new(0xfd00, 0x10, 0x244, host.into(), 0, 0, 0, last.into());
    (Ipv4Addr::new(10, 244, host, last), v6)
}

impl Pod {
    /// Starts a server for each port, at both addresses. It stops when it is dropped.
    pub fn serve(&self, ports: &[Port]) -> Server {
        let Pod { name, node, zone, .. } = self;
        let identity = Identity { pod: name.clone(), node: node.clone(), zone: zone.clone() };
        Server::start(self, &identity, &[self.v4.into(), self.v6.into()], ports)
    }

    /// Its IPv4 address with a port.
    pub fn at(&self, port: u16) -> SocketAddr {
        (self.v4, port).into()
    }

    /// Its IPv6 address with a port.
    pub fn at_v6(&self, port: u16) -> SocketAddr {
        (self.v6, port).into()
    }

    /// The other end of its link is in the node's namespace: each has a route to the other, and no
    /// subnet is shared. The node's end has addresses of link scope only, so that the node masquerades
    /// with its own.
    pub(super) fn in_own_namespace(
        host: &Host,
        identity: Identity,
        v4: Ipv4Addr,
        v6: Ipv6Addr,
    ) -> Pod {
        let [namespace] = Namespace::new_all([identity.pod.as_str()]);
        let link = format!("p{}", v4.octets()[3]);
        let (node, pod) = (host.netns(), namespace.netns());
        ip(None, &format!("link add eth0 netns {pod} type veth peer name {link} netns {node}\n"));
        host.ip(&format!(
            "link set {link} up\n\
             addr add 169.254.1.1/32 scope link dev {link}\naddr add fe80::1/64 dev {link} nodad\n\
             route add {v4} dev {link} src {}\nroute add {v6} dev {link}\n",
            host.v4
        ));
        namespace.ip(&format!(
            "link set lo up\nlink set eth0 up\n\
             addr add {v4}/32 dev eth0\naddr add {v6}/128 dev eth0 nodad\n\
             route add 169.254.1.1 dev eth0 scope link\nroute add default via 169.254.1.1\n\
             route add default via fe80::1 dev eth0\n"
        ));
        Pod::new(identity, v4, v6, Place::Own { namespace, node: Namespace::clone(host), link })
    }

    pub(super) fn on_loopback(host: &Host, identity: Identity, v4: Ipv4Addr, v6: Ipv6Addr) -> Pod {
        host.ip(&format!("addr add {v4}/32 scope host dev lo\naddr add {v6}/128 dev lo nodad\n"));
        let node = Namespace::clone(host);
        Pod::new(identity, v4, v6, Place::Loopback { node })
    }

    pub(super) fn of_node(host: &Host, identity: Identity) -> Pod {
        let node = Namespace::clone(host);
        Pod::new(identity, host.v4, host.v6, Place::Node { node })
    }

    fn new(identity: Identity, v4: Ipv4Addr, v6: Ipv6Addr, place: Place) -> Pod {
        let Identity { pod: name, node, zone } = identity;
        Pod { name, node, zone, v4, v6, place }
    }
}

impl Deref for Pod {
    type Target = Namespace;

    fn deref(&self) -> &Namespace {
        match &self.place {
            Place::Own { namespace, .. } => namespace,
            Place::Loopback { node } | Place::Node { node } => node,
        }
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let Pod { v4, v6, .. } = self;
        let (node, batch) = match &self.place {
            Place::Own { node, link, .. } => (node, format!("link del {link}\n")),
            Place::Loopback { node } => {
                (node, format!("addr del {v4}/32 dev lo\naddr del {v6}/128 dev lo\n"))
            }
            Place::Node { .. } => return,
        };
        ip_anyway(Some(node.netns()), &batch);
    }
}
