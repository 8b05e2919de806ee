//! The handler chain of every request, in Kubernetes' order.
//!
//! ```text
//! serve ─► identify: authentication, request info, impersonation ─► admit ─► authorize ─► dispatch ─► verb
//!                                                        actor ──────┴───────────┴───────► registry
//! ```
//!
//! A failure at any layer becomes a response in one place, with the same metrics, request log and
//! audit id as an answer. The server's own actors enter behind identification (`actor`). The seat
//! that `admit` gives a request is held until its work ends. Source:
//! `k8s.io/apiserver/pkg/server/config.go`, `DefaultBuildHandlerChain`.

pub(crate) mod actor;
mod admit;
mod authorize;
mod dispatch;
mod documents;
mod identify;

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::{body::Body, response::Response};
use http::{Method, Request, request::Parts};
use tower_service::Service;

use self::admit::Incoming;
use crate::{
    answer::Answer,
    api::Api,
    fairness::HeldSeat,
    logs::RequestSpan,
    negotiate,
    request::{
        self, Query, Target,
        info::{self, RequestInfo},
        timeout,
    },
    status::{Failure, Result},
};

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
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let target = request::target(&api.catalogue.load(), parts.uri.path());
    let held = HeldSeat::default();
    let answer = match answered(&api, &parts, body, &target, started, &held).await {
        Ok(answer) => answer,
        Err(failure) => Answer::failure(&failure, negotiate::failure_format(&parts.headers)),
    };
    let answer = held.finish(answer);
    let requests = api.meters.of(target.as_ref().ok());
    let verb = metric_verb(&parts, target.as_ref().ok());
    let dry_run = parts.uri.query().is_some_and(|query| query.contains("dryRun=All"));
    requests.answered(verb, answer.code.as_u16(), dry_run, started.elapsed());
    answer.into_response()
}

/// Runs the layers, within the time that the request may take.
async fn answered(
    api: &Arc<Api>,
    parts: &Parts,
    body: Body,
    target: &Result<Target>,
    received: Instant,
    held: &HeldSeat,
) -> Result<Answer> {
    let info = RequestInfo::new(&parts.method, &parts.uri);
    let attributes = info.attributes();
    if let Some(span) = parts.extensions.get::<RequestSpan>() {
        span.attributes(&attributes);
    }
    let limit = match info::is_long_running(&attributes) {
        true => None,
        false => Some(timeout::asked(&info.query)?),
    };
    let work = pin!(async {
        let user = identify::user(api, parts, &attributes)?;
        let (attributes, query) = (&attributes, &info.query);
        let incoming = Incoming { parts, query, attributes, received, timeout: limit };
        admit::client(api, &user, incoming, held).await?;
        authorize::check(api, &user, attributes)?;
        dispatch::dispatch(api, parts, body, target, &user, held).await
    });
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

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
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

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
