//! The target of a request: path and query, parsed once.
//!
//! Kubernetes' own rules: a trailing slash is ignored, double slashes and dot segments match
//! nothing, unknown paths are answered in plain text and unknown resources of known groups with a
//! `Status`. Source: `k8s.io/apiserver/pkg/server/handler.go`, `pkg/endpoints/request`.

pub(crate) mod info;
pub(crate) mod query;
pub(crate) mod timeout;

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

pub(crate) use crate::request::query::Query;
use crate::{
    fairness,
    kinds::{Catalogue, KindRef},
    status::{Failure, Result},
    tokens,
};

/// The target of a path.
#[derive(Debug, PartialEq)]
pub(crate) enum Target {
    Resource(Resource),
    /// A create-only kind: `TokenReview`, `Binding` in a namespace, …
    Review {
        group: &'static str,
        plural: &'static str,
        namespace: Option<String>,
    },
    Discovery(Discovery),
    /// `/healthz`, `/livez`, `/readyz` and below.
    Health(String),
    Version,
    Metrics,
    /// `/debug/api_priority_and_fairness/`, and the name of a dump.
    FairnessDump(&'static str),
    /// `/.well-known/openid-configuration`.
    OpenIdConfiguration,
    /// `/openid/v1/jwks`.
    Jwks,
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3` and below; empty for the index.
    OpenApiV3(String),
    Root,
}

/// A collection, an object or a subresource.
#[derive(Debug, PartialEq)]
pub(crate) struct Resource {
    pub(crate) kind: KindRef,
    pub(crate) namespace: Option<String>,
    /// Empty: the collection.
    pub(crate) name: String,
    /// Empty: the object itself.
    pub(crate) subresource: String,
    /// The deprecated `/watch/` prefix.
    pub(crate) watch: bool,
}

/// A discovery document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Discovery {
    /// `/api`
    Core,
    /// `/apis`
    Groups,
    /// `/apis/GROUP`
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`
    Version(String, String),
}

/// Create-only kinds: group, version, resource, whether namespaced.
pub(crate) const REVIEWS: &[(&str, &str, &str, bool)] = &[
    ("", "v1", "bindings", true),
    ("authentication.k8s.io", "v1", "tokenreviews", false),
    ("authentication.k8s.io", "v1", "selfsubjectreviews", false),
    ("authorization.k8s.io", "v1", "localsubjectaccessreviews", true),
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", false),
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews", false),
    ("authorization.k8s.io", "v1", "subjectaccessreviews", false),
];

pub(crate) fn target(served: &Catalogue, path: &str) -> Result<Target> {
    // Like Go's router, which matches the decoded path.
    let path = &*decoded(path)?;
    let path = match path.strip_suffix('/') {
        Some("") | None => path,
        Some(shorter) => shorter,
    };
    match path {
        "/" => return Ok(Target::Root),
        "/version" => return Ok(Target::Version),
        "/metrics" => return Ok(Target::Metrics),
        _ if path.starts_with(fairness::DUMPS.0) => return fairness_dump(path),
        tokens::OPENID_PATH => return Ok(Target::OpenIdConfiguration),
        tokens::JWKS_PATH => return Ok(Target::Jwks),
        "/openapi/v2" => return Ok(Target::OpenApiV2),
        "/openapi/v3" => return Ok(Target::OpenApiV3(String::new())),
        "/api" => return Ok(Target::Discovery(Discovery::Core)),
        "/apis" => return Ok(Target::Discovery(Discovery::Groups)),
        _ => {}
    }
    if let Some(document) = path.strip_prefix("/openapi/v3/") {
        return Ok(Target::OpenApiV3(document.to_owned()));
    }
    for probe in ["/healthz", "/livez", "/readyz"] {
        if path == probe || path.strip_prefix(probe).is_some_and(|rest| rest.starts_with('/')) {
            return Ok(Target::Health(path.to_owned()));
        }
    }
    if let Some(rest) = path.strip_prefix("/api/") {
        return in_group(served, "", rest);
    }
    let Some(rest) = path.strip_prefix("/apis/") else { return Err(Failure::unknown_path()) };
    let (group, rest) = rest.split_once('/').unwrap_or((rest, ""));
    // The core group has no name, and is not here.
    if group.is_empty() || !served.has_group(group) {
        return Err(Failure::unknown_path());
    }
    if rest.is_empty() {
        return Ok(Target::Discovery(Discovery::Group(group.to_owned())));
    }
    in_group(served, group, rest)
}

fn fairness_dump(path: &str) -> Result<Target> {
    let (below, names) = fairness::DUMPS;
    let asked = path.strip_prefix(below);
    let known = names.into_iter().find(|name| asked == Some(*name));
    known.map(Target::FairnessDump).ok_or_else(Failure::unknown_path)
}

/// The group and version of a path.
#[derive(Clone, Copy)]
struct Within<'a> {
    served: &'a Catalogue,
    group: &'a str,
    version: &'a str,
}

