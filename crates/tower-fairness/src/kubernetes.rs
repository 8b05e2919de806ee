//! What a request to a Kubernetes API is about, by its method, path and query alone.
//!
//! ```text
//! /api/VERSION/[watch/][namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE[/…]]]
//! /apis/GROUP/VERSION/…
//! ```
//!
//! Everything else is a path. Source: `k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`.
//!
//! Where it matters who holds a seat, this is stricter: only a GET is a watch, and never one of a
//! subresource; in Kubernetes `/api/v1/watch/…` is one by any method. Paths with percent signs are
//! not resolved, since attributes are borrowed: such a request has a path only, and is no watch. A
//! name that only a field selector says is left out; no flow schema of Kubernetes looks at it.
//! Bound: time in proportion to path and query, no allocation.

use evenkeel_fairness::Request as Attributes;
use http::Method;

use crate::head::Head;

/// Parts of a namespace; everything else below one is a resource in it.
const PARTS_OF_NAMESPACES: [&str; 2] = ["status", "finalize"];

/// No more parts of a path behind the version say anything.
const PARTS: usize = 6;

pub(crate) fn identify<'r>(head: Head<'r>, plain: Attributes<'r>) -> Attributes<'r> {
    let path = head.uri.path();
    let mut parts = path.trim_matches('/').split('/');
    let group = match parts.next() {
        Some("api") => Some(""),
        Some("apis") => parts.next(),
        _ => None,
    };
    let (Some(api_group), Some(_version), false) = (group, parts.next(), path.contains('%')) else {
        return plain;
    };
    let mut few = [""; PARTS];
    let mut n = 0;
    for (slot, part) in few.iter_mut().zip(parts) {
        *slot = part;
        n += 1;
    }
    let (verb_in_path, parts) = match &few[..n] {
        [verb @ ("proxy" | "watch"), rest @ ..] => (*verb, rest),
        parts => ("", parts),
    };
    if parts.is_empty() {
        return plain;
    }
    let (namespace, parts) = namespace(parts);
    let part = |index: usize| parts.get(index).copied().unwrap_or_default();
    let (resource, name) = (part(0), part(1));
    let subresource = if verb_in_path == "proxy" { "" } else { part(2) };
    let verb = match (verb_in_path, verb(head.method)) {
        ("proxy", _) => "proxy",
        ("watch", "get") if *head.method == Method::GET && subresource.is_empty() => "watch",
        (_, "get") if name.is_empty() => match *head.method == Method::GET && watches(head) {
            true => "watch",
            false => "list",
        },
        (_, "delete") if name.is_empty() => "deletecollection",
        (_, verb) => verb,
    };
    Attributes {
        verb,
        is_resource: true,
        api_group,
        resource,
        subresource,
        namespace,
        name,
        ..plain
    }
}

/// The namespace, and what is in it. A namespace itself is in itself.
fn namespace<'p, 'r>(parts: &'p [&'r str]) -> (&'r str, &'p [&'r str]) {
    match parts {
        ["namespaces", namespace, part, ..] if !PARTS_OF_NAMESPACES.contains(part) => {
            (*namespace, &parts[2..])
        }
        ["namespaces", namespace, ..] => (*namespace, parts),
        parts => ("", parts),
    }
}

fn verb(method: &Method) -> &'static str {
    match *method {
        Method::GET | Method::HEAD => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

/// Whether the query says `watch`, as Kubernetes reads it: the first value counts, and all but
/// `false` and `0` are true, nothing too. Pairs that Go can't parse are passed over.
fn watches(head: Head<'_>) -> bool {
    let pairs = head.uri.query().unwrap_or_default().split('&');
    let mut values = pairs.filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let valid = !pair.contains(';') && decoded(value).all(|byte| byte.is_some());
        (valid && says(key, "watch", false)).then_some(value)
    });
    values.next().is_some_and(|value| !says(value, "false", true) && !says(value, "0", true))
}

fn says(encoded: &str, text: &str, fold_case: bool) -> bool {
    let fold = |byte: u8| if fold_case { byte.to_ascii_lowercase() } else { byte };
    decoded(encoded).map(|byte| byte.map(fold)).eq(text.bytes().map(Some))
}

/// The bytes of a part of a query; none in place of an escape that is none.
fn decoded(encoded: &str) -> impl Iterator<Item = Option<u8>> {
    let mut bytes = encoded.bytes();
    std::iter::from_fn(move || {
        Some(match bytes.next()? {
            b'%' => hex(bytes.next()).zip(hex(bytes.next())).map(|(high, low)| high << 4 | low),
            b'+' => Some(b' '),
            byte => Some(byte),
        })
    })
}

