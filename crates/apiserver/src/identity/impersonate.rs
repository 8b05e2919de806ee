//! Impersonation: the `Impersonate-*` headers.
//!
//! A user may act as another one in one of several modes, tried in Kubernetes' order. The
//! constrained modes (KEP-5284) come first: each requires a right to the request itself,
//! `impersonate-on:MODE:VERB`, and rights to each value of the wanted user, `impersonate:MODE`. The
//! last is the older `impersonate`, which needs no right to the request. If all refuse, the refusal
//! is that of the first mode that applied.
//!
//! Kubernetes begins with the mode that last succeeded for the user: there the refusal of another
//! mode may be reported, and who has the rights of several modes may get the groups of another one.
//! Here nothing depends on earlier requests. Source:
//! `k8s.io/apiserver/pkg/endpoints/filters/impersonation`.

mod check;
mod username;

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use self::{
    check::Check,
    username::{Username, username},
};
use evenkeel_authorization::forbidden;

use super::{Attributes, Decision, User};
use crate::invalid::quoted;

/// Why an impersonation is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// 400 with this message.
    BadRequest(String),
    /// 403 with this message; its details have this group, resource and name.
    Forbidden { message: String, group: String, resource: String, name: String },
}

/// The modes with a right to the request, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A ServiceAccount acts as the node that its Pod runs on.
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
}

const MODES: [Mode; 4] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo];
const EXTRA: &str = "impersonate-extra-";
/// The node of the Pod that a ServiceAccount's token is bound to.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const ASSOCIATED_NODE_KEYS: &str = "authentication.kubernetes.io/associated-node-keys";

/// The user to impersonate, if the headers name one. `attributes` are those of the request, `may`
/// is the authorizer.
pub(crate) fn impersonate(
    user: &User,
    headers: &HeaderMap,
    attributes: &Attributes<'_>,
    may: impl Fn(&User, &Attributes<'_>) -> Decision,
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
    let mut first = None;
    for mode in MODES.into_iter().filter(|mode| mode.applies(user, &wanted)) {
        match mode.check(user, &wanted, attributes, &may) {
            Ok(allowed) => return Ok(Some(allowed)),
            Err(refusal) => drop(first.get_or_insert(refusal)),
        }
    }
    let legacy = Check { requestor: user, mode: None, verb: "impersonate", may: &may };
    match legacy.user(&wanted) {
        Ok(allowed) => Ok(Some(allowed)),
        Err(refusal) => Err(first.unwrap_or(refusal)),
    }
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

// === impl Mode ===

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "associated-node",
            Mode::ArbitraryNode => "arbitrary-node",
            Mode::ServiceAccount => "serviceaccount",
            Mode::UserInfo => "user-info",
        }
    }

    /// Nodes and ServiceAccounts have fixed groups and nothing else that could be asked for.
    fn applies(self, requestor: &User, wanted: &User) -> bool {
        let only_named =
            wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        match (self, username(&wanted.name)) {
            (Mode::AssociatedNode, Username::Node(node)) => {
                only_named && is_associated(requestor, node)
            }
            (Mode::ArbitraryNode, Username::Node(_)) => only_named,
            (Mode::ServiceAccount, Username::ServiceAccount { .. }) => only_named,
            (Mode::UserInfo, Username::Other) => true,
            _ => false,
        }
    }

    fn check(
        self,
        requestor: &User,
        wanted: &User,
        attributes: &Attributes<'_>,
        may: &dyn Fn(&User, &Attributes<'_>) -> Decision,
    ) -> Result<User, Refusal> {
        let anywhere;
        let requestor = match self {
            Mode::AssociatedNode => {
                anywhere = without_node(requestor);
                &anywhere
            }
            _ => requestor,
        };
        let verb = format!("impersonate:{}", self.name());
        let check = Check { requestor, mode: Some(self), verb: &verb, may };
        let on_verb = format!("impersonate-on:{}:{}", self.name(), attributes.verb);
        check.authorize(&Attributes { verb: &on_verb, ..*attributes })?;
        check.user(wanted)
    }
}

/// Whether the token of the ServiceAccount is bound to the node, or to a Pod on it.
fn is_associated(requestor: &User, node: &str) -> bool {
    let is_account = matches!(username(&requestor.name), Username::ServiceAccount { .. });
    let nodes = requestor.extra.get(NODE_NAME).map(Vec::as_slice);
    is_account && matches!(nodes, Some([own]) if own == node)
}

/// The right to be the associated node is the same on every node, so that the authorizer does not
/// see which one it is.
fn without_node(requestor: &User) -> User {
    let keys = requestor.extra.keys().cloned().collect();
    User { extra: [(ASSOCIATED_NODE_KEYS.to_owned(), keys)].into(), ..requestor.clone() }
}

// === impl Refusal ===

impl Refusal {
    /// A right that is missing, and why.
    fn forbidden(user: &User, attributes: &Attributes<'_>, why: &str) -> Refusal {
        let (group, resource, name) = match attributes.on {
            super::On::Resource { group, resource, name, .. } => (group, resource, name),
            super::On::Path(_) => ("", "", ""),
        };
        Refusal::Forbidden {
            message: forbidden(user, attributes, why),
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
        }
    }
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
mod tests;
