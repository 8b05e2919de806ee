//! The user of a request, and the names that Kubernetes reserves.

use std::collections::BTreeMap;

/// The group that may do everything.
pub const MASTERS: &str = "system:masters";
/// The group of every user with valid credentials.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of requests without credentials.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user of requests without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of nodes.
pub const NODES: &str = "system:nodes";
/// The group of all service accounts.
pub const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// How the user name of a service account begins: `NAMESPACE:NAME` follows.
pub const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A user, in Kubernetes' terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

// === impl User ===

impl User {
    /// The user of a request without credentials.
    pub fn anonymous() -> User {
        User {
            name: ANONYMOUS.to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..User::default()
        }
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Adds the group of all authenticated users.
    #[must_use]
    pub fn authenticated(mut self) -> User {
        if !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) && self.name != ANONYMOUS {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_with_credentials_are_in_their_group_once() {
        let bob = User { name: "bob".to_owned(), ..User::default() };
        let once = bob.authenticated();
        assert_eq!(once.groups, [AUTHENTICATED]);
        assert_eq!(once.clone().authenticated(), once);
        assert_eq!(User::anonymous().authenticated(), User::anonymous());
        let named = User { name: ANONYMOUS.to_owned(), ..User::default() };
        assert!(!named.authenticated().is_in(AUTHENTICATED));
    }
}
