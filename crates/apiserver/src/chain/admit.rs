//! Priority and fairness: the layer between identification and authorization, for clients and for
//! the server's own actors.
//!
//! Requests that stream without an end of their own, except watches, pass without a seat, as in
//! Kubernetes. Source: `k8s.io/apiserver/pkg/server/filters/priority-and-fairness.go`.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::request::Parts;

use crate::{
    api::Api,
    fairness::{Asked, HeldSeat, Http, SeatGuard},
    identity::{Attributes, User},
    logs::RequestSpan,
    registry,
    request::{Query, info::is_long_running},
    status::{Failure, Result},
};

/// How often an actor asks for a seat before its operation fails, as often as client-go.
const TRIES: usize = 10;

/// A client's request on its way through the chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a> {
    pub(super) parts: &'a Parts,
    pub(super) query: &'a Query<'a>,
    pub(super) attributes: &'a Attributes<'a>,
    pub(super) received: Instant,
    /// How long it may take; `None`: it has no timeout.
    pub(super) timeout: Option<Duration>,
}

/// Waits for the seat of a client's request, which `held` has from then on.
pub(super) async fn client(
    api: &Api,
    user: &Arc<User>,
    incoming: Incoming<'_>,
    held: &HeldSeat,
) -> Result<()> {
    let Incoming { parts, query, attributes, received, timeout } = incoming;
    if is_long_running(attributes) && attributes.verb != "watch" {
        return Ok(());
    }
    let (method, uri, headers) = (&parts.method, &parts.uri, &parts.headers);
    let http = Some(Http { method, uri, headers, query, received, timeout });
    match api.fairness.admit(api, Asked { user, attributes, http }).await {
        Ok(seat) => held.set(seat),
        Err(rejected) => {
            rejected.log();
            held.rejected(&rejected);
            return Err(Failure::too_many_requests(rejected.retry_after));
        }
    }
    if let Some((span, to)) = parts.extensions.get::<RequestSpan>().zip(held.destination().as_ref())
    {
        span.destination(&to.schema, &to.level.name);
    }
    Ok(())
}

/// Waits for the seat of an operation of an actor. Like a client, it retries when it is told to.
pub(super) async fn actor(
    api: &Api,
    user: &Arc<User>,
    attributes: &Attributes<'_>,
) -> registry::Result<SeatGuard> {
    let asked = Asked { user, attributes, http: None };
    let mut retry_after = 0;
    for _ in 0..TRIES {
        match api.fairness.admit(api, asked).await {
            Ok(seat) => return Ok(seat),
            Err(rejected) => {
                rejected.log();
                retry_after = rejected.retry_after;
            }
        }
        tokio::time::sleep(Duration::from_secs(retry_after.into())).await;
    }
    Err(registry::Error::TooManyRequests { retry_after })
}
