//! Writes of kubelets that concern other Nodes: the admission plugin NodeRestriction.

use evenkeel_authorization::{Attributes, On, node};
use serde_json::Value;

use super::{Error, Registry, Result};
use crate::{api::name_of, kinds::KindRef};

/// A write, as far as the restriction looks at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeWrite<'a> {
    pub(crate) verb: &'a str,
    pub(crate) kind: &'a KindRef,
    pub(crate) subresource: &'a str,
    /// `namespace/name`, or the name; of a create the part before the name.
    pub(crate) key: &'a str,
    pub(crate) before: Option<&'a Value>,
    pub(crate) after: Option<&'a Value>,
}

impl Registry<'_> {
    /// Refuses a write of a kubelet that is not about its own Node. Others are not restricted.
    pub(crate) fn restrict_node(&self, write: NodeWrite<'_>) -> Result<()> {
        let Some(node) = node::identity(self.user) else { return Ok(()) };
        let NodeWrite { verb, kind, subresource, key, before, after } = write;
        let (namespace, name) = key.rsplit_once('/').unwrap_or(("", key));
        let (group, resource) = (&*kind.group, &*kind.plural);
        let on = On::Resource { group, resource, subresource, namespace, name };
        let asked = Attributes { verb, on, field_selector: "" };
        let change = node::Change { before, after };
        match self.api.authorizer.node_restriction(&self.api.storage, node, &asked, change) {
            None => Ok(()),
            Some(why) => {
                let name = if name.is_empty() { after.map_or("", name_of) } else { name };
                Err(Error::Forbidden { kind: kind.clone(), name: name.to_owned(), why })
            }
        }
    }
}
