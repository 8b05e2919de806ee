//! The Node authorizer: what a node may do, beyond what RBAC gives to everyone.
//!
//! RBAC gives nodes nothing (the binding `system:node` has no subjects). A node may read and report
//! its own Node, keep its own Lease, read the Pods that are bound to it and the ConfigMaps, Secrets
//! and ServiceAccounts that these name (`Graph`), report their status, evict them, and get tokens
//! for their ServiceAccounts. The rules and their words are those of Kubernetes'
//! `plugin/pkg/auth/authorizer/node`; which of the writes are refused nevertheless, because they
//! concern another node, is `restriction`, as in Kubernetes its admission plugin NodeRestriction.

mod field;
mod graph;
mod restriction;

pub use self::{
    graph::{Graph, PodRefs, Referenced},
    restriction::{Change, restriction},
};
use crate::{Attributes, NODES, On, User, quote::Quoted};

/// The namespace of the Leases of nodes.
pub const LEASES: &str = "kube-node-lease";

/// What a SelfSubjectRulesReview of a node could not evaluate.
pub const NO_RULES: &str = "node authorizer does not support user rule resolution";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allowed,
    /// Others may allow it. The reason is often empty.
    NoOpinion(String),
}

/// The name of the node that a user is. Empty if it can't be told which.
pub fn identity(user: &User) -> Option<&str> {
    let name = user.name.strip_prefix("system:node:")?;
    user.is_in(NODES).then_some(name)
}

/// Whether a user may do something because it is a node.
pub fn authorize(user: &User, attributes: &Attributes<'_>, graph: &Graph) -> Decision {
    match identity(user) {
        None => Decision::NoOpinion(String::new()),
        Some("") => Decision::NoOpinion(format!("unknown node for user {}", Quoted(&user.name))),
        Some(node) => match refused(node, attributes, graph) {
            None => Decision::Allowed,
            Some(reason) => Decision::NoOpinion(reason),
        },
    }
}

/// A request as the rules below look at it.
struct Asked<'a> {
    node: &'a str,
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    part: &'a str,
    namespace: &'a str,
    /// Of lists and watches too, if their field selector has one.
    name: &'a str,
    field_selector: &'a str,
    graph: &'a Graph,
}

fn refused(node: &str, attributes: &Attributes<'_>, graph: &Graph) -> Option<String> {
    let Attributes { verb, on, field_selector } = *attributes;
    let On::Resource { group, resource, subresource: part, namespace, name } = on else {
        return Some(String::new());
    };
    let selected = || field::value(field_selector, "metadata.name").unwrap_or_default();
    let name = match (name, verb) {
        ("", "list" | "watch") => selected(),
        _ => name,
    };
    let asked = Asked { node, verb, group, resource, part, namespace, name, field_selector, graph };
    match (group, resource) {
        ("", "secrets") => asked.reading(Referenced::Secret),
        ("", "configmaps") => asked.reading(Referenced::ConfigMap),
        ("", "serviceaccounts") => asked.of_service_account(),
        ("coordination.k8s.io", "leases") => asked.of_lease(),
        ("", "nodes") => asked.of_node(),
        ("", "pods") => asked.of_pod(),
        _ => asked.of_others(),
    }
}

// === impl Asked ===

/// Each returns why it is refused.
impl Asked<'_> {
    fn reading(&self, what: Referenced) -> Option<String> {
        match () {
            () if !matches!(self.verb, "get" | "list" | "watch") => {
                because("can only read resources of this type")
            }
            () if !self.part.is_empty() => because("cannot read subresource"),
            () if self.namespace.is_empty() => {
                because("can only read namespaced object of this type")
            }
            () => self.related(what),
        }
    }

    fn related(&self, what: Referenced) -> Option<String> {
        if self.name.is_empty() {
            return because("No Object name found");
        }
        self.unrelated(what)
    }

    fn unrelated(&self, what: Referenced) -> Option<String> {
        let Asked { node, namespace, name, .. } = self;
        let unrelated = || format!("no relationship found between node '{node}' and this object");
        (!self.graph.has(node, what, namespace, name)).then(unrelated)
    }

    fn of_service_account(&self) -> Option<String> {
        match (self.verb, self.part) {
            ("get", "") => self.reading(Referenced::ServiceAccount),
            ("create", _) if !self.name.is_empty() => match self.part {
                "token" => self.unrelated(Referenced::ServiceAccount),
                _ => because("can only create token subresource of serviceaccount"),
            },
            _ => because("can only create tokens for individual service accounts"),
        }
    }

    fn of_lease(&self) -> Option<String> {
        if !matches!(self.verb, "get" | "create" | "update" | "patch" | "delete") {
            return because("can only get, create, update, patch, or delete a node lease");
        }
        if self.namespace != LEASES {
            let namespace = Quoted(LEASES);
            return Some(format!("can only access leases in the {namespace} system namespace"));
        }
        // The name in the body of a create is checked by `restriction`.
        if self.verb != "create" && self.name != self.node {
            return because("can only access node lease with the same name as the requesting node");
        }
        None
    }

    fn of_node(&self) -> Option<String> {
        let Asked { node, name, .. } = self;
        match (self.part, self.verb) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => None,
            ("", "get" | "list" | "watch") if name == node => None,
            ("", "get" | "list" | "watch") if name.is_empty() => {
                Some(format!("node '{node}' cannot read all nodes, only its own Node object"))
            }
            ("", "get" | "list" | "watch") => {
                Some(format!("node '{node}' cannot read '{name}', only its own Node object"))
            }
            _ => because(""),
        }
    }

    fn of_pod(&self) -> Option<String> {
        match (self.part, self.verb) {
            ("", "get") => self.related(Referenced::Pod),
            ("", "list" | "watch") => {
                if field::value(self.field_selector, "spec.nodeName") == Some(self.node) {
                    return None;
                }
                if !self.name.is_empty() {
                    return self.related(Referenced::Pod);
                }
                because("can only list/watch pods with spec.nodeName field selector")
            }
            ("", "create" | "delete") | ("status", "update" | "patch") => None,
            ("eviction", "create") => None,
            _ => because(""),
        }
    }

    /// Resources that are the same for all nodes: the rules of the role `system:node`.
    fn of_others(&self) -> Option<String> {
        let allowed = match (self.group, self.resource, self.part) {
            ("authentication.k8s.io", "tokenreviews", "") => &["create"][..],
            ("authorization.k8s.io", "subjectaccessreviews" | "localsubjectaccessreviews", "") => {
                &["create"]
            }
            ("", "services", "") => &["get", "list", "watch"],
            ("" | "events.k8s.io", "events", "") => &["create", "update", "patch"],
            ("", "endpoints", "") => &["get"],
            _ => &[],
        };
        if allowed.contains(&self.verb) { None } else { because("") }
    }
}

fn because(reason: &str) -> Option<String> {
    Some(reason.to_owned())
}

#[cfg(test)]
mod tests;