/// The path after `/api/` or `/apis/GROUP/`.
fn in_group(served: &Catalogue, group: &str, rest: &str) -> Result<Target> {
    let (version, rest) = rest.split_once('/').unwrap_or((rest, ""));
    // Groups that only definitions make known have no handler of their own for what is unknown.
    let unknown = || match served.is_builtin_group(group) {
        true => Failure::unknown_resource(),
        false => Failure::unknown_path(),
    };
    if !served.has_version(group, version) {
        return Err(unknown());
    }
    if rest.is_empty() {
        return Ok(Target::Discovery(Discovery::Version(group.to_owned(), version.to_owned())));
    }
    let mut segments: Vec<&str> = rest.split('/').collect();
    if segments.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
        return Err(unknown());
    }
    let watch = segments[0] == "watch" && segments.len() > 1;
    if watch {
        segments.remove(0);
    }
    let within = Within { served, group, version };
    resource(within, &segments, watch).ok_or_else(unknown)
}

fn resource(within: Within<'_>, segments: &[&str], watch: bool) -> Option<Target> {
    let (namespace, segments) = match segments {
        // `namespaces/NAME` and its subresources are about the namespace itself. No subresource can be
        // watched, and below `watch` every method is authorized as a watch.
        ["namespaces", name, part @ ..]
            if part.is_empty() || (!watch && matches!(part, ["status" | "finalize"])) =>
        {
            if !within.group.is_empty() {
                return None;
            }
            let subresource = part.first().copied().unwrap_or_default();
            return found(within, "namespaces", None, name, subresource, watch);
        }
        ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
        all => (None, all),
    };
    match segments {
        [plural] => found(within, plural, namespace, "", "", watch),
        [plural, name] => found(within, plural, namespace, name, "", watch),
        [plural, name, part @ ..] if !watch => {
            found(within, plural, namespace, name, &part.join("/"), watch)
        }
        _ => None,
    }
}

fn found(
    within: Within<'_>,
    plural: &str,
    namespace: Option<&str>,
    name: &str,
    subresource: &str,
    watch: bool,
) -> Option<Target> {
    let Within { served, group, version } = within;
    let namespace = namespace.map(str::to_owned);
    let same = |(known_group, _, known, in_namespace): &&(&str, &str, &str, bool)| {
        *known_group == group && *known == plural && *in_namespace == namespace.is_some()
    };
    if version == "v1"
        && name.is_empty()
        && !watch
        && let Some((group, _, plural, _)) = REVIEWS.iter().find(same)
    {
        return Some(Target::Review { group, plural, namespace });
    }
    let kind = served.resource(group, version, plural)?.clone();
    let in_place = match &namespace {
        Some(_) => kind.namespaced,
        None => !kind.namespaced || name.is_empty(),
    };
    // Which subresources a custom resource has is answered by it.
    let is_known =
        subresource.is_empty() || kind.subresource(subresource).is_some() || kind.custom.is_some();
    if !in_place || !is_known {
        return None;
    }
    let (name, subresource) = (name.to_owned(), subresource.to_owned());
    Some(Target::Resource(Resource { kind, namespace, name, subresource, watch }))
}

fn decoded(path: &str) -> Result<Cow<'_, str>> {
    let is_escape = |after: &str| {
        after.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if !path.split('%').skip(1).all(is_escape) {
        return Err(Failure::bad_request(format!("the path {path:?} has a % without its digits")));
    }
    // No object has a name that is not valid UTF-8.
    percent_decode_str(path).decode_utf8().map_err(|_| Failure::unknown_resource())
}

#[cfg(test)]
mod tests;
