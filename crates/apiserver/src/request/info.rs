//! The attributes of a request, from its method, path and query alone, whether or not anything is
//! served there. So an unauthorized client gets a 403 and an authorized one a 404.
//!
//! ```text
//! /api/VERSION/[watch/][namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE[/…]]]
//! /apis/GROUP/VERSION/…
//! ```
//!
//! Everything else is a non-resource path. Source:
//! `k8s.io/apiserver/pkg/endpoints/request/requestinfo.go`.

use std::borrow::Cow;

use evenkeel_store::selector::FieldSelector;
use http::{Method, Uri};
use percent_encoding::percent_decode_str;

use super::Query;
use crate::identity::{Attributes, On};

/// `/api/v1/VERB/…`: deprecated verbs in paths.
const VERBS_IN_PATHS: [&str; 2] = ["proxy", "watch"];
/// Subresources of a namespace; everything else below one is a namespaced resource.
const PARTS_OF_NAMESPACES: [&str; 2] = ["status", "finalize"];
/// Responses of these have no end of their own.
const STREAMS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

/// What a request says about itself, parsed once.
#[derive(Debug)]
pub(crate) struct RequestInfo<'a> {
    method: &'a Method,
    /// The verb on a path.
    method_verb: Cow<'static, str>,
    path: Cow<'a, str>,
    pub(crate) query: Query<'a>,
}

impl<'a> RequestInfo<'a> {
    pub(crate) fn new(method: &'a Method, uri: &'a Uri) -> RequestInfo<'a> {
        RequestInfo {
            method,
            method_verb: lowercase(method),
            path: decoded(uri.path()),
            query: Query::parse(uri.query().unwrap_or_default()),
        }
    }

    pub(crate) fn attributes(&self) -> Attributes<'_> {
        attributes(self.method, &self.method_verb, &self.path, &self.query)
    }
}

fn lowercase(method: &Method) -> Cow<'static, str> {
    Cow::Borrowed(match *method {
        Method::GET => "get",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => return Cow::Owned(method.as_str().to_ascii_lowercase()),
    })
}

/// A path as the authorizer sees it. Invalid UTF-8 matches no rule.
fn decoded(path: &str) -> Cow<'_, str> {
    percent_decode_str(path).decode_utf8_lossy()
}

/// `path` is decoded; `method_verb` is the method in lower case.
fn attributes<'a>(
    method: &Method,
    method_verb: &'a str,
    path: &'a str,
    query: &'a Query<'_>,
) -> Attributes<'a> {
    let on_path = Attributes { verb: method_verb, on: On::Path(path), field_selector: "" };
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, parts) = match parts[..] {
        ["api", _, ref rest @ ..] => ("", rest),
        ["apis", group, _, ref rest @ ..] => (group, rest),
        _ => return on_path,
    };
    match parts {
        [] => on_path,
        [verb, rest @ ..] if VERBS_IN_PATHS.contains(verb) => {
            on_resource(verb, group, rest, query, *verb != "proxy")
        }
        parts => on_resource(verb(method), group, parts, query, true),
    }
}

/// Whether the request has no timeout.
pub(crate) fn is_long_running(attributes: &Attributes<'_>) -> bool {
    match attributes.on {
        On::Path(_) => false,
        On::Resource { subresource, .. } => {
            matches!(attributes.verb, "watch" | "proxy") || STREAMS.contains(&subresource)
        }
    }
}

fn on_resource<'a>(
    verb: &'a str,
    group: &'a str,
    parts: &[&'a str],
    query: &'a Query<'_>,
    has_subresources: bool,
) -> Attributes<'a> {
    let (namespace, parts) = match parts {
        ["namespaces", namespace, rest @ ..] => match rest.first() {
            Some(part) if !PARTS_OF_NAMESPACES.contains(part) => (*namespace, rest),
            // A namespace is in itself, as far as authorization goes.
            _ => (*namespace, parts),
        },
        parts => ("", parts),
    };
    let part = |index: usize| parts.get(index).copied().unwrap_or_default();
    let (verb, name) = match (verb, part(1)) {
        ("get", "") => (if query.flag("watch") { "watch" } else { "list" }, named(query)),
        ("delete", "") => ("deletecollection", ""),
        (verb, name) => (verb, name),
    };
    let subresource = if has_subresources { part(2) } else { "" };
    let on = On::Resource { group, resource: part(0), subresource, namespace, name };
    let field_selector = match verb {
        "list" | "watch" | "deletecollection" => query.text("fieldSelector"),
        _ => "",
    };
    Attributes { verb, on, field_selector }
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

