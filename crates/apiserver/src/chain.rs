//! The handler chain of every request: authenticate, resolve, authorize, execute, record.
//!
//! ```text
//! serve ─► authenticate ─► target ─► impersonate ─► authorize ─► read the body ─► verb ─► answer
//! ```
//!
//! A failure at any step becomes a response in one place. If the client disconnects before the body
//! is read, the request is cancelled; after that a mutating verb runs to completion, with
//! everything the request holds.

mod documents;

use std::{
    borrow::Cow,
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{Method, Request, request::Parts};
use http_body_util::{BodyExt as _, Limited};
use jiff::Timestamp;
use serde_json::json;
use tower_service::Service;

use crate::{
    answer::{Answer, View},
    api::{Api, Call},
    body,
    identity::{self, Anonymous, Attributes, Decision, On, Refusal, User},
    logs::RequestSpan,
    metrics::Change,
    negotiate::{self, Media, Offer, ResponseFormat, Shape},
    request::{self, Query, Resource, Target, info, timeout},
    serve::{DetachFlag, Peer},
    status::{Failure, Result},
    table::IncludeObject,
    verbs::{self, ReviewRequest},
};

/// Timeout for reading a request body.
const BODY_TIME: Duration = Duration::from_secs(60);

const PLAIN: ResponseFormat =
    ResponseFormat { media: Media::Json, shape: Shape::Object, pretty: false };

/// The chain as the service of each connection.
#[derive(Clone, Debug)]
pub(crate) struct Chain(Arc<Api>);

impl Chain {
    pub(crate) fn new(api: &Arc<Api>) -> Chain {
        Chain(api.clone())
    }
}

impl Service<Request<Body>> for Chain {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = std::result::Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let handled = handle(self.0.clone(), request);
        Box::pin(async move { Ok(handled.await) })
    }
}

async fn handle(api: Arc<Api>, request: Request<Body>) -> Response {
    let started = std::time::Instant::now();
    let (parts, body) = request.into_parts();
    let target = request::target(parts.uri.path());
    let answer = match answered(&api, &parts, body, &target).await {
        Ok(answer) => answer,
        Err(failure) => Answer::failure(&failure, PLAIN),
    };
    let requests = api.meters.of(target.as_ref().ok());
    let verb = metric_verb(&parts, target.as_ref().ok());
    let dry_run = parts.uri.query().is_some_and(|query| query.contains("dryRun=All"));
    requests.answered(verb, answer.code.as_u16(), dry_run, started.elapsed());
    answer.into_response()
}

async fn answered(
    api: &Arc<Api>,
    parts: &Parts,
    body: Body,
    target: &Result<Target>,
) -> Result<Answer> {
    let method = lowercase(&parts.method);
    let path = info::decoded(parts.uri.path());
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let attributes = info::attributes(&parts.method, &method, &path, &query);
    if let Some(span) = parts.extensions.get::<RequestSpan>() {
        span.attributes(&attributes);
    }
    let limit = match info::is_long_running(&attributes) {
        true => None,
        false => Some(timeout::asked(&query)?),
    };
    let work = pin!(allowed(api, parts, body, target, &attributes));
    match limit.filter(|_| is_read(&parts.method)) {
        Some(limit) => within(limit, work).await.unwrap_or_else(|| Err(Failure::timed_out())),
        // A write in progress is completed.
        None => work.await,
    }
}

/// `None` on timeout. Work that completes immediately, such as most reads, needs no timer.
async fn within<T>(limit: Duration, mut work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let at_once = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    match at_once {
        Poll::Ready(done) => Some(done),
        Poll::Pending => tokio::time::timeout(limit, work).await.ok(),
    }
}

async fn allowed(
    api: &Arc<Api>,
    parts: &Parts,
    body: Body,
    target: &Result<Target>,
    attributes: &Attributes<'_>,
) -> Result<Answer> {
    let peer = parts.extensions.get::<Peer>();
    let peer = peer.expect("serve gives each request its peer");
    let anonymous = match api.settings.anonymous_health {
        true => Anonymous::Health,
        false => Anonymous::Nothing,
    };
    let user = identity::authenticate(parts, peer, |token| api.user_of_token(token), anonymous)
        .map_err(|_| Failure::unauthorized())?;
    record_user(parts, peer, &user);
    let may = |user: &User, attributes: &Attributes<'_>| Decision {
        allowed: api.authorize(user, attributes).is_ok(),
        ..Decision::default()
    };
    let other = identity::impersonate(&user, &parts.headers, attributes, may).map_err(refused)?;
    let user: &User = other.as_ref().unwrap_or(&user);
    api.authorize(user, attributes).map_err(|message| denied(message, attributes))?;
    match target {
        Err(failure) => Err(failure.clone()),
        Ok(Target::Resource(resource)) => on_resource(api, parts, body, resource, peer).await,
        Ok(Target::Review { plural, namespace, .. }) => {
            on_review(api, parts, body, plural, namespace.as_deref(), user, peer).await
        }
        Ok(document) => documents::answer(api, parts, document),
    }
}

