//! The administrator's kubeconfig.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{Certificates, make::ADMIN};

/// A self-contained kubeconfig for the server at `address`.
pub(crate) fn kubeconfig(certificates: &Certificates, address: SocketAddr) -> String {
    let Certificates { authority, serving: _, admin } = certificates;
    let server = reachable(address);
    let (authority, certificate, key) = (
        STANDARD.encode(authority),
        STANDARD.encode(&admin.certificate),
        STANDARD.encode(&admin.key),
    );
    format!(
        "\
apiVersion: v1
kind: Config
clusters:
- name: evenkeel
  cluster:
    server: https://{server}
    certificate-authority-data: {authority}
users:
- name: {ADMIN}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: evenkeel
  context:
    cluster: evenkeel
    user: {ADMIN}
current-context: evenkeel
preferences: {{}}
"
    )
}

/// The address at which a client on this host reaches a server that listens on all addresses.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::{Folder, certificates, names};

    #[test]
    fn a_kubeconfig_points_at_a_reachable_address() {
        let folder = Folder::temporary().unwrap();
        let names = names(([127, 0, 0, 1], 1).into(), &[]);
        let made = certificates(folder.path(), &names, jiff::Timestamp::now()).unwrap();
        for (listen, server) in [
            ("127.0.0.1:6443", "server: https://127.0.0.1:6443\n"),
            ("0.0.0.0:1234", "server: https://127.0.0.1:1234\n"),
            ("[::]:1234", "server: https://[::1]:1234\n"),
        ] {
            let text = kubeconfig(&made, listen.parse().unwrap());
            assert!(text.contains(server), "{text}");
        }
    }
}
