//! Clients over real connections, each with one request at a time.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use axum::http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::{body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::JoinSet};

/// Who asks for what.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    method: String,
    path: String,
    headers: Vec<(&'static str, String)>,
}

/// So many connections that send one request after another.
pub(crate) struct Load {
    callers: Vec<Caller>,
}

/// What became of the requests of one load, or of one caller.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    took: Duration,
    ended: Instant,
    status: StatusCode,
}

pub(crate) struct Outcome {
    pub(crate) loads: Vec<Tally>,
    pub(crate) innocent: Vec<Tally>,
}

// === impl Caller ===

impl Caller {
    pub(crate) fn new(user: &str, groups: &[&str]) -> Self {
        let headers = vec![("x-user", user.to_owned()), ("x-groups", groups.join(","))];
        Caller { method: "GET".to_owned(), path: "/".to_owned(), headers }
    }

    pub(crate) fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn request(&self) -> Request<Empty<Bytes>> {
        let mut request = Request::builder().method(&*self.method).uri(&self.path);
        request = request.header("host", "scenario");
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.body(Empty::new()).expect("a valid request")
    }
}

// === impl Load ===

impl Load {
    pub(crate) fn of(caller: Caller, connections: usize) -> Self {
        Load { callers: vec![caller; connections] }
    }

    pub(crate) fn among(callers: Vec<Caller>) -> Self {
        Load { callers }
    }
}

// === impl Tally ===

impl Tally {
    pub(crate) fn served(&self) -> usize {
        self.calls.iter().filter(|call| call.is_served()).count()
    }

    pub(crate) fn served_by(&self, time: Instant) -> usize {
        self.calls.iter().filter(|call| call.is_served() && call.ended <= time).count()
    }

    pub(crate) fn failed(&self) -> usize {
        self.calls.len() - self.served()
    }

    /// Of those that were served.
    pub(crate) fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// Of those that were served.
    pub(crate) fn quantile(&self, part: f64) -> Duration {
        let served = self.calls.iter().filter(|call| call.is_served());
        let mut times: Vec<Duration> = served.map(|call| call.took).collect();
        times.sort();
        times.get((times.len() as f64 * part) as usize).copied().unwrap_or_default()
    }
}

// === impl Call ===

impl Call {
    fn ended(start: Instant, status: StatusCode) -> Self {
        let ended = Instant::now();
        Call { took: ended - start, ended, status }
    }

    fn is_served(&self) -> bool {
        self.status == StatusCode::OK
    }
}

// === impl Outcome ===

impl Outcome {
    pub(crate) fn guilty(&self) -> &Tally {
        &self.loads[0]
    }

    pub(crate) fn innocent_are_served(&self) {
        for tally in &self.innocent {
            assert_eq!(tally.failed(), 0, "{tally:?}");
            assert!(tally.served() > 5, "{tally:?}");
        }
    }

    pub(crate) fn innocent_wait_less(&self, times: u32) {
        let guilty = self.guilty().median();
        for innocent in self.innocent.iter().map(Tally::median) {
            assert!(innocent * times < guilty, "guilty {guilty:?}, innocent {innocent:?}");
        }
    }
}

pub(crate) async fn run(
    address: SocketAddr,
    loads: Vec<Load>,
    innocent: Vec<Caller>,
    time: Duration,
) -> Outcome {
    let end = Instant::now() + time;
    let loads: Vec<_> = loads.into_iter().map(|load| spawn(address, load.callers, end)).collect();
    let innocent: Vec<_> =
        innocent.into_iter().map(|caller| spawn(address, vec![caller], end)).collect();
    let mut outcome = Outcome { loads: Vec::new(), innocent: Vec::new() };
    for load in loads {
        outcome.loads.push(tally(load).await);
    }
    for caller in innocent {
        outcome.innocent.push(tally(caller).await);
    }
    outcome
}

/// One request on a connection of its own.
pub(crate) async fn call(address: SocketAddr, caller: &Caller) -> StatusCode {
    send(&mut connect(address).await, caller).await
}

/// Each of the callers sends so many requests at once, every `period` until `end`, whatever became
/// of the last: on connections of their own, as many as it takes. Their first ones are spread over
/// a period.
pub(crate) async fn steadily(
    address: SocketAddr,
    callers: Vec<Caller>,
    at_once: usize,
    period: Duration,
    end: Instant,
) -> Tally {
    let n = callers.len() as u32;
    let calls = callers.into_iter().zip(0..).map(|(caller, i)| async move {
        tokio::time::sleep(period * i / n).await;
        one_caller_steadily(address, caller, at_once, period, end).await
    });
    tally(calls.collect()).await
}

async fn one_caller_steadily(
    address: SocketAddr,
    caller: Caller,
    at_once: usize,
    period: Duration,
    end: Instant,
) -> Vec<Call> {
    let mut calls = JoinSet::new();
    let mut ticks = tokio::time::interval(period);
    while Instant::now() < end {
        ticks.tick().await;
        for caller in vec![caller.clone(); at_once] {
            calls.spawn(async move {
                let start = Instant::now();
                let status = call(address, &caller).await;
                Call::ended(start, status)
            });
        }
    }
    calls.join_all().await
}

type Calls = JoinSet<Vec<Call>>;

fn spawn(address: SocketAddr, callers: Vec<Caller>, end: Instant) -> Calls {
    callers.into_iter().map(|caller| one_after_another(address, caller, end)).collect()
}

async fn tally(calls: Calls) -> Tally {
    Tally { calls: calls.join_all().await.into_iter().flatten().collect() }
}

async fn one_after_another(address: SocketAddr, caller: Caller, end: Instant) -> Vec<Call> {
    let mut connection = connect(address).await;
    let mut calls = Vec::new();
    while Instant::now() < end {
        let start = Instant::now();
        let status = send(&mut connection, &caller).await;
        calls.push(Call::ended(start, status));
        if status != StatusCode::OK {
            // Even one who runs amuck does not get more rejections than a socket can carry.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    calls
}

async fn connect(address: SocketAddr) -> http1::SendRequest<Empty<Bytes>> {
    let stream = TcpStream::connect(address).await.expect("the server listens");
    let (connection, driver) =
        http1::handshake(TokioIo::new(stream)).await.expect("it speaks HTTP");
    tokio::spawn(driver);
    connection
}

async fn send(connection: &mut http1::SendRequest<Empty<Bytes>>, caller: &Caller) -> StatusCode {
    connection.ready().await.expect("the connection stays open");
    let response = connection.send_request(caller.request()).await.expect("it answers");
    let status = response.status();
    response.into_body().collect().await.expect("the body ends");
    status
}
