//! `/healthz`, `/livez` and `/readyz`, in Kubernetes' text form.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use percent_encoding::percent_decode_str;

use crate::supervisor::Supervisor;

/// The checks of a process.
#[derive(Debug, Default)]
pub struct Health {
    sources: Vec<Source>,
}

/// Where checks come from, in the order in which they are shown.
#[derive(Debug)]
enum Source {
    Check(Check),
    Tasks(Supervisor),
}

struct Check {
    name: &'static str,
    scope: CheckScope,
    check: Box<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// Where a check counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckScope {
    Everywhere,
    /// Only `/readyz`: a failure takes away traffic and does not end the process.
    Readiness,
}

// === impl Health ===

impl Health {
    /// With the checks that need nothing else: `ping` and `log`.
    pub fn new() -> Health {
        let alive = || Ok(());
        Health::default().with("ping", CheckScope::Everywhere, alive).with(
            "log",
            CheckScope::Everywhere,
            alive,
        )
    }

    pub fn with(
        mut self,
        name: &'static str,
        scope: CheckScope,
        check: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Health {
        self.sources.push(Source::Check(Check { name, scope, check: Box::new(check) }));
        self
    }

    /// A check for each task that is supervised, also for those that are started later. They count
    /// for readiness: a task is started again without the process.
    pub fn with_tasks(mut self, supervisor: &Supervisor) -> Health {
        self.sources.push(Source::Tasks(supervisor.clone()));
        self
    }

    /// The answer to a path of health; `None` for any other.
    pub fn answer(&self, path: &str, query: Option<&str>) -> Option<Response<String>> {
        let path = path.strip_prefix('/')?;
        let (root, check) =
            path.split_once('/').map_or((path, None), |(root, rest)| (root, Some(rest)));
        if !matches!(root, "healthz" | "livez" | "readyz") {
            return None;
        }
        let counts = |check: &Ask<'_>| root == "readyz" || check.scope == CheckScope::Everywhere;
        let mut checks = self.sources.iter().flat_map(Source::checks).filter(counts);
        Some(match check {
            None | Some("") => all(root, checks, query.unwrap_or_default()),
            Some(name) => match checks.find(|check| check.name == name) {
                Some(check) => one(&check),
                None => plain(StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
            },
        })
    }
}

/// One check that can be scope.
struct Ask<'a> {
    name: &'static str,
    scope: CheckScope,
    check: Box<dyn Fn() -> Result<(), String> + 'a>,
}

impl Source {
    fn checks(&self) -> Vec<Ask<'_>> {
        match self {
            Source::Check(Check { name, scope, check }) => {
                vec![Ask { name, scope: *scope, check: Box::new(check) }]
            }
            Source::Tasks(tasks) => {
                let ask = |name| Ask {
                    name,
                    scope: CheckScope::Readiness,
                    check: Box::new(move || tasks.check(name)),
                };
                tasks.names().into_iter().map(ask).collect()
            }
        }
    }
}

fn one(check: &Ask<'_>) -> Response<String> {
    match (check.check)() {
        Ok(()) => plain(StatusCode::OK, "ok".to_owned()),
        Err(why) => {
            plain(StatusCode::INTERNAL_SERVER_ERROR, format!("internal server error: {why}\n"))
        }
    }
}

fn all<'a>(root: &str, checks: impl Iterator<Item = Ask<'a>>, query: &str) -> Response<String> {
    let pairs = || query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let is_verbose = pairs().any(|(key, _)| key == "verbose");
    let excluded = pairs().filter(|(key, _)| *key == "exclude").map(|(_, value)| decoded(value));
    let mut excluded: BTreeSet<Cow<'_, str>> = excluded.collect();
    let (mut text, mut has_failed) = (String::new(), false);
    for check in checks {
        let line = if excluded.remove(check.name) {
            format!("[+]{} excluded: ok\n", check.name)
        } else if let Err(why) = (check.check)() {
            has_failed = true;
            tracing::warn!(check = check.name, reason = why, "{root} check failed");
            // Anybody may ask; who needs more looks at the check itself.
            format!("[-]{} failed: reason withheld\n", check.name)
        } else {
            format!("[+]{} ok\n", check.name)
        };
        text.push_str(&line);
    }
    if !excluded.is_empty() {
        let names: Vec<String> = excluded.iter().map(|name| format!("{name:?}")).collect();
        let names = names.join(",");
        text.push_str(&format!(
            "warn: some health checks cannot be excluded: no matches for {names}\n"
        ));
    }
    if has_failed {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{text}{root} check failed\n"));
    }
    match is_verbose {
        true => plain(StatusCode::OK, format!("{text}{root} check passed\n")),
        false => plain(StatusCode::OK, "ok".to_owned()),
    }
}

fn decoded(value: &str) -> Cow<'_, str> {
    percent_decode_str(value).decode_utf8_lossy()
}

fn plain(status: StatusCode, text: String) -> Response<String> {
    let mut response = Response::new(text);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(is_stopping: bool) -> Health {
        let stopping =
            move || if is_stopping { Err("process is shutting down".to_owned()) } else { Ok(()) };
        Health::new().with("etcd", CheckScope::Everywhere, || Ok(())).with(
            "shutdown",
            CheckScope::Readiness,
            stopping,
        )
    }

    fn check(is_stopping: bool, uri: &str, expected: (u16, &str)) {
        let uri: http::Uri = uri.parse().unwrap();
        let response = health(is_stopping).answer(uri.path(), uri.query()).unwrap();
        assert_eq!(response.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
        let status = response.status().as_u16();
        assert_eq!((status, response.body().as_str()), expected, "{uri}");
    }

    #[test]
    fn answers_are_those_of_kubernetes() {
        // Recorded: scenario `discovery.health`.
        for uri in ["/healthz", "/livez", "/readyz", "/healthz/ping", "/readyz/ping", "/livez/etcd"]
        {
            check(false, uri, (200, "ok"));
        }
        check(false, "/readyz/nope", (404, "404 page not found\n"));
        check(false, "/livez/shutdown", (404, "404 page not found\n"));
        check(
            false,
            "/livez?verbose",
            (200, "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n"),
        );
        check(
            false,
            "/livez?verbose=1&exclude=etcd&exclude=b&exclude=a",
            (
                200,
                "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\nwarn: some health checks cannot be \
                 excluded: no matches for \"a\",\"b\"\nlivez check passed\n",
            ),
        );
    }

    #[test]
    fn a_server_that_stops_is_alive_but_not_ready() {
        check(true, "/livez", (200, "ok"));
        check(true, "/healthz", (200, "ok"));
        let text = "[+]ping ok\n[+]log ok\n[+]etcd ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n";
        check(true, "/readyz", (500, text));
        check(true, "/readyz/shutdown", (500, "internal server error: process is shutting down\n"));
        check(true, "/readyz?exclude=shutdown", (200, "ok"));
    }

    #[test]
    fn other_paths_are_not_healths() {
        for path in ["/", "/healthzz", "/api/healthz", "/version"] {
            assert!(health(false).answer(path, None).is_none(), "{path}");
        }
    }
}
