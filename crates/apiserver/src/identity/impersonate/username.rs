//! User names with a special meaning in Kubernetes.

use crate::kinds::names;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Username<'a> {
    ServiceAccount {
        namespace: &'a str,
        name: &'a str,
    },
    /// The node's name.
    Node(&'a str),
    Other,
}

pub(super) fn username(name: &str) -> Username<'_> {
    if let Some(account) = name.strip_prefix("system:serviceaccount:")
        && let Some((namespace, name)) = account.split_once(':')
        && names::dns1123_label(namespace).is_empty()
        && names::dns1123_subdomain(name).is_empty()
    {
        return Username::ServiceAccount { namespace, name };
    }
    match name.strip_prefix("system:node:") {
        Some(node) if names::dns1123_subdomain(node).is_empty() => Username::Node(node),
        _ => Username::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_names_are_special() {
        let account = |namespace, name| Username::ServiceAccount { namespace, name };
        for (name, expected) in [
            ("system:serviceaccount:a:b.c", account("a", "b.c")),
            ("system:serviceaccount:a", Username::Other),
            ("system:serviceaccount:a:b:c", Username::Other),
            ("system:serviceaccount:a.b:c", Username::Other),
            ("system:serviceaccount::c", Username::Other),
            ("system:node:n1.example.com", Username::Node("n1.example.com")),
            ("system:node:", Username::Other),
            ("system:node:N", Username::Other),
            ("system:node", Username::Other),
            ("", Username::Other),
        ] {
            assert_eq!(username(name), expected, "{name}");
        }
    }
}
