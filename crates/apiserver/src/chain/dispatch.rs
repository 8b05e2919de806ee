//! Hands an authorized request to its verb, review or document.
//!
//! If the client disconnects before the body is read, the request is cancelled; after that a
//! mutating verb runs to completion, with everything the request holds.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use http::{Method, request::Parts};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::Timestamp;

use super::{documents, is_read};
use crate::{
    answer::{Answer, View},
    api::{Api, Call},
    body,
    fairness::HeldSeat,
    identity::User,
    kinds::{CUSTOM_RESOURCE_DEFINITION, Kind},
    metrics::Change,
    negotiate::{self, Media, Offer, ResponseFormat, Shape},
    request::{Query, Resource, Target},
    serve::{DetachFlag, Peer},
    status::{Failure, Result},
    table::IncludeObject,
    verbs::{self, ReviewRequest},
};

/// The media types of custom resources.
const MEDIA: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Timeout for reading a request body.
const BODY_TIME: Duration = Duration::from_secs(60);
/// Timeout for each piece of it: a client that sends nothing must not hold its seat, for which
/// others wait 15 seconds at most.
const BODY_PAUSE: Duration = Duration::from_secs(10);

pub(super) async fn dispatch(
    api: &Arc<Api>,
    parts: &Parts,
    body: Body,
    target: &Result<Target>,
    user: &User,
    seat: &HeldSeat,
) -> Result<Answer> {
    match target {
        Err(failure) => Err(failure.clone()),
        Ok(Target::Resource(resource)) => {
            on_resource(api, parts, body, resource, (user, seat)).await
        }
        Ok(Target::Review { plural, namespace, .. }) => {
            on_review(api, parts, body, plural, namespace.as_deref(), (user, seat)).await
        }
        Ok(document) => documents::answer(api, parts, document),
    }
}

async fn on_resource(
    api: &Arc<Api>,
    parts: &Parts,
    body: Body,
    resource: &Resource,
    (user, seat): (&User, &HeldSeat),
) -> Result<Answer> {
    if is_undefined(api, &resource.kind) {
        return Err(Failure::unknown_path());
    }
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let tables = matches!(resource.subresource.as_str(), "" | "status" | "scale");
    let offer = Offer { lists: resource.name.is_empty(), tables, media: negotiate::ANY };
    let view = match resource.kind.custom.is_some() {
        true => custom_view(api, parts, &query, offer)?,
        false => view(api, parts, &query, offer)?,
    };
    let failing = negotiate::failure_format(&parts.headers);
    let failing = ResponseFormat { pretty: view.format.pretty, ..failing };
    let change = if is_read(&parts.method) { Change::ReadOnly } else { Change::Mutating };
    let _in_flight = api.metrics.in_flight(change);
    let body = if is_read(&parts.method) { Bytes::new() } else { whole(body).await? };
    if change == Change::Mutating
        && let Some(detach) = parts.extensions.get::<DetachFlag>()
    {
        // A client that disconnects from now on must not leave the change half done.
        detach.set();
    }
    let peer = parts.extensions.get::<Peer>();
    let peer = peer.expect("serve gives each request its peer");
    let call = Call {
        method: &parts.method,
        resource,
        query: &query,
        headers: &parts.headers,
        body,
        view,
        kill: &peer.kill,
        user,
        seat,
    };
    let answered = verbs::carry_out(api, &call).await;
    let mut answer = answered.unwrap_or_else(|failure| Answer::failure(&failure, failing));
    if let Some(warning) = resource.kind.custom.as_ref().and_then(|custom| custom.warning.as_ref())
    {
        answer.warnings.insert(0, warning.to_string());
    }
    Ok(answer)
}

/// A custom resource whose definition is gone, which the catalogue learns a moment later.
fn is_undefined(api: &Api, kind: &Kind) -> bool {
    kind.custom.is_some()
        && api.storage.object(&CUSTOM_RESOURCE_DEFINITION, &kind.resource()).is_none()
}

