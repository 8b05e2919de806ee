//! What a request asks for, and the words of a refusal.

use crate::{User, quote::Quoted};

/// A requested action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// `get`, `list`, `watch`, `create`, …; for a path the method in lower case.
    pub verb: &'a str,
    pub on: On<'a>,
    /// The field selector of a list or watch as it was sent; empty without one.
    pub field_selector: &'a str,
}

/// The object of an action. Fields that don't apply are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On<'a> {
    Resource {
        group: &'a str,
        resource: &'a str,
        subresource: &'a str,
        namespace: &'a str,
        name: &'a str,
    },
    Path(&'a str),
}

/// The message of the 403, in Kubernetes' wording. `why` is what the authorizers said (`reasons`),
/// often nothing.
pub fn forbidden(user: &User, attributes: &Attributes<'_>, why: &str) -> String {
    let act = format!("User {} cannot {}", Quoted(&user.name), attributes.verb);
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    match attributes.on {
        On::Path(path) => {
            format!("forbidden: {}{because}", harmless(&format!("{act} path {}", Quoted(path))))
        }
        On::Resource { group, resource, subresource, namespace, name } => {
            let slash = if subresource.is_empty() { "" } else { "/" };
            let whole = format!("{resource}{slash}{subresource}");
            let place = match namespace {
                "" => "at the cluster scope".to_owned(),
                _ => format!("in the namespace {}", Quoted(namespace)),
            };
            let words =
                format!("{act} resource {} in API group {} {place}", Quoted(&whole), Quoted(group));
            let dot = if group.is_empty() { "" } else { "." };
            let named = if name.is_empty() { String::new() } else { format!(" {}", Quoted(name)) };
            format!("{resource}{dot}{group}{named} is forbidden: {}{because}", harmless(&words))
        }
    }
}

/// The reasons of several authorizers, each with its name (`node`, `rbac`), as a refusal joins them.
/// Empty ones are left out.
pub fn reasons(of: &[(&str, &str)]) -> String {
    let given = of.iter().filter(|(_, reason)| !reason.is_empty());
    given.map(|(name, reason)| format!("{name}: {reason}")).collect::<Vec<_>>().join("\n")
}

/// Kubernetes escapes characters that could make a response look like HTML.
fn harmless(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

// === impl Attributes ===

impl<'a> Attributes<'a> {
    /// An action on a resource: group, resource, subresource, namespace, name.
    pub fn resource(verb: &'a str, of: [&'a str; 5]) -> Attributes<'a> {
        let [group, resource, subresource, namespace, name] = of;
        let on = On::Resource { group, resource, subresource, namespace, name };
        Attributes { verb, on, field_selector: "" }
    }

    /// An action on a path.
    pub fn path(verb: &'a str, path: &'a str) -> Attributes<'a> {
        Attributes { verb, on: On::Path(path), field_selector: "" }
    }

    /// The namespace; empty at the cluster scope.
    pub fn namespace(&self) -> &'a str {
        match self.on {
            On::Resource { namespace, .. } => namespace,
            On::Path(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Recorded from Kubernetes: scenario `auth.403-words`, and requests with dangling bindings.
    #[test]
    fn refusals_have_the_words_of_kubernetes() {
        let bob = User { name: "bob".to_owned(), ..User::default() };
        let cases = [
            (
                Attributes::resource("list", ["", "pods", "", "default", ""]),
                r#"pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default""#,
            ),
            (
                Attributes::resource("get", ["", "pods", "", "default", "x"]),
                r#"pods "x" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "default""#,
            ),
            (
                Attributes::resource("get", ["", "nodes", "", "", "n"]),
                r#"nodes "n" is forbidden: User "bob" cannot get resource "nodes" in API group "" at the cluster scope"#,
            ),
            (
                Attributes::resource("get", ["apps", "deployments", "scale", "default", "x"]),
                r#"deployments.apps "x" is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" in the namespace "default""#,
            ),
            (
                Attributes::path("get", "/metrics"),
                r#"forbidden: User "bob" cannot get path "/metrics""#,
            ),
            (
                Attributes::path("get", "/<b>&"),
                r#"forbidden: User "bob" cannot get path "/&lt;b&gt;&amp;""#,
            ),
        ];
        for (attributes, expected) in cases {
            assert_eq!(forbidden(&bob, &attributes, ""), expected);
            let because = forbidden(&bob, &attributes, "node: <no>");
            assert_eq!(because, format!("{expected}: node: <no>"));
        }
    }

    #[test]
    fn reasons_of_authorizers_are_joined() {
        assert_eq!(reasons(&[("node", ""), ("rbac", "")]), "");
        assert_eq!(reasons(&[("node", "a"), ("rbac", "")]), "node: a");
        assert_eq!(reasons(&[("node", "a"), ("rbac", "RBAC: b")]), "node: a\nrbac: RBAC: b");
    }
}
