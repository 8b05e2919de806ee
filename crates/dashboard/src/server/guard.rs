//! Who may ask: whoever has the token, from the page itself.
//!
//! The token comes in the address that the process prints, behind `#`, which browsers don't send. The
//! page exchanges it for a cookie that scripts can't read and that other sites' requests don't carry.
//! Host is checked, so that a name that someone else points at this address gets nothing (DNS
//! rebinding), and Origin, so that pages of other sites don't.

use std::net::SocketAddr;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use ring::rand::{SecureRandom, SystemRandom};
use subtle::ConstantTimeEq as _;

use crate::Error;

/// 256 bits as hexadecimal digits, which no shell and no address needs quoted.
#[derive(Clone)]
struct Secret(String);

pub(crate) struct Guard {
    /// In the address that is printed.
    token: Secret,
    /// In the cookie: who sees one does not know the other.
    session: Secret,
    /// The values of Host that are this server.
    hosts: Vec<String>,
    /// `http` or `https`.
    scheme: &'static str,
    /// Cookies don't tell ports apart.
    cookie: String,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another name than that of this server.
    Host,
    /// From a page of another site.
    Origin,
    NoCookie,
    WrongToken,
}

// === impl Guard ===

impl Guard {
    pub(crate) fn new(address: SocketAddr) -> Result<Guard, Error> {
        let port = address.port();
        Ok(Guard {
            token: Secret::random()?,
            session: Secret::random()?,
            hosts: vec![
                format!("127.0.0.1:{port}"),
                format!("localhost:{port}"),
                format!("[::1]:{port}"),
            ],
            scheme: "http",
            cookie: format!("evenkeel-dashboard-{port}"),
        })
    }

    /// The server has these names, too, and is reached by TLS. What listens beyond loopback has only these
    /// names and its address.
    pub(crate) fn with_tls(self, address: SocketAddr, names: Vec<String>) -> Result<Guard, Error> {
        let port = address.port();
        let ip = address.ip();
        let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == 443 {
            // Browsers leave it out.
            hosts.extend(names);
        }
        if ip.is_loopback() {
            hosts.extend(self.hosts);
        } else if !ip.is_unspecified() {
            hosts.push(address.to_string());
        }
        if hosts.is_empty() {
            return Err(Error::NoHost { address });
        }
        Ok(Guard { hosts, scheme: "https", ..self })
    }

    /// The address to open, with the token.
    pub(crate) fn url(&self, address: SocketAddr) -> String {
        let (scheme, token) = (self.scheme, &self.token.0);
        match (scheme, self.hosts.first()) {
            ("https", Some(host)) => format!("https://{host}/#token={token}"),
            _ => format!("{scheme}://{address}/#token={token}"),
        }
    }

    /// What every request must have, the page's own files among them.
    pub(crate) fn check_place(&self, headers: &HeaderMap, changes: bool) -> Result<(), Refusal> {
        let only = |name: HeaderName| {
            let mut values = headers.get_all(name).iter();
            values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
        };
        let host = only(header::HOST).ok_or(Refusal::Host)?;
        if !self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return Err(Refusal::Host);
        }
        let origin = only(header::ORIGIN);
        let is_own = |origin: &str| {
            let own = origin.strip_prefix(self.scheme).and_then(|rest| rest.strip_prefix("://"));
            own.is_some_and(|own| own == host)
        };
        match origin {
            Some(origin) if !is_own(origin) => return Err(Refusal::Origin),
            None if changes || headers.contains_key(header::ORIGIN) => return Err(Refusal::Origin),
            _ => {}
        }
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        match site {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) => Err(Refusal::Origin),
        }
    }

    /// What requests for data must have.
    pub(crate) fn check_cookie(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        });
        let is_known = pairs.any(|value| self.session.is(value.as_bytes()));
        if is_known { Ok(()) } else { Err(Refusal::NoCookie) }
    }

    /// The cookie for whoever has the token.
    pub(crate) fn login(&self, token: &[u8]) -> Result<String, Refusal> {
        if !self.token.is(token.trim_ascii()) {
            return Err(Refusal::WrongToken);
        }
        let (name, value) = (&self.cookie, &self.session.0);
        let secure = if self.scheme == "https" { "; Secure" } else { "" };
        Ok(format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/{secure}"))
    }
}

// === impl Secret ===

