//! Subresources that are connections. They are described as in Kubernetes and rejected when called,
//! so that clients get an error rather than a missing path.

use super::{
    operation::Operation,
    parameters::{Parameter, flag, number, text},
    paths::PathItem,
};

const METHODS: &[(&str, &str)] = &[
    ("get", "get"),
    ("post", "create"),
    ("put", "update"),
    ("patch", "patch"),
    ("delete", "delete"),
    ("head", "delete"),
    ("options", "delete"),
];

/// The parameters of each connection.
const CONNECTIONS: &[(&str, &[Parameter])] = &[
    ("attach", &[text("container"), flag("stderr"), flag("stdin"), flag("stdout"), flag("tty")]),
    (
        "exec",
        &[
            text("command"),
            text("container"),
            flag("stderr"),
            flag("stdin"),
            flag("stdout"),
            flag("tty"),
        ],
    ),
    (
        "log",
        &[
            text("container"),
            flag("follow"),
            flag("insecureSkipTLSVerifyBackend"),
            number("limitBytes"),
            flag("previous"),
            number("sinceSeconds"),
            text("stream"),
            number("tailLines"),
            flag("timestamps"),
        ],
    ),
    ("portforward", &[number("ports")]),
    ("proxy", &[text("path")]),
];

/// The path of a connection, or the two paths of a proxy.
pub(super) fn paths(
    name: &str,
    object: &str,
    mut operation: impl FnMut(&'static str, bool) -> Option<Operation>,
) -> Vec<PathItem> {
    let mut all =
        |with_path| METHODS.iter().filter_map(|(method, _)| operation(method, with_path)).collect();
    let mut items = vec![(format!("{object}/{name}"), all(false))];
    if name == "proxy" {
        items.push((format!("{object}/{name}/{{path}}"), all(true)));
    }
    items
}

/// Whether the verbs of discovery include a method. A proxy with DELETE also has the methods
/// without a verb.
pub(super) fn offers(verbs: &[&str], method: &str) -> bool {
    METHODS.iter().any(|(known, verb)| *known == method && verbs.contains(verb))
}

pub(super) fn parameters(name: &str) -> &'static [Parameter] {
    CONNECTIONS.iter().find(|(known, _)| *known == name).map_or(&[], |(_, parameters)| parameters)
}
