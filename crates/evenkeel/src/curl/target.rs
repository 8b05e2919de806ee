//! What a URL names. Pure.

use std::net::IpAddr;

use crate::error::Error;

/// Suffixes of the names that DNS has for Services.
const SUFFIXES: [&str; 3] = [".svc.cluster.local", ".svc.cluster", ".svc"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) protocol: Protocol,
    pub(super) host: Host,
    pub(super) port: Option<u16>,
    pub(super) path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http,
    Udp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Address(IpAddr),
    Service { name: String, namespace: Option<String> },
}

/// `http://web.shop:8080/path`, `udp://dns.shop`, `web`, `web.shop.svc.cluster.local`, `10.96.0.10:80`.
pub(super) fn parse(given: &str, udp: bool) -> Result<Target, Error> {
    let wrong = |problem: &str| Error::Target {
        given: given.to_owned(),
        problem: problem.to_owned(),
        help: Some("expected a Service, as in http://web.shop or udp://dns.shop:53".to_owned()),
    };
    let (protocol, rest) = match given.split_once("://") {
        Some(("http", _)) if udp => return Err(wrong("http:// with --udp")),
        Some(("http", rest)) => (Protocol::Http, rest),
        Some(("udp", rest)) => (Protocol::Udp, rest),
        Some(_) => return Err(wrong("the scheme is neither http nor udp")),
        None if udp => (Protocol::Udp, given),
        None => (Protocol::Http, given),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = if path.is_empty() { "/" } else { path };
    if path.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(wrong("a path has no spaces"));
    }
    let (host, port) = host_and_port(authority).map_err(wrong)?;
    Ok(Target { protocol, host, port, path: path.to_owned() })
}

fn host_and_port(authority: &str) -> Result<(Host, Option<u16>), &'static str> {
    // An address of IPv6 is in brackets, or without a port.
    let (host, port) = match authority.rsplit_once(':') {
        Some(_) if authority.parse::<IpAddr>().is_ok() || authority.ends_with(']') => {
            (authority, None)
        }
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    let port = port.map(|port| match port.parse() {
        Ok(0) | Err(_) => Err("the port is not a number from 1 to 65535"),
        Ok(port) => Ok(port),
    });
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = match bare.parse() {
        Ok(address) => Host::Address(address),
        Err(_) => service(host)?,
    };
    Ok((host, port.transpose()?))
}

fn service(host: &str) -> Result<Host, &'static str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let short = SUFFIXES.iter().find_map(|suffix| host.strip_suffix(suffix)).unwrap_or(host);
    let parts: Vec<&str> = short.split('.').collect();
    let is_label = |part: &&str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !part.is_empty() && part.len() <= 63 && part.chars().all(is_allowed)
    };
    if !parts.iter().all(is_label) {
        return Err("not the name of a Service");
    }
    match parts.as_slice() {
        [name] => Ok(Host::Service { name: (*name).to_owned(), namespace: None }),
        [name, namespace] => {
            Ok(Host::Service { name: (*name).to_owned(), namespace: Some((*namespace).to_owned()) })
        }
        _ => Err("not the name of a Service of this cluster"),
    }
}

// === impl Target ===