impl Secret {
    fn random() -> Result<Secret, Error> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::NoRandomness)?;
        Ok(Secret(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// In a time that does not depend on where they differ.
    fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(([127, 0, 0, 1], 7777).into()).unwrap()
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn other_hosts_and_origins_are_refused() {
        let guard = guard();
        let own = ("host", "127.0.0.1:7777");
        for (given, changes, expected) in [
            (vec![own], false, Ok(())),
            (vec![("host", "LOCALHOST:7777")], false, Ok(())),
            (vec![("host", "[::1]:7777")], false, Ok(())),
            (vec![], false, Err(Refusal::Host)),
            (vec![("host", "evil.example:7777")], false, Err(Refusal::Host)),
            (vec![("host", "127.0.0.1")], false, Err(Refusal::Host)),
            (vec![("host", "127.0.0.1:7778")], false, Err(Refusal::Host)),
            (vec![own, ("origin", "http://127.0.0.1:7777")], true, Ok(())),
            (vec![own], true, Err(Refusal::Origin)),
            (vec![own, ("origin", "null")], false, Err(Refusal::Origin)),
            (vec![own, ("origin", "https://127.0.0.1:7777")], false, Err(Refusal::Origin)),
            (vec![own, ("origin", "http://localhost:7777")], false, Err(Refusal::Origin)),
            (vec![own, ("origin", "http://evil.example")], false, Err(Refusal::Origin)),
            (vec![own, ("sec-fetch-site", "same-origin")], false, Ok(())),
            (vec![own, ("sec-fetch-site", "cross-site")], false, Err(Refusal::Origin)),
            (vec![own, ("sec-fetch-site", "same-site")], false, Err(Refusal::Origin)),
        ] {
            assert_eq!(guard.check_place(&headers(&given), changes), expected, "{given:?}");
        }
        let mut two = headers(&[own]);
        two.append(header::HOST, HeaderValue::from_static("127.0.0.1:7777"));
        assert_eq!(guard.check_place(&two, false), Err(Refusal::Host));
    }

    #[test]
    fn beyond_loopback_a_server_is_known_by_its_address_and_the_names_that_are_given() {
        let beyond = |address: &str, names: &[&str]| {
            let address: SocketAddr = address.parse().unwrap();
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Guard::new(address).unwrap().with_tls(address, names)
        };
        let known = |guard: &Guard, host: &str| {
            let origin = format!("https://{host}");
            guard.check_place(&headers(&[("host", host), ("origin", &origin)]), true).is_ok()
        };
        let guard = beyond("192.0.2.7:8443", &["ek.example"]).unwrap();
        for (host, expected) in [
            ("192.0.2.7:8443", true),
            ("ek.example:8443", true),
            ("EK.example:8443", true),
            ("ek.example", false),
            ("localhost:8443", false),
            ("127.0.0.1:8443", false),
        ] {
            assert_eq!(known(&guard, host), expected, "{host}");
        }
        let plain = [("host", "ek.example:8443"), ("origin", "http://ek.example:8443")];
        assert_eq!(guard.check_place(&headers(&plain), true), Err(Refusal::Origin));
        assert!(
            guard.url(([192, 0, 2, 7], 8443).into()).starts_with("https://ek.example:8443/#token=")
        );
        let token = guard.token.0.clone();
        assert!(guard.login(token.as_bytes()).unwrap().ends_with("; Secure"));
        assert!(known(&beyond("0.0.0.0:443", &["ek.example"]).unwrap(), "ek.example"));
        assert!(matches!(beyond("0.0.0.0:443", &[]), Err(Error::NoHost { .. })));
        assert!(known(&beyond("127.0.0.1:7777", &[]).unwrap(), "localhost:7777"));
    }

    #[test]
    fn the_token_is_exchanged_for_a_cookie_that_says_nothing_of_it() {
        let guard = guard();
        let url = guard.url(([127, 0, 0, 1], 7777).into());
        let (_, token) = url.split_once("#token=").unwrap();
        assert_eq!(token.len(), 64);
        for wrong in ["", "x", &token[1..], &format!("{token}0")] {
            assert_eq!(guard.login(wrong.as_bytes()), Err(Refusal::WrongToken));
        }
        let cookie = guard.login(token.as_bytes()).unwrap();
        assert!(cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/") && !cookie.contains(token));
        let (pair, _) = cookie.split_once(';').unwrap();
        let with = |value: &str| guard.check_cookie(&headers(&[("cookie", value)]));
        assert_eq!(with(&format!("other=1; {pair}")), Ok(()));
        assert_eq!(with(&format!("evenkeel-dashboard-7777={token}")), Err(Refusal::NoCookie));
        assert_eq!(with("evenkeel-dashboard-7777="), Err(Refusal::NoCookie));
        assert_eq!(guard.check_cookie(&HeaderMap::new()), Err(Refusal::NoCookie));
    }
}
