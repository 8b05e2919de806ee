//! What was read of an API server. Each part can be missing without the others.

use std::sync::Arc;

use evenkeel_fairness::{config::Config, dialect::kubernetes};
use serde::Serialize;
use serde_json::Value;

use super::{
    dumps::{self, Dump, LevelRow, QueueRow, RequestRow},
    metrics::{self, Metrics},
};

/// A part, or why it is missing.
pub type Part<T> = Result<T, Absent>;

/// As it came.
#[derive(Debug)]
pub struct Texts {
    pub levels: Part<String>,
    pub queues: Part<String>,
    pub requests: Part<String>,
    pub metrics: Part<String>,
    pub objects: Part<Listed>,
}

/// The objects of flow control.
#[derive(Debug, Default)]
pub struct Listed {
    pub levels: Vec<Value>,
    pub schemas: Vec<Value>,
}

#[derive(Clone, Debug)]
pub struct Reading {
    pub levels: Part<Dump<LevelRow>>,
    pub queues: Part<Dump<QueueRow>>,
    pub requests: Part<Dump<RequestRow>>,
    pub metrics: Part<Arc<Metrics>>,
    pub config: Part<Arc<Config>>,
    /// Objects that can't be decoded, with the reason.
    pub ignored: Vec<String>,
}

/// Why a part is missing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Absent {
    #[error("the API server answers with status {code}")]
    Refused { code: u16 },
    #[error("no answer within {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("the answer is larger than {megabytes} MB")]
    TooLarge { megabytes: usize },
    #[error("{reason}")]
    Failed { reason: String },
    #[error("the answer is not in Kubernetes' format")]
    Malformed,
    #[error("the metrics have no priority levels")]
    NoLevels,
}

/// A part that is missing, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    pub what: String,
    pub why: String,
    pub fix: &'static str,
}

// === impl Reading ===

impl Reading {
    /// O(length of the texts).
    pub fn parse(texts: Texts) -> Reading {
        let Texts { levels, queues, requests, metrics, objects } = texts;
        let metrics = metrics.and_then(|text| {
            let metrics = metrics::metrics(&text);
            if metrics.levels.is_empty() { Err(Absent::NoLevels) } else { Ok(Arc::new(metrics)) }
        });
        let (config, ignored) = match objects {
            Ok(Listed { levels, schemas }) => {
                let (compiled, ignored) = kubernetes::served(levels, schemas);
                (Ok(Arc::new(compiled.config)), ignored)
            }
            Err(absent) => (Err(absent), Vec::new()),
        };
        Reading {
            levels: read(levels, dumps::levels),
            queues: read(queues, dumps::queues),
            requests: read(requests, dumps::requests),
            metrics,
            config,
            ignored,
        }
    }

    /// Why nothing at all could be read, if so.
    pub fn failure(&self) -> Option<&Absent> {
        let Reading { levels, queues, requests, metrics, config, ignored: _ } = self;
        let failure = config.as_ref().err()?;
        let rest = [levels.is_err(), queues.is_err(), requests.is_err(), metrics.is_err()];
        let is_told = matches!(failure, Absent::Refused { .. });
        (rest == [true; 4] && !is_told).then_some(failure)
    }

    pub(super) fn missing(&self) -> Vec<Missing> {
        let dumps = "/debug/api_priority_and_fairness/";
        let absent = [
            (Some(dumps), "priority levels (dump_priority_levels)", self.levels.as_ref().err()),
            (Some(dumps), "queues (dump_queues)", self.queues.as_ref().err()),
            (Some(dumps), "requests and their flows (dump_requests)", self.requests.as_ref().err()),
            (
                Some("/metrics"),
                "seats, rates and rejections (/metrics)",
                self.metrics.as_ref().err(),
            ),
            (None, "FlowSchemas and PriorityLevelConfigurations", self.config.as_ref().err()),
        ];
        let mut missing: Vec<Missing> = Vec::new();
        for (path, what, absent) in absent {
            let Some(absent) = absent else { continue };
            let (why, fix) = (absent.to_string(), fix(absent, path));
            // What is missing for one reason is said once.
            match missing.iter_mut().find(|other| (other.fix, &other.why) == (fix, &why)) {
                Some(other) => other.what += &format!("; {what}"),
                None => missing.push(Missing { what: what.to_owned(), why, fix }),
            }
        }
        missing
    }
}

fn read<T>(text: Part<String>, parse: fn(&str) -> Option<Dump<T>>) -> Part<Dump<T>> {
    parse(&text?).ok_or(Absent::Malformed)
}

fn fix(absent: &Absent, path: Option<&str>) -> &'static str {
    match (absent, path) {
        (Absent::Refused { code: 401 }, _) => "log in again",
        (Absent::Refused { code: 403 }, Some("/metrics")) => {
            "allow the verb get on the nonResourceURL /metrics"
        }
        (Absent::Refused { code: 403 }, Some(_)) => {
            "allow the verb get on the nonResourceURL /debug/api_priority_and_fairness/*"
        }
        (Absent::Refused { code: 403 }, None) => {
            "allow list of flowschemas and prioritylevelconfigurations in flowcontrol.apiserver.k8s.io"
        }
        (Absent::Refused { code: 404 } | Absent::NoLevels, _) => {
            "priority and fairness may be off: start the API server with --enable-priority-and-fairness=true"
        }
        (Absent::Refused { code: 429 } | Absent::TimedOut { .. }, _) => {
            "this request may itself wait for a seat: read with an identity whose level has some, such as one in system:masters"
        }
        (Absent::TooLarge { .. }, _) => "read it with kubectl get --raw",
        _ => {
            "check that the path leads to the API server itself, not to a proxy that changes answers"
        }
    }
}
