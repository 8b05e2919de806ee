//! Authorization.
//!
//! There are no roles yet: `system:masters` is allowed everything, and all other users what
//! Kubernetes' default roles (`system:discovery`, `system:basic-user`, `system:public-info-viewer`)
//! grant to everyone.

use super::{AUTHENTICATED, MASTERS, User};
use crate::invalid::quoted;

/// A requested action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes<'a> {
    /// `get`, `list`, `watch`, `create`, …; for a path the method in lower case.
    pub(crate) verb: &'a str,
    pub(crate) on: On<'a>,
    /// The field selector of a list or watch; empty without one.
    pub(crate) field_selector: &'a str,
}

/// Its object. Fields that don't apply are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On<'a> {
    Resource {
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    Path(&'a str),
}

/// Allows, or returns the message of the 403.
pub(crate) fn authorize(user: &User, attributes: &Attributes<'_>) -> Result<(), String> {
    let allowed = user.is_in(MASTERS)
        || is_public(attributes)
        || (user.is_in(AUTHENTICATED) && is_for_all_users(attributes));
    if allowed { Ok(()) } else { Err(forbidden(user, attributes)) }
}

/// The message of the 403, in Kubernetes' wording.
pub(crate) fn forbidden(user: &User, attributes: &Attributes<'_>) -> String {
    let act = format!("User {} cannot {}", quoted(&user.name), attributes.verb);
    match attributes.on {
        On::Path(path) => {
            format!("forbidden: {}", harmless(&format!("{act} path {}", quoted(path))))
        }
        On::Resource { group, resource, subresource, namespace, name } => {
            let slash = if subresource.is_empty() { "" } else { "/" };
            let whole = quoted(&format!("{resource}{slash}{subresource}"));
            let place = match namespace {
                "" => "at the cluster scope".to_owned(),
                _ => format!("in the namespace {}", quoted(namespace)),
            };
            let words = format!("{act} resource {whole} in API group {} {place}", quoted(group));
            let dot = if group.is_empty() { "" } else { "." };
            let named = if name.is_empty() { String::new() } else { format!(" {}", quoted(name)) };
            format!("{resource}{dot}{group}{named} is forbidden: {}", harmless(&words))
        }
    }
}

fn is_public(attributes: &Attributes<'_>) -> bool {
    let Attributes { verb: "get", on: On::Path(path), .. } = attributes else { return false };
    matches!(*path, "/healthz" | "/livez" | "/readyz" | "/version" | "/version/")
}

fn is_for_all_users(attributes: &Attributes<'_>) -> bool {
    match *attributes {
        Attributes { verb: "get", on: On::Path(path), .. } => {
            let is_in = |root: &str| {
                path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            is_in("/api") || is_in("/apis") || is_in("/openapi")
        }
        Attributes {
            verb: "create",
            on: On::Resource { group, resource, subresource: "", .. },
            ..
        } => {
            matches!(
                (group, resource),
                ("authentication.k8s.io", "selfsubjectreviews")
                    | (
                        "authorization.k8s.io",
                        "selfsubjectaccessreviews" | "selfsubjectrulesreviews"
                    )
            )
        }
        _ => false,
    }
}

/// Kubernetes escapes characters that could make a response look like HTML.
fn harmless(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bob() -> User {
        User { name: "bob".to_owned(), ..User::default() }.authenticated()
    }

    fn resource<'a>(verb: &'a str, path: [&'a str; 5]) -> Attributes<'a> {
        let [group, resource, subresource, namespace, name] = path;
        let on = On::Resource { group, resource, subresource, namespace, name };
        Attributes { verb, on, field_selector: "" }
    }

    fn path<'a>(verb: &'a str, path: &'a str) -> Attributes<'a> {
        Attributes { verb, on: On::Path(path), field_selector: "" }
    }

    // Recorded from Kubernetes: scenario `auth.403-words`.
    #[test]
    fn refusals_have_the_words_of_kubernetes() {
        let cases = [
            (
                resource("list", ["", "pods", "", "default", ""]),
                r#"pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default""#,
            ),
            (
                resource("get", ["", "pods", "", "default", "x"]),
                r#"pods "x" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "default""#,
            ),
            (
                resource("get", ["", "nodes", "", "", "n"]),
                r#"nodes "n" is forbidden: User "bob" cannot get resource "nodes" in API group "" at the cluster scope"#,
            ),
            (
                resource("get", ["apps", "deployments", "scale", "default", "x"]),
                r#"deployments.apps "x" is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" in the namespace "default""#,
            ),
            (path("get", "/metrics"), r#"forbidden: User "bob" cannot get path "/metrics""#),
            (path("get", "/<b>&"), r#"forbidden: User "bob" cannot get path "/&lt;b&gt;&amp;""#),
        ];
        for (attributes, expected) in cases {
            assert_eq!(authorize(&bob(), &attributes), Err(expected.to_owned()));
        }
    }

    #[test]
    fn every_user_may_use_discovery_and_self_reviews() {
        let paths =
            ["/api", "/api/v1", "/apis", "/apis/apps/v1", "/openapi/v3", "/version", "/livez"];
        for url in paths {
            assert_eq!(authorize(&bob(), &path("get", url)), Ok(()));
        }
        let review = ["authentication.k8s.io", "selfsubjectreviews", "", "", ""];
        assert_eq!(authorize(&bob(), &resource("create", review)), Ok(()));
        let of_others = ["authentication.k8s.io", "tokenreviews", "", "", ""];
        assert!(authorize(&bob(), &resource("create", of_others)).is_err());
        for (verb, url) in [("post", "/api"), ("get", "/apix"), ("get", "/livez/ping")] {
            assert!(authorize(&bob(), &path(verb, url)).is_err(), "{url}");
        }
    }

    #[test]
    fn masters_may_do_everything_and_anonymous_next_to_nothing() {
        let master = User { groups: vec![MASTERS.to_owned()], ..User::default() };
        let anything = resource("frob", ["x", "y", "z", "a", "b"]);
        assert_eq!(authorize(&master, &anything), Ok(()));
        let anonymous = User::anonymous();
        assert!(authorize(&anonymous, &anything).is_err());
        assert!(authorize(&anonymous, &path("get", "/api")).is_err());
        let health = path("get", "/healthz");
        assert_eq!(authorize(&anonymous, &health), Ok(()));
    }
}
