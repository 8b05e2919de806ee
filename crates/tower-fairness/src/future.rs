//! The future of a request: it waits, then runs.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use evenkeel_fairness::queues::{Verdict, stats::RejectReason};
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{body::ResponseBody, driver, head::Head, seat::Seat};

pin_project! {
    /// The future of a [`Fairness`](crate::Fairness) service. Dropping it leaves the queue or frees the
    /// seats at once.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<S, B, F> {
        #[pin]
        state: State<S, B, F>,
    }
}

pin_project! {
    #[project = StateProjection]
    #[derive(Debug)]
    enum State<S, B, F> {
        // Fields are dropped in this order: what runs ends before its seat is free.
        Running { #[pin] future: F, seat: Option<Seat> },
        Waiting { waiting: Option<Box<Waiting<S, B>>> },
        Rejected { response: Option<Response<Bytes>> },
    }
}

/// Boxed, so that it does not enlarge the futures of requests that don't wait.
#[derive(Debug)]
struct Waiting<S, B> {
    /// It was ready when the request arrived, and nothing else can call it.
    service: S,
    request: Request<B>,
    seat: Seat,
    flow: Box<str>,
}

/// How far a request that waited has come.
enum Progress<S, B> {
    Waiting(Box<Waiting<S, B>>),
    Running(Box<Waiting<S, B>>),
    Rejected(Response<Bytes>),
}

impl<S, B, F> ResponseFuture<S, B, F> {
    pub(crate) fn running(future: F, seat: Option<Seat>) -> Self {
        ResponseFuture { state: State::Running { future, seat } }
    }

    pub(crate) fn waiting(service: S, request: Request<B>, seat: Seat, flow: Box<str>) -> Self {
        let waiting = Some(Box::new(Waiting { service, request, seat, flow }));
        ResponseFuture { state: State::Waiting { waiting } }
    }

    pub(crate) fn rejected(response: Response<Bytes>) -> Self {
        ResponseFuture { state: State::Rejected { response: Some(response) } }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B, S::Future>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: http_body::Body,
    R::Data: From<Bytes>,
{
    type Output = Result<Response<ResponseBody<R>>, S::Error>;

    /// # Panics
    /// If it is polled again after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProjection::Running { future, seat } => {
                    let result = ready!(future.poll(cx));
                    let seat = seat.take();
                    return Poll::Ready(
                        result.map(|response| ResponseBody::attach(response, seat)),
                    );
                }
                StateProjection::Rejected { response } => {
                    let response = response.take().expect("polled after it was ready");
                    return Poll::Ready(Ok(response.map(ResponseBody::rejection)));
                }
                StateProjection::Waiting { waiting } => {
                    let taken = waiting.take().expect("polled after it was ready");
                    let next = match taken.poll_progress(cx) {
                        Progress::Waiting(still) => {
                            *waiting = Some(still);
                            return Poll::Pending;
                        }
                        Progress::Running(dispatched) => {
                            let Waiting { mut service, request, seat, .. } = *dispatched;
                            let future = service.call(request);
                            State::Running { future, seat: Some(seat) }
                        }
                        Progress::Rejected(response) => {
                            State::Rejected { response: Some(response) }
                        }
                    };
                    state.set(next);
                }
            }
        }
    }
}

impl<S, B> Waiting<S, B> {
    fn poll_progress(mut self: Box<Self>, cx: &Context<'_>) -> Progress<S, B> {
        driver::ensure_here(self.seat.shared());
        let (verdict, retry_after) = self.seat.verdict(cx.waker());
        match verdict {
            Verdict::Waiting => Progress::Waiting(self),
            Verdict::Dispatched => Progress::Running(self),
            Verdict::Rejected(reason) => Progress::Rejected(self.reject(reason, retry_after)),
        }
    }

    fn reject(&self, reason: RejectReason, retry_after: u32) -> Response<Bytes> {
        let destination =
            self.seat.destination().expect("a seat that was not left has a destination");
        let head = Head::of(&self.request);
        self.seat.shared().reject(head, destination, &self.flow, reason, retry_after)
    }
}
