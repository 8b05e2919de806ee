//! The middleware itself.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use crate::{
    body::ResponseBody, future::ResponseFuture, head::Head, shared::Entry, striped::Striped,
};

/// Calls the inner service when a request is dispatched; created by
/// [`FairnessLayer`](crate::FairnessLayer).
///
/// Requests are admitted in the order of calls. One that need not wait is passed to the inner
/// service at once and costs no allocation. One that waits takes the inner service that was ready
/// with it and leaves a clone in its place, which must become ready again: a service that hands
/// out permits in `poll_ready` counts requests that wait here among those it has admitted.
#[derive(Clone, Debug)]
pub struct Fairness<S> {
    inner: S,
    shared: Striped,
}

impl<S> Fairness<S> {
    pub(crate) fn new(inner: S, shared: Striped) -> Self {
        Fairness { inner, shared }
    }
}

impl<S, B, R> Service<Request<B>> for Fairness<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: http_body::Body,
    R::Data: From<Bytes>,
{
    type Response = Response<ResponseBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match self.shared.enter(Head::of(&request)) {
            Entry::Bypass => ResponseFuture::running(self.inner.call(request), None),
            Entry::Seated(seat) => ResponseFuture::running(self.inner.call(request), Some(seat)),
            Entry::Waiting(seat, flow) => {
                let clone = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, clone);
                ResponseFuture::waiting(ready, request, seat, flow)
            }
            Entry::Rejected(response) => ResponseFuture::rejected(response),
        }
    }
}
