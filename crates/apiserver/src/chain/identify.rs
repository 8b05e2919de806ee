//! Whose request it is: authentication, then impersonation.

use std::sync::Arc;

use http::request::Parts;

use crate::{
    api::Api,
    identity::{self, Anonymous, Attributes, Refusal, User},
    logs::RequestSpan,
    registry::details,
    serve::Peer,
    status::{Failure, Result},
};

/// The user on whose behalf the request is made. `attributes` are those of the request.
pub(super) fn user(api: &Api, parts: &Parts, attributes: &Attributes<'_>) -> Result<Arc<User>> {
    let peer = parts.extensions.get::<Peer>();
    let peer = peer.expect("serve gives each request its peer");
    let anonymous = match api.settings.anonymous_health {
        true => Anonymous::Health,
        false => Anonymous::Nothing,
    };
    let user = identity::authenticate(parts, peer, |token| api.user_of_token(token), anonymous)
        .map_err(|_| Failure::unauthorized())?;
    record(parts, peer, &user);
    let may =
        |user: &User, asked: &Attributes<'_>| api.authorizer.decide(&api.storage, user, asked);
    let other = identity::impersonate(&user, &parts.headers, attributes, may).map_err(refused)?;
    Ok(other.map_or(user, Arc::new))
}

/// For the log lines of this request, and for the connection limits.
fn record(parts: &Parts, peer: &Peer, user: &Arc<User>) {
    if let Some(span) = parts.extensions.get::<RequestSpan>() {
        span.user(user);
    }
    if user.name != identity::ANONYMOUS {
        peer.authenticated();
    }
}

fn refused(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::BadRequest(message) => Failure::bad_request(message),
        Refusal::Forbidden { message, group, resource, name } => {
            Failure::forbidden_words(message, details(&group, &resource, &name))
        }
    }
}