fn hex(digit: Option<u8>) -> Option<u8> {
    let value = char::from(digit?).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// `VERB GROUP RESOURCE/SUBRESOURCE NAMESPACE/NAME`, or `VERB PATH`.
    fn shown(method: &str, uri: &str) -> String {
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        let head = Head::of(&request);
        let verb = crate::head::verb(head.method);
        let found = identify(head, head.attributes(&verb));
        let Attributes { verb, api_group, resource, subresource, namespace, name, .. } = found;
        match found.is_resource {
            true => format!("{verb} {api_group} {resource}/{subresource} {namespace}/{name}"),
            false => format!("{verb} {}", found.path),
        }
    }

    // The cases of `requestinfo_test.go`.
    #[test]
    fn a_request_is_about_a_resource_by_its_path_alone() {
        for (method, uri, expected) in [
            ("GET", "/api/v1/namespaces", "list  namespaces/ /"),
            ("GET", "/api/v1/namespaces/other", "get  namespaces/ other/other"),
            ("GET", "/api/v1/namespaces/other/pods", "list  pods/ other/"),
            ("GET", "/api/v1/namespaces/other/pods/foo", "get  pods/ other/foo"),
            ("HEAD", "/api/v1/namespaces/other/pods/foo", "get  pods/ other/foo"),
            ("GET", "/api/v1/pods", "list  pods/ /"),
            ("HEAD", "/api/v1/pods", "list  pods/ /"),
            ("GET", "/api/v1/proxy/namespaces/other/pods/foo", "proxy  pods/ other/foo"),
            ("GET", "/api/v1/proxy/namespaces/other/pods/foo/sub/path", "proxy  pods/ other/foo"),
            ("GET", "/api/v1/watch/pods", "watch  pods/ /"),
            ("GET", "/api/v1/watch/namespaces/other/pods", "watch  pods/ other/"),
            ("GET", "/api/v1/namespaces/other/pods/foo/status", "get  pods/status other/foo"),
            ("GET", "/api/v1/namespaces/other/pods/foo/proxy/sub", "get  pods/proxy other/foo"),
            ("PUT", "/api/v1/namespaces/other/finalize", "update  namespaces/finalize other/other"),
            ("PUT", "/api/v1/namespaces/other/status", "update  namespaces/status other/other"),
            ("PATCH", "/api/v1/namespaces/other/pods/foo", "patch  pods/ other/foo"),
            ("DELETE", "/api/v1/namespaces/other/pods/foo", "delete  pods/ other/foo"),
            ("POST", "/api/v1/namespaces/other/pods", "create  pods/ other/"),
            ("DELETE", "/api/v1/nodes", "deletecollection  nodes/ /"),
            ("POST", "/apis/apps/v1/namespaces/other/pods", "create apps pods/ other/"),
            ("OPTIONS", "/api/v1/pods", "  pods/ /"),
            ("GET", "/apis/batch/v1/job/foo/scale", "get batch job/scale /foo"),
            ("GET", "//api/v1/pods/", "list  pods/ /"),
            ("GET", "/", "get /"),
            ("GET", "/api", "get /api"),
            ("GET", "/api/v1/", "get /api/v1/"),
            ("GET", "/api/v1/watch", "get /api/v1/watch"),
            ("POST", "/apis/group/version/", "post /apis/group/version/"),
            ("GET", "/apis/version/resource", "get /apis/version/resource"),
            ("GET", "/badprefix/version/resource", "get /badprefix/version/resource"),
            ("GET", "/API/v1/pods", "get /API/v1/pods"),
        ] {
            assert_eq!(shown(method, uri), expected, "{method} {uri}");
        }
    }

    #[test]
    fn a_watch_is_a_get_of_a_collection_that_says_so() {
        for (method, uri, expected) in [
            ("GET", "/api/v1/pods?watch=true", "watch"),
            ("GET", "/api/v1/pods?watch=1&watch=0", "watch"),
            ("GET", "/api/v1/pods?watch=0&watch=1", "list"),
            ("GET", "/api/v1/pods?watch", "watch"),
            ("GET", "/api/v1/pods?watch=", "watch"),
            ("GET", "/api/v1/pods?watch=False", "list"),
            ("GET", "/api/v1/pods?a=b&%77atch=%74rue", "watch"),
            ("GET", "/api/v1/pods?watch=%66alse", "list"),
            ("GET", "/api/v1/pods?watch=%zz", "list"),
            ("GET", "/api/v1/pods?watch=1;a=b", "list"),
            ("GET", "/api/v1/pods?Watch=1", "list"),
            ("GET", "/api/v1/pods?xwatch=1", "list"),
            ("GET", "/api/v1/pods?a=watch=1", "list"),
            ("HEAD", "/api/v1/pods?watch=1", "list"),
            ("POST", "/api/v1/pods?watch=1", "create"),
            ("DELETE", "/api/v1/pods?watch=1", "deletecollection"),
            ("WATCH", "/api/v1/pods", ""),
            ("POST", "/api/v1/watch/pods", "create"),
            ("GET", "/api/v1/watch/namespaces/a/pods/p", "watch"),
            ("GET", "/api/v1/watch/namespaces/a/pods/p/log", "get"),
            ("GET", "/api/v1/namespaces/a/pods/p?watch=1", "get"),
            ("GET", "/api/v1/namespaces/a/pods/p/log?follow=true&watch=1", "get"),
            ("GET", "/api/v1/name%73paces/a/pods?watch=1", "get"),
            ("GET", "/healthz?watch=1", "get"),
            ("GET", "/api/v1?watch=1", "get"),
            ("GET", "/version/api/v1/pods?watch=1", "get"),
        ] {
            let found = shown(method, uri);
            assert_eq!(found.split(' ').next(), Some(expected), "{method} {uri}: {found}");
        }
    }
}
