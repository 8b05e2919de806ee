//! Requests and responses of a real Kubernetes API server, replayed against ours.
//!
//! A scenario is a list of requests with the real server's responses. Responses are trimmed like
//! their recordings, and compared; placeholders are bound to real values at their first occurrence,
//! and later requests send the bound values. Scenarios use their own names and share a server,
//! except those that change built-in objects, or history.

mod bind;
mod compare;
mod cut;
pub(crate) mod http;
mod kubectl;
mod later;
mod openapi_facts;
mod replay;
mod scenario;
mod send;
pub(crate) mod server;
#[cfg(test)]
mod tests;
mod watch;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::Value;

use crate::{
    Report,
    apiserver::{
        later::{Later, later},
        replay::replay,
        scenario::{Scenario, Step},
        send::fetch,
        server::{Server, start},
    },
    report::{Verdict, case_files},
};

/// More than the number of cores: scenarios mostly wait.
const WORKERS: usize = 8;

/// Runs all files of the suite.
pub fn run(dir: &Path) -> Result<Report, String> {
    let mut report = Report::default();
    let mut cases = Vec::new();
    for file in case_files(dir).map_err(|e| format!("{}: {e}", dir.display()))? {
        let text = fs::read_to_string(dir.join(&file)).map_err(|e| format!("{file}: {e}"))?;
        match file.as_str() {
            "kubectl_requests.jsonl" => kubectl::run(&file, &text, &mut report),
            "openapi_facts.jsonl" => facts(&file, &text, &mut report),
            _ => cases.extend(scenarios(&file, &text, &mut report)),
        }
    }
    for (case, verdict) in cases.iter().zip(play(&cases)) {
        report.count(&case.file, &case.scenario.id, verdict);
    }
    Ok(report)
}

/// Checks properties of the OpenAPI documents; each document is fetched once.
fn facts(file: &str, text: &str, report: &mut Report) {
    let server = start("default");
    let mut documents: BTreeMap<String, Result<Value, String>> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty()) {
        let fact: Value = serde_json::from_str(line).unwrap_or_default();
        let id = fact["id"].as_str().map_or(format!("line {number}"), str::to_owned);
        let mut fetch = |path: &str| {
            let server = server.as_ref().map_err(Clone::clone)?;
            let fetched = documents.entry(path.to_owned()).or_insert_with(|| fetch(path, server));
            fetched.clone()
        };
        let verdict = match openapi_facts::check(&fact, &mut fetch) {
            Ok(()) => Verdict::Passed,
            Err(difference) => Verdict::Failed(difference),
        };
        report.count(file, &id, verdict);
    }
}

struct Case {
    file: String,
    scenario: Scenario,
    later: Later,
}

fn scenarios(file: &str, text: &str, report: &mut Report) -> Vec<Case> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, l)| !l.trim().is_empty()) {
        match serde_json::from_str::<Scenario>(line) {
            Ok(scenario) => {
                let later = later(file, &scenario);
                found.push(Case { file: file.to_owned(), scenario, later });
            }
            Err(problem) => {
                let verdict = Verdict::Failed(format!("not a case: {problem}"));
                report.count(file, &format!("line {number}"), verdict);
            }
        }
    }
    found
}

/// The verdicts on the cases, in order.
fn play(cases: &[Case]) -> Vec<Verdict> {
    let servers = servers(cases);
    let panicked = || Verdict::Failed("panicked; the message is above".to_owned());
    let next = AtomicUsize::new(0);
    let verdicts: Vec<OnceLock<Verdict>> = cases.iter().map(|_| OnceLock::new()).collect();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((case, verdict)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(at).zip(verdicts.get(at))
                } {
                    let judge = AssertUnwindSafe(|| judge(case, &servers));
                    verdict.get_or_init(|| catch_unwind(judge).unwrap_or_else(|_| panicked()));
                }
            });
        }
    });
    verdicts.into_iter().map(|verdict| verdict.into_inner().unwrap_or_else(panicked)).collect()
}

fn judge(case: &Case, servers: &Servers) -> Verdict {
    if case.later == Later::All {
        return Verdict::Later;
    }
    let scenario = &case.scenario;
    let compacts = scenario.steps.iter().any(|step| matches!(step, Step::Compact));
    let found = if scenario.needs_fresh_server || compacts {
        start(&scenario.server).map(|server| replay(scenario, &server))
    } else {
        let shared = servers[&scenario.server].as_ref();
        shared.map(|server| replay(scenario, server)).map_err(Clone::clone)
    };
    match (found, case.later) {
        (Err(problem), _) => Verdict::Failed(problem),
        (Ok(found), Later::Nothing) if found.is_empty() => Verdict::Passed,
        (Ok(found), _) if found.is_empty() => Verdict::Later,
        (Ok(found), _) => Verdict::Failed(found.join("\n")),
    }
}

/// One shared server per profile.
fn servers(cases: &[Case]) -> Servers {
    let wanted = cases.iter().filter(|case| case.later != Later::All);
    let profiles: BTreeSet<&str> = wanted.map(|case| case.scenario.server.as_str()).collect();
    profiles.into_iter().map(|profile| (profile.to_owned(), start(profile))).collect()
}

type Servers = BTreeMap<String, Result<Server, String>>;
