//! Facts to a check list. Pure.

mod controller;
mod nodes;
mod services;
#[cfg(test)]
mod tests;

use serde::Serialize;

use super::facts::{Cluster, Facts};
use crate::controller::access::{Answer, Permission};

/// So many names are listed in one line.
const LISTED: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub group: Group,
    pub outcome: Outcome,
    /// What was found.
    pub text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Group {
    Api,
    Access,
    Nodes,
    Controller,
    Services,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Ok,
    /// Worth a look, or could not be looked at.
    Warning,
    Failed,
}

pub(super) fn checks(facts: &Facts) -> Vec<Check> {
    let cluster = match facts {
        Facts::Unreachable { problem, help } => {
            return vec![Check { help: help.clone(), ..Group::Api.failed(problem.clone(), "") }];
        }
        Facts::Reached(cluster) => cluster,
    };
    let mut checks = vec![api(cluster), access(&cluster.access)];
    checks.extend(nodes::checks(&cluster.nodes));
    checks.extend(controller::checks(cluster));
    checks.extend(services::checks(cluster));
    checks
}

fn api(cluster: &Cluster) -> Check {
    match &cluster.version {
        Ok(version) => Group::Api.ok(format!("the API server answers: Kubernetes {version}")),
        Err(problem) => Group::Api.failed(
            format!("the API server does not tell its version: {problem}"),
            "check the credentials: `kubectl version` must show the server's version",
        ),
    }
}

fn access(answers: &[(Permission, Answer)]) -> Check {
    let unknown = answers.iter().find_map(|(_, answer)| match answer {
        Answer::Unknown(problem) => Some(problem),
        Answer::Allowed | Answer::Denied => None,
    });
    let denied = crate::controller::access::denied(answers);
    let denied: Vec<String> = denied.iter().map(ToString::to_string).collect();
    match (denied.first(), unknown) {
        (Some(first), _) => Group::Access.failed(
            format!("these credentials may not {}", named(&denied)),
            format!("bind the roles in deploy/base; `kubectl auth can-i {first}` must say yes"),
        ),
        (None, Some(problem)) => Group::Access.warning(
            format!("what these credentials may do can't be asked: {problem}"),
            "allow selfsubjectaccessreviews.authorization.k8s.io to be created",
        ),
        (None, None) => {
            Group::Access.ok("these credentials may do all that the controller does".to_owned())
        }
    }
}

/// The first of many, and how many more there are.
fn named<T: ToString>(all: &[T]) -> String {
    let shown: Vec<String> = all.iter().take(LISTED).map(ToString::to_string).collect();
    match all.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

// === impl Group ===

impl Group {
    pub(super) fn name(self) -> &'static str {
        match self {
            Group::Api => "api",
            Group::Access => "access",
            Group::Nodes => "nodes",
            Group::Controller => "controller",
            Group::Services => "services",
        }
    }

    fn ok(self, text: String) -> Check {
        Check { group: self, outcome: Outcome::Ok, text, help: None }
    }

    fn warning(self, text: String, help: impl Into<String>) -> Check {
        Check { group: self, outcome: Outcome::Warning, text, help: Some(help.into()) }
    }

    fn failed(self, text: String, help: impl Into<String>) -> Check {
        Check { group: self, outcome: Outcome::Failed, text, help: Some(help.into()) }
    }

    /// What could not be listed.
    fn unknown(self, what: &str, problem: &str) -> Check {
        let text = format!("{what} can't be listed: {problem}");
        self.warning(text, format!("ask for permission: `kubectl auth can-i list {what}`"))
    }
}
