//! What the kubelets of Nodes may do: the Node authorizer over the stored Pods.

use evenkeel_authorization::{Attributes, User};

use crate::storage::Storage;

#[derive(Debug, Default)]
pub(crate) struct Nodes {}

impl Nodes {
    pub(crate) fn authorize(
        &self,
        _storage: &Storage,
        _name: &str,
        _user: &User,
        _asked: &Attributes<'_>,
    ) -> Result<(), String> {
        Err(String::new())
    }
}
