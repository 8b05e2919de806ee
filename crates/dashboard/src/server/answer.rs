//! What is answered to each request. Only the login is a POST; everything else is read.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::Incoming;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    assets::ASSETS,
    events::{self, Events},
    fairness,
    guard::{Guard, Refusal},
    query,
};
use crate::{
    feed::{Feed, Feeds, Shown},
    mesh::NoPage,
};

pub(super) type Reply = Response<Either<Full<Bytes>, Events>>;

/// Scripts and styles are the page's own, text never becomes markup, and nothing is fetched from
/// elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// Pages that are computed for who asks, at the same time.
const MOST_COMPUTED: usize = 4;

/// Longer than a token.
const MOST_LOGIN_BYTES: usize = 256;

pub(super) struct Answers {
    guard: Guard,
    feeds: Arc<Feeds>,
    stop: CancellationToken,
    computed: Arc<Semaphore>,
}

// === impl Answers ===

impl Answers {
    pub(super) fn new(guard: Guard, feeds: Arc<Feeds>, stop: CancellationToken) -> Answers {
        Answers { guard, feeds, stop, computed: Arc::new(Semaphore::new(MOST_COMPUTED)) }
    }

    /// `endless` is cancelled if the answer has no end.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        endless: &CancellationToken,
    ) -> Reply {
        let (parts, body) = request.into_parts();
        let mut reply = match self.route(&parts, body, endless).await {
            Ok(reply) => reply,
            Err(refusal) => refusal.reply(),
        };
        for (name, value) in HEADERS {
            reply.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        reply
    }

    async fn route(
        &self,
        parts: &Parts,
        body: Incoming,
        endless: &CancellationToken,
    ) -> Result<Reply, Refusal> {
        let path = parts.uri.path();
        let is_login = path == "/api/login";
        self.guard.check_place(&parts.headers, is_login)?;
        match (&parts.method, is_login) {
            (&Method::POST, true) => return self.login(body).await,
            (&Method::GET, false) | (&Method::HEAD, false) => {}
            _ => return Ok(text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n")),
        }
        if let Some(asset) = ASSETS.iter().find(|asset| asset.path == path) {
            return Ok(typed(StatusCode::OK, asset.content_type, asset.text));
        }
        if !path.starts_with("/api/") {
            return Ok(text(StatusCode::NOT_FOUND, "404 page not found\n"));
        }
        self.guard.check_cookie(&parts.headers)?;
        let query = parts.uri.query().unwrap_or_default();
        Ok(match path {
            "/api/cluster" => match self.feeds.cluster.look().await.shown {
                Some(Shown { page, .. }) => typed(StatusCode::OK, JSON, page.as_bytes().to_vec()),
                None => not_yet(),
            },
            "/api/service" => self.service(query).await,
            "/api/fairness" => match self.feeds.fairness.look().await.shown {
                Some(shown) => typed(StatusCode::OK, JSON, shown.json.as_bytes().to_vec()),
                None => not_yet(),
            },
            "/api/fairness/match" => self.matched(query).await,
            "/api/mesh" => {
                mesh_page(self.feeds.mesh.page().await.map(|page| page.as_bytes().to_vec()))
            }
            "/api/mesh/proxy" => self.proxy(query).await,
            "/api/events" => match query {
                "" | "page=cluster" => self.follow(&self.feeds.cluster, endless),
                "page=fairness" => self.follow(&self.feeds.fairness, endless),
                "page=mesh" => self.follow(&self.feeds.mesh.feed, endless),
                _ => text(StatusCode::BAD_REQUEST, "There is no such page.\n"),
            },
            _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        })
    }

    async fn login(&self, body: Incoming) -> Result<Reply, Refusal> {
        let given = Limited::new(body, MOST_LOGIN_BYTES).collect().await;
        let given = given.map_err(|_| Refusal::WrongToken)?.to_bytes();
        let cookie = self.guard.login(&given)?;
        let mut reply = text(StatusCode::NO_CONTENT, "");
        let cookie = HeaderValue::from_str(&cookie).expect("it is made of digits and letters");
        reply.headers_mut().insert(header::SET_COOKIE, cookie);
        Ok(reply)
    }

    async fn service(&self, query: &str) -> Reply {
        let (key, wish) = match query::parse(query) {
            Ok(parsed) => parsed,
            Err(problem) => return text(StatusCode::BAD_REQUEST, problem),
        };
        let Some(Shown { cluster, .. }) = self.feeds.cluster.look().await.shown else {
            return not_yet();
        };
        let compute = move || Some(serde_json::to_vec(&cluster.service(&key, &wish)?));
        self.computed(compute, "There is no such Service.\n").await
    }

    /// The page about fairness with an answer to the request that somebody typed in.
    async fn matched(&self, query: &str) -> Reply {
        let spec = match fairness::parse(query) {
            Ok(parsed) => parsed,
            Err(problem) => return text(StatusCode::BAD_REQUEST, problem),
        };
        let Some(shown) = self.feeds.fairness.look().await.shown else { return not_yet() };
        let compute =
            move || Some(serde_json::to_vec(&shown.page.with_request(&shown.reading, &spec)));
        self.computed(compute, "There is no such page.\n").await
    }

    /// A page that is computed for who asks. `missing` is said if there is none.
    async fn computed(
        &self,
        compute: impl FnOnce() -> Option<serde_json::Result<Vec<u8>>> + Send + 'static,
        missing: &'static str,
    ) -> Reply {
        let Ok(place) = Arc::clone(&self.computed).acquire_owned().await else { return not_yet() };
        let compute = move || {
            let json = compute();
            drop(place);
            json
        };
        match tokio::task::spawn_blocking(compute).await {
            Ok(Some(Ok(json))) => typed(StatusCode::OK, JSON, json),
            Ok(None) => text(StatusCode::NOT_FOUND, missing),
            // Its panic was shown.
            Ok(Some(Err(_))) | Err(_) => {
                text(StatusCode::INTERNAL_SERVER_ERROR, "The page could not be computed.\n")
            }
        }
    }

    async fn proxy(&self, query: &str) -> Reply {
        let (name, cluster) = match query::parse_proxy(query) {
            Ok(parsed) => parsed,
            Err(problem) => return text(StatusCode::BAD_REQUEST, problem),
        };
        mesh_page(self.feeds.mesh.proxy(name, cluster.as_deref()).await)
    }

    fn follow<T>(&self, feed: &Feed<T>, endless: &CancellationToken) -> Reply
    where
        T: Clone + Send + Sync + 'static,
    {
        let Some(events) = events::follow(feed, self.stop.clone()) else {
            let mut reply = text(StatusCode::SERVICE_UNAVAILABLE, "Too many tabs are open.\n");
            reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            return reply;
        };
        endless.cancel();
        let mut reply = Response::new(Either::Right(events));
        let content_type = HeaderValue::from_static("text/event-stream");
        reply.headers_mut().insert(header::CONTENT_TYPE, content_type);
        reply
    }
}

fn not_yet() -> Reply {
    text(StatusCode::SERVICE_UNAVAILABLE, "The cluster has not been read yet.\n")
}

fn mesh_page(page: Result<impl Into<Bytes>, NoPage>) -> Reply {
    match page {
        Ok(json) => typed(StatusCode::OK, JSON, json),
        Err(NoPage::NotRead) => {
            text(StatusCode::SERVICE_UNAVAILABLE, "The control plane has not been read yet.\n")
        }
        Err(NoPage::Missing) => text(StatusCode::NOT_FOUND, "There is no such Dataplane.\n"),
        Err(NoPage::Failed(problem)) => {
            text(StatusCode::BAD_GATEWAY, format!("Reading the control plane failed: {problem}.\n"))
        }
    }
}

fn text(status: StatusCode, text: impl Into<Bytes>) -> Reply {
    typed(status, TEXT, text)
}

fn typed(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(body.into())));
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

// === impl Refusal ===

impl Refusal {
    fn reply(self) -> Reply {
        match self {
            Refusal::Host => text(
                StatusCode::MISDIRECTED_REQUEST,
                "This server does not have this name: open the address that it printed.\n",
            ),
            Refusal::Origin => {
                text(StatusCode::FORBIDDEN, "Requests of other sites are refused.\n")
            }
            Refusal::NoCookie | Refusal::WrongToken => text(
                StatusCode::UNAUTHORIZED,
                "Open the address that the dashboard printed when it started.\n",
            ),
        }
    }
}