async fn on_resource(
    api: &Arc<Api>,
    parts: &Parts,
    body: Body,
    resource: &Resource,
    peer: &Peer,
) -> Result<Answer> {
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let tables = matches!(resource.subresource.as_str(), "" | "status" | "scale");
    let view = view(api, parts, &query, Offer { lists: resource.name.is_empty(), tables })?;
    let failing = ResponseFormat { shape: Shape::Object, ..view.format };
    let change = if is_read(&parts.method) { Change::ReadOnly } else { Change::Mutating };
    let _in_flight = api.metrics.in_flight(change);
    let body = if is_read(&parts.method) { Bytes::new() } else { whole(body).await? };
    if change == Change::Mutating
        && let Some(detach) = parts.extensions.get::<DetachFlag>()
    {
        // A client that disconnects from now on must not leave the change half done.
        detach.set();
    }
    let call = Call {
        method: &parts.method,
        resource,
        query: &query,
        headers: &parts.headers,
        body,
        view,
        kill: &peer.kill,
    };
    match verbs::carry_out(api, &call).await {
        Ok(answer) => Ok(answer),
        Err(failure) => Ok(Answer::failure(&failure, failing)),
    }
}

async fn on_review(
    api: &Arc<Api>,
    parts: &Parts,
    body: Body,
    plural: &'static str,
    namespace: Option<&str>,
    user: &User,
    peer: &Peer,
) -> Result<Answer> {
    if parts.method != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    if plural == "bindings" {
        let kind = &crate::kinds::POD;
        // The body names the Pod.
        let bytes = whole(body).await?;
        let name = verbs::bound_name(&bytes, content_type(parts))?;
        let namespace = namespace.map(str::to_owned);
        let resource =
            Resource { kind, namespace, name, subresource: "binding".into(), watch: false };
        return on_resource(api, parts, Body::from(bytes), &resource, peer).await;
    }
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let view = view(api, parts, &query, Offer { lists: false, tables: false })?;
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

/// The body, if it is within the size limit and arrives in time.
async fn whole(body: Body) -> Result<Bytes> {
    let read = Limited::new(body, body::LIMIT).collect();
    match tokio::time::timeout(BODY_TIME, read).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(problem)) if problem.is::<http_body_util::LengthLimitError>() => {
            Err(Failure::too_large(body::LIMIT))
        }
        Ok(Err(problem)) => {
            Err(Failure::bad_request(format!("request body ended early: {problem}")))
        }
        Err(_) => Err(Failure::bad_request("timed out reading the request body")),
    }
}

fn content_type(parts: &Parts) -> &str {
    let found = parts.headers.get(http::header::CONTENT_TYPE);
    found.and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

// === Authorization ===

/// Records the user: for the log lines of this request, and for the connection limits.
fn record_user(parts: &Parts, peer: &Peer, user: &Arc<User>) {
    if let Some(span) = parts.extensions.get::<RequestSpan>() {
        span.user(user);
    }
    if user.name != identity::ANONYMOUS {
        peer.authenticated();
    }
}

/// The verb on a path.
fn lowercase(method: &Method) -> Cow<'static, str> {
    Cow::Borrowed(match *method {
        Method::GET => "get",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => return Cow::Owned(method.as_str().to_ascii_lowercase()),
    })
}

fn refused(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::BadRequest(message) => Failure::bad_request(message),
        Refusal::Forbidden { message, group, resource, name } => {
            Failure::forbidden_words(message, details(&group, &resource, &name))
        }
    }
}

fn denied(message: String, attributes: &Attributes<'_>) -> Failure {
    let details = match attributes.on {
        On::Path(_) => json!({}),
        On::Resource { group, resource, name, .. } => details(group, resource, name),
    };
    Failure::forbidden_words(message, details)
}

fn details(group: &str, kind: &str, name: &str) -> serde_json::Value {
    let pairs = [("name", name), ("group", group), ("kind", kind)];
    pairs
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(k, v)| (k.to_owned(), json!(v)))
        .collect()
}

/// The verb as in Kubernetes' metrics.
fn metric_verb(parts: &Parts, target: Option<&Target>) -> &'static str {
    let resource = match target {
        Some(Target::Resource(resource)) => Some(resource),
        _ => None,
    };
    let collection = resource.is_some_and(|resource| resource.name.is_empty());
    let watch = resource.is_some_and(|resource| resource.watch)
        || (collection && parts.uri.query().is_some_and(|query| Query::parse(query).flag("watch")));
    match parts.method {
        Method::GET if watch => "WATCH",
        Method::GET if collection => "LIST",
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE if collection => "DELETECOLLECTION",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
