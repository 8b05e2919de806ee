//! Whether a user may do what is requested: the layer between identification and the work, for
//! clients and for the server's own actors.

use serde_json::{Value, json};

use crate::{
    api::Api,
    identity::{Attributes, On, User},
    registry::{Error, Result},
};

pub(super) fn check(api: &Api, user: &User, attributes: &Attributes<'_>) -> Result<()> {
    api.authorize(user, attributes).map_err(|message| {
        let details = match attributes.on {
            On::Path(_) => json!({}),
            On::Resource { group, resource, name, .. } => details(group, resource, name),
        };
        Error::Denied { message, details }
    })
}

/// The details of a refusal: what it is about, without empty fields.
pub(super) fn details(group: &str, kind: &str, name: &str) -> Value {
    let pairs = [("name", name), ("group", group), ("kind", kind)];
    pairs
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect()
}