async fn on_review(
    api: &Arc<Api>,
    parts: &Parts,
    body: Body,
    plural: &'static str,
    namespace: Option<&str>,
    (user, seat): (&User, &HeldSeat),
) -> Result<Answer> {
    if parts.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    if plural == "bindings" {
        let kind = crate::kinds::POD.clone();
        // The body names the Pod.
        let bytes = whole(body).await?;
        let name = verbs::bound_name(&bytes, content_type(parts))?;
        let namespace = namespace.map(str::to_owned);
        let resource = Resource {
            kind: kind.clone(),
            namespace,
            name,
            subresource: "binding".into(),
            watch: false,
        };
        return on_resource(api, parts, Body::from(bytes), &resource, (user, seat)).await;
    }
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let view =
        view(api, parts, &query, Offer { lists: false, tables: false, media: negotiate::ANY })?;
    let bytes = whole(body).await?;
    let body = body::Body { content_type: content_type(parts), bytes: &bytes };
    verbs::review(api, ReviewRequest { plural, namespace, user, view, body }).await
}

fn view(api: &Api, parts: &Parts, query: &Query<'_>, offer: Offer) -> Result<View> {
    let pretty = query.has("pretty").then(|| query.text("pretty"));
    let format = negotiate::response_format(&parts.headers, offer, pretty)?;
    let include = match format.shape {
        Shape::Table(_) => {
            IncludeObject::parse(query.text("includeObject")).map_err(Failure::bad_request)?
        }
        Shape::Object | Shape::Partial(_) | Shape::PartialList(_) => IncludeObject::Metadata,
    };
    let features = api.settings.features;
    Ok(View { format, include, now: Timestamp::now(), features })
}

/// Custom resources have no protobuf, only their metadata has: a client that also accepts something
/// else gets that. Here the encoder answers, not the router.
fn custom_view(api: &Api, parts: &Parts, query: &Query<'_>, offer: Offer) -> Result<View> {
    let found = view(api, parts, query, offer).map_err(|failure| match failure.code {
        406 => Failure::cannot_encode(MEDIA),
        _ => failure,
    })?;
    if found.format.media == Media::Protobuf && found.format.shape == Shape::Object {
        let texts = Offer { media: &[Media::Json, Media::Yaml], ..offer };
        return Ok(view(api, parts, query, texts).unwrap_or(found));
    }
    Ok(found)
}

/// The body, if it is within the size limit and arrives in time.
async fn whole(body: Body) -> Result<Bytes> {
    let read = pieces(Limited::new(body, body::LIMIT));
    let read = tokio::time::timeout(BODY_TIME, read).await;
    let mut pieces = read.unwrap_or_else(|_| Err(timed_out()))?;
    match pieces.len() {
        0 | 1 => Ok(pieces.pop().unwrap_or_default()),
        _ => Ok(pieces.concat().into()),
    }
}

async fn pieces(mut body: Limited<Body>) -> Result<Vec<Bytes>> {
    let mut pieces = Vec::new();
    loop {
        match tokio::time::timeout(BODY_PAUSE, body.frame()).await {
            Ok(Some(Ok(frame))) => pieces.extend(frame.into_data()),
            Ok(None) => return Ok(pieces),
            Ok(Some(Err(problem))) if problem.is::<LengthLimitError>() => {
                return Err(Failure::too_large(body::LIMIT));
            }
            Ok(Some(Err(problem))) => {
                return Err(Failure::bad_request(format!("request body ended early: {problem}")));
            }
            Err(_) => return Err(timed_out()),
        }
    }
}

fn timed_out() -> Failure {
    Failure::bad_request("timed out reading the request body")
}

fn content_type(parts: &Parts) -> &str {
    let found = parts.headers.get(http::header::CONTENT_TYPE);
    found.and_then(|value| value.to_str().ok()).unwrap_or_default()
}
