//! Which tokens a kubelet may request: bound to a Pod on its Node, and for an audience that the Pod
//! names in a projected volume, or that a role allows. Others are not restricted.
//!
//! Source: `admitServiceAccount` in `plugin/pkg/admission/noderestriction`. There are no CSI drivers
//! here, which could name audiences too.

use evenkeel_authorization::node;
use serde_json::Value;

use crate::{
    identity::{Attributes, On},
    invalid::quoted,
    kinds::{
        KindRef,
        read::{list, text},
    },
    registry::{Error, NodeWrite, Registry, Result},
};

/// A request for a token of the ServiceAccount at `key`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requested<'a> {
    pub(super) kind: &'a KindRef,
    pub(super) key: &'a str,
    pub(super) request: &'a Value,
}

/// `pod` looks up a Pod of the namespace.
pub(super) fn restrict(
    by: &Registry<'_>,
    requested: Requested<'_>,
    pod: impl FnOnce(&str) -> Option<Value>,
) -> Result<()> {
    if node::identity(by.user).is_none() {
        return Ok(());
    }
    let Requested { kind, key, request } = requested;
    let (verb, subresource) = ("create", "token");
    by.restrict_node(NodeWrite {
        verb,
        kind,
        subresource,
        key,
        before: None,
        after: Some(request),
    })?;
    let refused = |why: String| {
        let name = key.rsplit('/').next().unwrap_or_default().to_owned();
        Error::Forbidden { kind: kind.clone(), name, why }
    };
    let audience = match list(request, &["spec", "audiences"]) {
        [] => "",
        [one] => one.as_str().unwrap_or_default(),
        _ => return Err(refused("node may only request 0 or 1 audiences".to_owned())),
    };
    let pod = pod(text(request, &["spec", "boundObjectRef", "name"])).unwrap_or_default();
    if names_audience(&pod, audience) || is_allowed(by, key, audience) {
        return Ok(());
    }
    let (user, audience) = (&by.user.name, quoted(audience));
    Err(refused(format!("{user} is not authorized to request tokens for audience {audience}")))
}

fn names_audience(pod: &Value, audience: &str) -> bool {
    let sources = list(pod, &["spec", "volumes"])
        .iter()
        .flat_map(|volume| list(volume, &["projected", "sources"]));
    let mut tokens = sources.filter_map(|source| source.get("serviceAccountToken"));
    tokens.any(|token| text(token, &["audience"]) == audience)
}

/// The audience takes the place of a resource.
fn is_allowed(by: &Registry<'_>, key: &str, audience: &str) -> bool {
    let (namespace, name) = key.rsplit_once('/').unwrap_or(("", key));
    let on = On::Resource { group: "", resource: audience, subresource: "", namespace, name };
    let verb = "request-serviceaccounts-token-audience";
    let asked = Attributes { verb, on, field_selector: "" };
    by.api.authorizer.allows(&by.api.storage, by.user, &asked)
}
