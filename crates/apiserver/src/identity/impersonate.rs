//! Impersonation: the `Impersonate-*` headers.
//!
//! As in Kubernetes 1.37, where a first check requires the verb `impersonate-on:MODE:VERB` for the
//! request itself, and only then the older `impersonate` on users. If both are denied, the error is
//! about the first that applied. Source of the modes: KEP-5284.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::{ANONYMOUS, AUTHENTICATED, Attributes, MASTERS, On, UNAUTHENTICATED, User};
use crate::invalid::quoted;
use evenkeel_authorization::forbidden;

/// Why an impersonation is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 400 with this message.
    BadRequest(String),
    /// 403 with this message; its details have this group, resource and name.
    Forbidden { message: String, group: String, resource: String, name: String },
}

const EXTRA: &str = "impersonate-extra-";
const NODES: &str = "system:nodes";

/// The user to impersonate, if the headers name one. `attributes` are those of the request.
pub(crate) fn impersonate(
    user: &User,
    headers: &HeaderMap,
    attributes: &Attributes<'_>,
) -> Result<Option<User>, Refusal> {
    // Most requests have none of these, and should not pay for it.
    if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(None);
    }
    let wanted = wanted(headers);
    if wanted.name.is_empty() {
        if wanted == User::default() {
            return Ok(None);
        }
        let shown = shown(&wanted);
        let message = format!("requested {shown} without impersonating a user name");
        return Err(Refusal::BadRequest(message));
    }
    if !user.is_in(MASTERS) {
        return Err(refusal(user, &wanted, attributes));
    }
    Ok(Some(completed(wanted)))
}

/// The headers, unchecked.
fn wanted(headers: &HeaderMap) -> User {
    let first = |name| headers.get(name).map(text).unwrap_or_default();
    let groups = headers.get_all("impersonate-group").iter().map(text).collect();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            extra.entry(unescaped(key)).or_default().push(text(value));
        }
    }
    User { name: first("impersonate-user"), uid: first("impersonate-uid"), groups, extra }
}

fn text(value: &http::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// A key with an invalid escape is kept unchanged.
fn unescaped(key: &str) -> String {
    let is_escape = |rest: &str| {
        rest.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if !key.split('%').skip(1).all(is_escape) {
        return key.to_owned();
    }
    percent_decode_str(key).decode_utf8_lossy().into_owned()
}

/// Adds the groups that follow from the name.
fn completed(mut wanted: User) -> User {
    if let Kind::ServiceAccount { namespace, .. } = kind(&wanted.name)
        && wanted.groups.is_empty()
    {
        wanted.groups = vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
        ];
    } else if kind(&wanted.name) == Kind::Node && only_named(&wanted) {
        wanted.groups = vec![NODES.to_owned()];
    }
    let added = match wanted.name.as_str() {
        ANONYMOUS => UNAUTHENTICATED,
        _ if wanted.is_in(UNAUTHENTICATED) => return wanted,
        _ => AUTHENTICATED,
    };
    if !wanted.is_in(added) {
        wanted.groups.push(added.to_owned());
    }
    wanted
}

fn refusal(user: &User, wanted: &User, attributes: &Attributes<'_>) -> Refusal {
    let kind = kind(&wanted.name);
    let mode = match kind {
        Kind::Node if only_named(wanted) => "arbitrary-node",
        Kind::ServiceAccount { .. } if only_named(wanted) => "serviceaccount",
        Kind::Other => "user-info",
        Kind::Node => {
            return refused(user, "impersonate", of_legacy("users", "", &wanted.name));
        }
        Kind::ServiceAccount { namespace, name } => {
            return refused(user, "impersonate", of_legacy("serviceaccounts", namespace, name));
        }
    };
    refused(user, &format!("impersonate-on:{mode}:{}", attributes.verb), attributes.on)
}

fn of_legacy<'a>(resource: &'a str, namespace: &'a str, name: &'a str) -> On<'a> {
    On::Resource { group: "", resource, subresource: "", namespace, name }
}

fn refused(user: &User, verb: &str, on: On<'_>) -> Refusal {
    let (group, resource, name) = match on {
        On::Resource { group, resource, name, .. } => (group, resource, name),
        On::Path(_) => ("", "", ""),
    };
    Refusal::Forbidden {
        message: forbidden(user, &Attributes { verb, on, field_selector: "" }, ""),
        group: group.to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
    }
}

/// User names with a special meaning in Kubernetes.
#[derive(Debug, PartialEq, Eq)]
enum Kind<'a> {
    ServiceAccount { namespace: &'a str, name: &'a str },
    Node,
    Other,
}

fn kind(name: &str) -> Kind<'_> {
    if let Some(account) = name.strip_prefix("system:serviceaccount:")
        && let Some((namespace, name)) = account.split_once(':')
        && is_label(namespace, 63)
        && is_subdomain(name)
    {
        return Kind::ServiceAccount { namespace, name };
    }
    match name.strip_prefix("system:node:") {
        Some(node) if is_subdomain(node) => Kind::Node,
        _ => Kind::Other,
    }
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(|label| is_label(label, 253))
}

