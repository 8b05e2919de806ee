//! The head of a request: everything but its body.

use std::{borrow::Cow, time::Duration};

use evenkeel_fairness::{Groups, Request as Attributes};
use http::{Extensions, HeaderMap, HeaderName, Method, Uri, header};

/// The user of a request. An earlier, authenticating layer puts it into the request's extensions;
/// without it the user is [`ANONYMOUS`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct User {
    pub name: String,
    pub groups: Vec<String>,
}

/// The timeout of a request, set by an earlier layer in the request's extensions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RequestTimeout(pub Duration);

/// The name of an unauthenticated user, as in Kubernetes.
pub const ANONYMOUS: &str = "system:anonymous";

/// Its only group.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";

/// A request without its body, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Head<'r> {
    pub method: &'r Method,
    pub uri: &'r Uri,
    pub headers: &'r HeaderMap,
    pub extensions: &'r Extensions,
}

/// Whether a request only reads; Kubernetes counts those separately.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    ReadOnly,
    Mutating,
}

/// The maximum number of headers that are passed on without an allocation.
const FEW: usize = 8;

impl<'r> Head<'r> {
    pub(crate) fn of<B>(request: &'r http::Request<B>) -> Self {
        Head {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }

    /// The attributes of a request to a plain HTTP API.
    pub(crate) fn attributes(self, verb: &'r str) -> Attributes<'r> {
        const NOBODY: &[&str] = &[UNAUTHENTICATED];
        let (user, groups) = match self.extensions.get::<User>() {
            Some(User { name, groups }) => (name.as_str(), Groups::Owned(groups)),
            None => (ANONYMOUS, Groups::Borrowed(NOBODY)),
        };
        Attributes {
            user,
            groups,
            verb,
            path: self.uri.path(),
            method: self.method.as_str(),
            ..Attributes::default()
        }
    }

    /// Whether the connection is used for another protocol after the response.
    pub fn upgrades(self) -> bool {
        self.method == Method::CONNECT || self.headers.contains_key(header::UPGRADE)
    }

    pub(crate) fn is_grpc(self) -> bool {
        let content = self.headers.get(header::CONTENT_TYPE);
        content.is_some_and(|content| content.as_bytes().starts_with(b"application/grpc"))
    }
}

/// Calls `then` with those of the named headers that are there and are text. Of a repeated header, the
/// first value is used.
pub(crate) fn with_headers<T>(
    headers: &HeaderMap,
    names: &[HeaderName],
    then: impl FnOnce(&[(&str, &str)]) -> T,
) -> T {
    let text = |name: &HeaderName| std::str::from_utf8(headers.get(name)?.as_bytes()).ok();
    let mut found = names.iter().filter_map(|name| Some((name.as_str(), text(name)?)));
    if names.len() > FEW {
        return then(&found.collect::<Vec<_>>());
    }
    let mut few = [("", ""); FEW];
    let mut n = 0;
    for slot in &mut few {
        let Some(header) = found.next() else { break };
        *slot = header;
        n += 1;
    }
    then(&few[..n])
}

impl Kind {
    pub(crate) fn of(attributes: &Attributes<'_>) -> Self {
        match attributes.verb {
            "get" | "list" | "watch" | "head" | "options" | "trace" => Kind::ReadOnly,
            _ => Kind::Mutating,
        }
    }
}

/// The method in lower case; only those outside the standard are allocated.
pub(crate) fn verb(method: &Method) -> Cow<'static, str> {
    Cow::Borrowed(match method.as_str() {
        "GET" => "get",
        "POST" => "post",
        "PUT" => "put",
        "DELETE" => "delete",
        "HEAD" => "head",
        "OPTIONS" => "options",
        "CONNECT" => "connect",
        "PATCH" => "patch",
        "TRACE" => "trace",
        other => return Cow::Owned(other.to_ascii_lowercase()),
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Request};

    use super::*;

    #[test]
    fn a_sender_nobody_knows_is_anonymous() {
        let request = Request::get("/a/b?c=d").body(()).unwrap();
        let verb = verb(request.method());
        let attributes = Head::of(&request).attributes(&verb);
        assert_eq!((attributes.user, attributes.path), (ANONYMOUS, "/a/b"));
        assert_eq!((attributes.verb, attributes.method), ("get", "GET"));
        assert!(attributes.groups.contains(UNAUTHENTICATED) && !attributes.is_resource);
    }

    #[test]
    fn the_user_comes_from_the_extensions() {
        let user = User { name: "jane".into(), groups: vec!["dev".into()] };
        let request = Request::post("/").extension(user).body(()).unwrap();
        let verb = verb(request.method());
        let attributes = Head::of(&request).attributes(&verb);
        assert_eq!((attributes.user, attributes.verb), ("jane", "post"));
        assert!(attributes.groups.contains("dev") && !attributes.groups.contains(UNAUTHENTICATED));
    }

    #[test]
    fn headers_that_are_absent_or_no_text_are_left_out() {
        let mut request = Request::get("/").header("x-a", "1").header("x-a", "2").body(()).unwrap();
        let binary = HeaderValue::from_bytes(&[0xff, 0xfe]).unwrap();
        request.headers_mut().insert("x-binary", binary);
        let names = ["x-none", "x-a", "x-binary"].map(HeaderName::from_static);
        let head = Head::of(&request);
        with_headers(head.headers, &names, |headers| assert_eq!(headers, [("x-a", "1")]));
        let many: Vec<_> = names.iter().cycle().take(30).cloned().collect();
        with_headers(head.headers, &many, |headers| assert_eq!(headers, [("x-a", "1"); 10]));
    }

    #[test]
    fn verbs_are_methods_in_lower_case() {
        for (method, expected) in [("DELETE", "delete"), ("Purge", "purge")] {
            assert_eq!(verb(&Method::from_bytes(method.as_bytes()).unwrap()), expected);
        }
    }

    #[test]
    fn upgrades_are_seen() {
        let plain = Request::get("/").body(()).unwrap();
        assert!(!Head::of(&plain).upgrades());
        let connect = Request::connect("host:1").body(()).unwrap();
        let upgrade = Request::get("/").header("upgrade", "websocket").body(()).unwrap();
        assert!(Head::of(&connect).upgrades() && Head::of(&upgrade).upgrades());
    }
}
