//! Carries out what a reflector asks for.

use std::time::Duration;

use evenkeel_model::Watched;
use futures_util::{Stream, StreamExt as _};
use kube::{
    api::{ListParams, WatchParams},
    core::Request,
};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{
    Received, Selector, Watch,
    absence::{Absence, LONGEST_PAUSE},
    batch::Followed,
    failure::{Cause, Failure, Verb},
    reflector::{Reflector, Step},
    stream::{self, Line},
};

/// What is sent at once at most.
const BATCH: usize = 512;

/// How far a watch is that is open.
struct Open {
    since: Instant,
    /// When the API server ends it.
    ends: Instant,
    /// The last sign of life.
    seen: Instant,
    had_events: bool,
}

impl<T: Followed> Watch<T> {
    /// Until nobody takes batches any more.
    pub(super) async fn follow(self) {
        let mut reflector = Reflector::new(T::gone);
        let mut absence = Absence::default();
        while !self.send.is_closed() {
            let done = match reflector.next() {
                Step::List { limit, token } => self.list(&mut reflector, limit, token).await,
                Step::Watch { version } => self.watch(&mut reflector, &version).await,
            };
            let Err(failure) = done else {
                absence.found();
                continue;
            };
            let mut pause = reflector.failed(&failure, rand::random());
            match self.is_absent(&mut absence, &failure).await {
                true => {
                    reflector.start_over();
                    pause = pause.min(LONGEST_PAUSE);
                }
                false => self.failed(&failure, pause),
            }
            sleep(pause).await;
        }
    }

    /// Without the kind there are no objects of it, which is told once.
    async fn is_absent(&self, absence: &mut Absence, failure: &Failure) -> bool {
        let Some(definition) = self.resource().definition() else { return false };
        let now = Instant::now();
        let Some(is_news) = absence.failed(failure, now) else { return false };
        self.hooks.conditions.absent(self.resource(), now);
        if is_news {
            tracing::info!("CustomResourceDefinition {definition} not installed");
            self.pass_on(now, vec![Watched::Restarted, Watched::Complete]).await;
        }
        true
    }

    async fn list(
        &self,
        reflector: &mut Reflector<T>,
        limit: Option<u32>,
        token: Option<String>,
    ) -> Result<(), Failure> {
        let Selector { labels, fields, .. } = self.selector.clone();
        let params = ListParams {
            label_selector: labels,
            field_selector: fields,
            limit,
            continue_token: token,
            ..ListParams::default()
        };
        let page = within(Verb::List, self.settings.list, self.api.list(&params)).await?;
        self.alive();
        self.pass_on(Instant::now(), reflector.page(page)?).await;
        Ok(())
    }

    async fn watch(&self, reflector: &mut Reflector<T>, version: &str) -> Result<(), Failure> {
        let (lines, mut open) = self.open(version).await?;
        self.established();
        let mut chunks = std::pin::pin!(lines.ready_chunks(BATCH));
        loop {
            let deadline = open.ends.max(open.seen) + self.settings.grace;
            match timeout_at(deadline, chunks.next()).await {
                Ok(Some(chunk)) => self.lines(reflector, chunk, &mut open).await?,
                Ok(None) => return self.ended(reflector, &open),
                Err(_) => {
                    let cause = Cause::Silent { since: open.seen.elapsed() };
                    return Err(Failure { verb: Verb::Watch, cause });
                }
            }
        }
    }

    async fn open(
        &self,
        version: &str,
    ) -> Result<(impl Stream<Item = (Instant, Line<T>)> + use<T>, Open), Failure> {
        let seconds = self.settings.timeout_seconds(rand::random());
        let Selector { labels, fields, .. } = self.selector.clone();
        let params = WatchParams {
            label_selector: labels,
            field_selector: fields,
            timeout: Some(seconds),
            ..WatchParams::default()
        };
        let request = Request::new(self.api.resource_url()).watch(&params, version);
        let request = request.map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        let (client, since) = (self.api.clone().into_client(), Instant::now());
        let lines = stream::open(&client, request);
        let lines = within(Verb::Watch, self.settings.open, lines).await?;
        let ends = since + Duration::from_secs(seconds.into());
        Ok((lines, Open { since, ends, seen: Instant::now(), had_events: false }))
    }

    /// What came before a failure is passed on.
    async fn lines(
        &self,
        reflector: &mut Reflector<T>,
        chunk: Vec<(Instant, Line<T>)>,
        open: &mut Open,
    ) -> Result<(), Failure> {
        self.alive();
        let at = chunk.first().map_or_else(Instant::now, |(at, _)| *at);
        let mut batch = Vec::with_capacity(chunk.len());
        let mut done = Ok(());
        for (_, line) in chunk {
            match self.line(reflector, line) {
                Ok(told) => batch.extend(told),
                Err(failure) => {
                    done = Err(failure);
                    break;
                }
            }
        }
        open.had_events |= !batch.is_empty();
        self.pass_on(at, batch).await;
        // However long it took until the batch was taken.
        open.seen = Instant::now();
        done
    }

    /// An object that can't be decoded stays as it was last seen, and the watch goes on.
    fn line(
        &self,
        reflector: &mut Reflector<T>,
        line: Line<T>,
    ) -> Result<Option<Watched<T>>, Failure> {
        match line {
            Line::Event(event) => reflector.event(event),
            Line::Odd(error) => {
                self.undecodable(&error);
                Ok(None)
            }
            Line::Broken(error) => Err(failed(kube::Error::ReadEvents(error))),
        }
    }

    fn ended(&self, reflector: &mut Reflector<T>, open: &Open) -> Result<(), Failure> {
        self.alive();
        reflector.ended(open.since.elapsed(), open.had_events)
    }

    async fn pass_on(&self, at: Instant, batch: Vec<Watched<T>>) {
        if !batch.is_empty() {
            // Who has gone is noticed before the next request.
            let _ = self.send.send(Received { at, batch: T::batch(self.kind, batch) }).await;
        }
    }
}

fn failed(error: kube::Error) -> Failure {
    Failure { verb: Verb::Watch, cause: Cause::Request(error) }
}

async fn within<R>(
    verb: Verb,
    limit: Duration,
    request: impl Future<Output = kube::Result<R>>,
) -> Result<R, Failure> {
    let answer = timeout(limit, request).await;
    let answer = answer.map_err(|_| Failure { verb, cause: Cause::NoAnswer { within: limit } })?;
    answer.map_err(|error| Failure { verb, cause: Cause::Request(error) })
}