/// The name that a field selector requires, if any.
pub(crate) fn named<'a>(query: &'a Query<'_>) -> &'a str {
    let mut exact = FieldSelector::required(query.text("fieldSelector"), "metadata.name");
    let is_name =
        |name: &&str| !matches!(*name, "" | "." | "..") && !name.contains(['/', '%', '\\']);
    exact.find(is_name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `VERB GROUP RESOURCE/SUBRESOURCE NAMESPACE/NAME`, or `VERB PATH`.
    fn shown(method: &str, url: &str) -> String {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let method_verb = method.as_str().to_lowercase();
        let query = Query::parse(query);
        let Attributes { verb, on, .. } = attributes(&method, &method_verb, path, &query);
        match on {
            On::Path(path) => format!("{verb} {path}"),
            On::Resource { group, resource, subresource, namespace, name } => {
                format!("{verb} {group} {resource}/{subresource} {namespace}/{name}")
            }
        }
    }

    // The cases of `requestinfo_test.go`.
    #[test]
    fn a_request_is_about_a_resource_by_its_path_alone() {
        for (method, url, expected) in [
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
            ("GET", "/api/v1/pods?watch=true", "watch  pods/ /"),
            ("GET", "/api/v1/pods?watch=false", "list  pods/ /"),
            ("GET", "/api/v1/watch/namespaces/other/pods", "watch  pods/ other/"),
            ("GET", "/api/v1/namespaces/other/pods?watch=1", "watch  pods/ other/"),
            ("GET", "/api/v1/namespaces/other/pods?watch=0", "list  pods/ other/"),
            ("GET", "/api/v1/namespaces/other/pods/foo/status", "get  pods/status other/foo"),
            ("GET", "/api/v1/namespaces/other/pods/foo/proxy/sub", "get  pods/proxy other/foo"),
            ("PUT", "/api/v1/namespaces/other/finalize", "update  namespaces/finalize other/other"),
            ("PUT", "/api/v1/namespaces/other/status", "update  namespaces/status other/other"),
            ("PATCH", "/api/v1/namespaces/other/pods/foo", "patch  pods/ other/foo"),
            ("DELETE", "/api/v1/namespaces/other/pods/foo", "delete  pods/ other/foo"),
            ("POST", "/api/v1/namespaces/other/pods", "create  pods/ other/"),
            ("DELETE", "/api/v1/nodes", "deletecollection  nodes/ /"),
            ("DELETE", "/api/v1/namespaces", "deletecollection  namespaces/ /"),
            (
                "DELETE",
                "/apis/extensions/v1/namespaces/other/pods",
                "deletecollection extensions pods/ other/",
            ),
            (
                "POST",
                "/apis/extensions/v1beta3/namespaces/other/pods",
                "create extensions pods/ other/",
            ),
            ("OPTIONS", "/api/v1/pods", "  pods/ /"),
            // Served or not.
            ("GET", "/api/version/resource", "list  resource/ /"),
            (
                "GET",
                "/apis/group/version/resource/name/subresource",
                "get group resource/subresource /name",
            ),
            ("GET", "/apis/batch/v1/job/foo/scale", "get batch job/scale /foo"),
            ("GET", "//api/v1/pods/", "list  pods/ /"),
            // A selector may require one name.
            ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Da", "list  pods/ /a"),
            (
                "GET",
                "/api/v1/pods?watch=1&fieldSelector=spec.x%3Dy,metadata.name==a",
                "watch  pods/ /a",
            ),
            ("GET", "/api/v1/pods?fieldSelector=metadata.name!=a", "list  pods/ /"),
            ("GET", "/api/v1/pods?fieldSelector=metadata.name=..", "list  pods/ /"),
            // An escaped comma ends no term.
            ("GET", "/api/v1/pods?fieldSelector=spec.x!=y\\,metadata.name=a", "list  pods/ /"),
            ("GET", "/api/v1/pods?fieldSelector=metadata.name=a\\,b", "list  pods/ /"),
            ("GET", "/api/v1/pods?fieldSelector=metadata.name=a,b", "list  pods/ /"),
            ("DELETE", "/api/v1/pods?fieldSelector=metadata.name=a", "deletecollection  pods/ /"),
            // Paths.
            ("GET", "/", "get /"),
            ("GET", "", "get "),
            ("GET", "/api", "get /api"),
            ("GET", "/api/version/", "get /api/version/"),
            ("POST", "/apis/group/version/", "post /apis/group/version/"),
            ("GET", "/apis/version/resource", "get /apis/version/resource"),
            ("GET", "/badprefix/version/resource", "get /badprefix/version/resource"),
            ("GET", "/API/v1/pods", "get /API/v1/pods"),
            ("PROPFIND", "/x", "propfind /x"),
        ] {
            assert_eq!(shown(method, url), expected, "{method} {url}");
        }
    }

    #[test]
    fn streams_take_as_long_as_they_take() {
        for (url, expected) in [
            ("/api/v1/pods", false),
            ("/api/v1/pods?watch=1", true),
            ("/api/v1/watch/pods", true),
            ("/api/v1/namespaces/a/pods/p/log", true),
            ("/api/v1/namespaces/a/pods/p/status", false),
            ("/version", false),
        ] {
            let (path, query) = url.split_once('?').unwrap_or((url, ""));
            let query = Query::parse(query);
            let found = attributes(&Method::GET, "get", path, &query);
            assert_eq!(is_long_running(&found), expected, "{url}");
        }
    }
}