impl Target {
    /// The value of the header `Host`.
    pub(super) fn authority(&self) -> String {
        let host = match &self.host {
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
            Host::Address(address) => address.to_string(),
            Host::Service { name, namespace: None } => name.clone(),
            Host::Service { name, namespace: Some(namespace) } => format!("{name}.{namespace}"),
        };
        self.port.map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    pub(super) fn port_or_default(&self) -> u16 {
        self.port.unwrap_or(self.usual_port())
    }

    /// The port to use of a Service with these: the one given, the usual one, or the only one.
    pub(super) fn port_of(&self, ports: &[(&str, i32)]) -> Result<u16, String> {
        if let Some(port) = self.port {
            return Ok(port);
        }
        let protocol = self.protocol.of_service();
        let ports = ports.iter().filter(|(of, _)| *of == protocol);
        let ports: Vec<u16> = ports.filter_map(|(_, port)| (*port).try_into().ok()).collect();
        match ports.as_slice() {
            [only] => Ok(*only),
            all if all.contains(&self.usual_port()) => Ok(self.usual_port()),
            [] => Err(format!("the Service has no {protocol} port")),
            all => {
                let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                Err(format!("the Service has several {protocol} ports: {}", all.join(", ")))
            }
        }
    }

    fn usual_port(&self) -> u16 {
        match self.protocol {
            Protocol::Http => 80,
            Protocol::Udp => 53,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, namespace: Option<&str>) -> Host {
        Host::Service { name: name.to_owned(), namespace: namespace.map(str::to_owned) }
    }

    fn http(host: Host, port: Option<u16>, path: &str) -> Target {
        Target { protocol: Protocol::Http, host, port, path: path.to_owned() }
    }

    #[test]
    fn a_url_names_a_service_or_an_address() {
        let web = || of("web", Some("shop"));
        let cases = [
            ("http://web.shop", http(web(), None, "/")),
            ("web.shop", http(web(), None, "/")),
            ("web", http(of("web", None), None, "/")),
            ("http://web.shop:8080/a/b?c=d", http(web(), Some(8080), "/a/b?c=d")),
            ("http://web.shop.svc.cluster.local:1/", http(web(), Some(1), "/")),
            ("web.shop.svc.", http(web(), None, "/")),
            ("10.96.0.10:81", http(Host::Address([10, 96, 0, 10].into()), Some(81), "/")),
            (
                "http://[fd00::1]:81/",
                http(Host::Address("fd00::1".parse().unwrap()), Some(81), "/"),
            ),
            ("[fd00::1]", http(Host::Address("fd00::1".parse().unwrap()), None, "/")),
            ("fd00::1", http(Host::Address("fd00::1".parse().unwrap()), None, "/")),
        ];
        for (given, expected) in cases {
            assert_eq!(parse(given, false).unwrap(), expected, "{given}");
        }
        let udp =
            Target { protocol: Protocol::Udp, ..http(of("dns", Some("shop")), Some(53), "/") };
        assert_eq!(parse("udp://dns.shop:53", false).unwrap(), udp);
        assert_eq!(parse("dns.shop:53", true).unwrap(), udp);
    }

    #[test]
    fn what_is_no_target_is_refused() {
        let cases = [
            "",
            "http://",
            "https://web.shop",
            "web.shop:0",
            "web.shop:x",
            "web.shop:70000",
            ".shop",
            "web..shop",
            "a.b.c",
            "web shop",
            "http://web/a b",
            "web_1",
        ];
        for given in cases {
            assert!(parse(given, false).is_err(), "{given:?}");
        }
        assert!(parse("http://web", true).is_err());
    }

    #[test]
    fn the_port_is_the_given_the_only_or_the_usual_one() {
        let port = |given: &str, ports: &[(&str, i32)]| parse(given, false).unwrap().port_of(ports);
        let dns = [("UDP", 53), ("TCP", 53), ("TCP", 9153)];
        assert_eq!(port("a:7", &dns), Ok(7));
        assert_eq!(port("udp://a", &dns), Ok(53));
        assert_eq!(port("a", &[("TCP", 9090)]), Ok(9090));
        assert_eq!(port("a", &[("TCP", 9090), ("TCP", 80)]), Ok(80));
        assert_eq!(port("a", &dns), Err("the Service has several TCP ports: 53, 9153".to_owned()));
        assert_eq!(port("udp://a", &[("TCP", 80)]), Err("the Service has no UDP port".to_owned()));
    }

    #[test]
    fn the_header_names_what_was_asked_for() {
        for given in ["web.shop", "web", "10.0.0.1:80", "[fd00::1]:80"] {
            assert_eq!(parse(given, false).unwrap().authority(), given);
        }
    }
}