fn is_label(text: &str, most: usize) -> bool {
    let is_end =
        |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.as_bytes();
    bytes.len() <= most
        && is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

fn only_named(wanted: &User) -> bool {
    wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty()
}

/// As Go prints a user with `%#v`.
fn shown(user: &User) -> String {
    let User { name, uid, groups, extra } = user;
    let strings = |list: &[String]| {
        let all: Vec<String> = list.iter().map(|item| quoted(item)).collect();
        format!("[]string{{{}}}", all.join(", "))
    };
    let groups = if groups.is_empty() { "[]string(nil)".to_owned() } else { strings(groups) };
    let pairs: Vec<String> =
        extra.iter().map(|(key, values)| format!("{}:{}", quoted(key), strings(values))).collect();
    let extra = match pairs.as_slice() {
        [] => "map[string][]string(nil)".to_owned(),
        _ => format!("map[string][]string{{{}}}", pairs.join(", ")),
    };
    let (name, uid) = (quoted(name), quoted(uid));
    format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}")
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    const LIST_PODS: Attributes<'static> = Attributes {
        verb: "list",
        on: On::Resource {
            group: "",
            resource: "pods",
            subresource: "",
            namespace: "default",
            name: "",
        },
        field_selector: "",
    };

    type Header = (&'static str, &'static str);

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            let name = HeaderName::from_bytes(format!("impersonate-{name}").as_bytes()).unwrap();
            (name, HeaderValue::from_str(value).unwrap())
        });
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        headers
    }

    fn master() -> User {
        User { name: "admin".to_owned(), groups: vec![MASTERS.to_owned()], ..User::default() }
    }

    // Recorded from Kubernetes: scenarios `auth.impersonate-bad` and `auth.whoami`.
    #[test]
    fn the_groups_of_the_impersonated_follow_from_the_name() {
        let authenticated = "system:authenticated";
        let cases: &[(&[Header], &[&str])] = &[
            (&[("user", "bob")], &[authenticated]),
            (&[("user", "bob"), ("group", "devs")], &["devs", authenticated]),
            (&[("user", "bob"), ("group", authenticated)], &[authenticated]),
            (&[("user", "bob"), ("group", "system:unauthenticated")], &["system:unauthenticated"]),
            (&[("user", "system:anonymous")], &["system:unauthenticated"]),
            (
                &[("user", "system:serviceaccount:default:robot")],
                &["system:serviceaccounts", "system:serviceaccounts:default", authenticated],
            ),
            (
                &[("user", "system:serviceaccount:default:robot"), ("group", "g")],
                &["g", authenticated],
            ),
            (&[("user", "system:serviceaccount:Default:robot")], &[authenticated]),
            (&[("user", "system:node:n1")], &["system:nodes", authenticated]),
            (&[("user", "system:node:n1"), ("uid", "u")], &[authenticated]),
        ];
        for (given, expected) in cases {
            let user = impersonate(&master(), &headers(given), &LIST_PODS).unwrap().unwrap();
            assert_eq!(user.groups, *expected, "{given:?}");
        }
    }

    #[test]
    fn extra_keys_are_unescaped_and_keep_all_values() {
        let given = [
            ("user", "bob"),
            ("extra-a%2fb", "1"),
            ("extra-a%2fb", "2"),
            ("extra-50%", "3"),
            ("uid", "u-1"),
        ];
        let user = impersonate(&master(), &headers(&given), &LIST_PODS).unwrap().unwrap();
        assert_eq!(user.uid, "u-1");
        assert_eq!(user.extra["a/b"], ["1", "2"]);
        assert_eq!(user.extra["50%"], ["3"]);
    }

    #[test]
    fn without_headers_nobody_is_impersonated() {
        for given in [&[][..], &[("user", "")], &[("proxy", "x")]] {
            assert_eq!(impersonate(&master(), &headers(given), &LIST_PODS), Ok(None), "{given:?}");
        }
    }

    #[test]
    fn groups_or_extras_alone_are_a_bad_request() {
        let cases = [
            (
                ("group", "x"),
                r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"x"}, Extra:map[string][]string(nil)} without impersonating a user name"#,
            ),
            (
                ("extra-a", "x"),
                r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"x"}}} without impersonating a user name"#,
            ),
            (
                ("uid", "1"),
                r#"requested &user.DefaultInfo{Name:"", UID:"1", Groups:[]string(nil), Extra:map[string][]string(nil)} without impersonating a user name"#,
            ),
        ];
        for (given, expected) in cases {
            let refused = impersonate(&master(), &headers(&[given]), &LIST_PODS);
            assert_eq!(refused, Err(Refusal::BadRequest(expected.to_owned())));
        }
    }

    #[test]
    fn who_may_not_impersonate_hears_which_right_is_missing() {
        let bob = User { name: "bob".to_owned(), ..User::default() }.authenticated();
        let account = "system:serviceaccount:default:robot";
        let cases: &[(&[Header], &str)] = &[
            (
                &[("user", "al"), ("group", "system:masters")],
                r#"pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default""#,
            ),
            (
                &[("user", account)],
                r#"pods is forbidden: User "bob" cannot impersonate-on:serviceaccount:list resource "pods" in API group "" in the namespace "default""#,
            ),
            (
                &[("user", account), ("uid", "1")],
                r#"serviceaccounts "robot" is forbidden: User "bob" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "default""#,
            ),
            (
                &[("user", "system:node:n"), ("uid", "1")],
                r#"users "system:node:n" is forbidden: User "bob" cannot impersonate resource "users" in API group "" at the cluster scope"#,
            ),
        ];
        for (given, expected) in cases {
            match impersonate(&bob, &headers(given), &LIST_PODS) {
                Err(Refusal::Forbidden { message, .. }) => assert_eq!(message, *expected),
                other => panic!("{given:?}: {other:?}"),
            }
        }
    }
}
