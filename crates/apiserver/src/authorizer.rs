//! Authorization: the Node authorizer and RBAC over the stored objects.
//!
//! The rules are in the crate `authorization`; this keeps its index current. Nothing follows the
//! store in the background: a decision first takes in the changes of roles and bindings since the
//! last one, so a changed binding is in force when its write is answered. Without a change that is
//! a comparison of two numbers.

mod followed;
mod nodes;

use evenkeel_authorization::{Attributes, User, forbidden, node, rbac::Policy, reasons};

use serde_json::{Value, json};

use self::{followed::Followed, nodes::Nodes};
use crate::{identity::MASTERS, settings::Authorization, storage::Storage};

#[derive(Debug, Default)]
pub(crate) struct Authorizer {
    mode: Authorization,
    policy: Followed<Policy>,
    nodes: Nodes,
}

/// What the authorizers say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    /// As in a SubjectAccessReview; often empty.
    pub(crate) reason: String,
}

impl Authorizer {
    pub(crate) fn new(mode: Authorization) -> Authorizer {
        Authorizer { mode, ..Authorizer::default() }
    }

    pub(crate) fn allows(&self, storage: &Storage, user: &User, asked: &Attributes<'_>) -> bool {
        self.is_unrestricted(user)
            || self.node(storage, user, asked) == Some(Ok(()))
            || self.policy.read(storage).allows(user, asked)
    }

    /// Allows, or returns the message of the 403.
    pub(crate) fn check(
        &self,
        storage: &Storage,
        user: &User,
        asked: &Attributes<'_>,
    ) -> Result<(), String> {
        match self.allows(storage, user, asked) {
            true => Ok(()),
            false => Err(forbidden(user, asked, &self.refusal(storage, user, asked))),
        }
    }

    pub(crate) fn decide(
        &self,
        storage: &Storage,
        user: &User,
        asked: &Attributes<'_>,
    ) -> Decision {
        if self.is_unrestricted(user) || self.node(storage, user, asked) == Some(Ok(())) {
            return Decision { allowed: true, reason: String::new() };
        }
        let reason = self.policy.read(storage).authorize(user, asked).map(|why| why.to_string());
        match reason {
            Some(reason) => Decision { allowed: true, reason },
            None => Decision { allowed: false, reason: self.refusal(storage, user, asked) },
        }
    }

    /// Whether a user may do everything, whatever the roles say.
    pub(crate) fn is_unrestricted(&self, user: &User) -> bool {
        self.mode == Authorization::AlwaysAllow || user.is_in(MASTERS)
    }

    /// Looks up the index of roles and bindings.
    pub(crate) fn with_policy<T>(&self, storage: &Storage, look: impl FnOnce(&Policy) -> T) -> T {
        look(&self.policy.read(storage))
    }

    /// Everything that a user may do in a namespace: the status of a SelfSubjectRulesReview.
    pub(crate) fn rules(&self, storage: &Storage, user: &User, namespace: &str) -> Value {
        if self.mode == Authorization::AlwaysAllow {
            return json!({
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": false,
            });
        }
        let others: &[&str] = if node::identity(user).is_some() { &[node::NO_RULES] } else { &[] };
        self.with_policy(storage, |policy| policy.rules(user, namespace).status(others))
    }

    /// Why a write of a Node is refused although it is authorized.
    pub(crate) fn node_restriction(
        &self,
        storage: &Storage,
        node: &str,
        asked: &Attributes<'_>,
        change: node::Change<'_>,
    ) -> Option<String> {
        match self.mode {
            Authorization::AlwaysAllow => None,
            Authorization::Rbac => self.nodes.restriction(storage, node, asked, change),
        }
    }

    /// Why the authorizers do not allow it.
    fn refusal(&self, storage: &Storage, user: &User, asked: &Attributes<'_>) -> String {
        let node = match self.node(storage, user, asked) {
            Some(Err(why)) => why,
            _ => String::new(),
        };
        let rbac = self.policy.read(storage).refusal(user, asked.namespace()).unwrap_or_default();
        reasons(&[("node", &node), ("rbac", &rbac)])
    }

    /// `None`: not a Node.
    fn node(
        &self,
        storage: &Storage,
        user: &User,
        asked: &Attributes<'_>,
    ) -> Option<Result<(), String>> {
        node::identity(user).map(|_| self.nodes.authorize(storage, user, asked))
    }
}
