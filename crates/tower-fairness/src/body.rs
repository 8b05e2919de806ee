//! A response body that holds its request's seats.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::{rejection::set_kubernetes_headers, seat::Seat};

pin_project! {
    /// The body of the inner service, or that of a rejection. The seats of its request are free when it
    /// ends, fails or is dropped.
    #[derive(Debug)]
    pub struct ResponseBody<B> {
        #[pin]
        state: State<B>,
    }
}

pin_project! {
    #[project = StateProjection]
    #[derive(Debug)]
    enum State<B> {
        Inner { #[pin] body: B, seat: Option<Seat> },
        Rejection { text: Bytes },
    }
}

impl<B: Body> ResponseBody<B> {
    pub(crate) fn attach(mut response: Response<B>, seat: Option<Seat>) -> Response<Self> {
        let seat = seat.and_then(|seat| {
            let policy = &seat.shared().policy;
            if let Some(destination) = seat.destination().filter(|_| policy.kubernetes_headers) {
                set_kubernetes_headers(response.headers_mut(), destination);
            }
            if seat.ends_with_head(response.status()) || response.body().is_end_stream() {
                return None;
            }
            seat.respond();
            Some(seat)
        });
        response.map(|body| ResponseBody { state: State::Inner { body, seat } })
    }

    pub(crate) fn rejection(text: Bytes) -> Self {
        ResponseBody { state: State::Rejection { text } }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body,
    B::Data: From<Bytes>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.project().state.project() {
            StateProjection::Inner { mut body, seat } => {
                let frame = ready!(body.as_mut().poll_frame(cx));
                if !matches!(frame, Some(Ok(_))) || body.is_end_stream() {
                    *seat = None;
                }
                Poll::Ready(frame)
            }
            StateProjection::Rejection { text } => {
                let text = std::mem::take(text);
                let frame = (!text.is_empty()).then(|| Ok(Frame::data(text.into())));
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.state {
            State::Inner { body, .. } => body.is_end_stream(),
            State::Rejection { text } => text.is_empty(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.state {
            State::Inner { body, .. } => body.size_hint(),
            State::Rejection { text } => SizeHint::with_exact(text.len() as u64),
        }
    }
}

/// For layers that respond themselves, such as timeouts.
impl<B: Default> Default for ResponseBody<B> {
    fn default() -> Self {
        ResponseBody { state: State::Inner { body: B::default(), seat: None } }
    }
}
