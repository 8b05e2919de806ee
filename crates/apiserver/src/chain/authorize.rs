//! Whether a user may do what is requested: the layer between identification and the work, for
//! clients and for the server's own actors.

use crate::{
    api::Api,
    identity::{Attributes, User},
    registry::{Error, Result},
};

pub(super) fn check(api: &Api, user: &User, attributes: &Attributes<'_>) -> Result<()> {
    api.authorize(user, attributes).map_err(|message| Error::denied(message, attributes))
}
