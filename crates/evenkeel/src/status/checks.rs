//! Facts to a list of checks. Pure.

mod code;
mod controller;
mod mesh;
mod nodes;
mod proxies;
mod regions;
mod services;
mod shares;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(super) use self::code::Code;
use super::facts::{Cluster, Facts, Unreachable};
use crate::access::{Answer, Permission};

/// Names listed in one line.
const LISTED: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub group: Group,
    pub code: Code,
    pub outcome: Outcome,
    /// What was found.
    pub message: String,
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
    Proxies,
    Services,
    Mesh,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Ok,
    /// Worth a look, or could not be checked.
    Warning,
    Failed,
}

pub(super) fn checks(facts: &Facts) -> Vec<Check> {
    let cluster = match &facts.cluster {
        Err(Unreachable { problem, help }) => {
            let failed = Group::Api.failed(Code::ApiServerUnreachable, problem.clone(), "");
            return vec![Check { help: help.clone(), ..failed }];
        }
        Ok(cluster) => cluster,
    };
    let mut checks = vec![api(cluster), access(&cluster.access)];
    checks.extend(nodes::checks(&cluster.nodes));
    checks.extend(regions::checks(cluster));
    checks.extend(controller::checks(cluster));
    checks.extend(proxies::checks(cluster));
    checks.extend(services::checks(cluster));
    checks.extend(shares::checks(cluster));
    checks.extend(mesh::checks(cluster));
    checks
}

fn api(cluster: &Cluster) -> Check {
    match &cluster.version {
        Ok(version) => Group::Api.ok(
            Code::ApiServerReachable,
            format!("API server is reachable (Kubernetes {version})"),
        ),
        Err(problem) => Group::Api.failed(
            Code::ApiServerVersionUnknown,
            format!("API server does not report its version: {problem}"),
            "check the credentials: `kubectl version` must print the server's version",
        ),
    }
}

fn access(answers: &[(Permission, Answer)]) -> Check {
    let unknown = answers.iter().find_map(|(_, answer)| match answer {
        Answer::Unknown(problem) => Some(problem),
        Answer::Allowed | Answer::Denied => None,
    });
    let denied = crate::access::denied(answers);
    let denied: Vec<String> = denied.iter().map(ToString::to_string).collect();
    match (denied.first(), unknown) {
        (Some(first), _) => Group::Access.failed(
            Code::PermissionsMissing,
            format!("credentials lack permissions the controller needs: {}", named(&denied)),
            format!("bind the roles in deploy/base; then `kubectl auth can-i {first}` prints yes"),
        ),
        (None, Some(problem)) => Group::Access.warning(
            Code::PermissionsUnknown,
            format!("permissions can't be checked: {problem}"),
            "allow selfsubjectaccessreviews.authorization.k8s.io to be created",
        ),
        (None, None) => Group::Access.ok(
            Code::PermissionsGranted,
            "credentials have the permissions the controller needs".to_owned(),
        ),
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
            Group::Proxies => "proxies",
            Group::Services => "services",
            Group::Mesh => "mesh",
        }
    }

    fn ok(self, code: Code, message: String) -> Check {
        Check { group: self, code, outcome: Outcome::Ok, message, help: None }
    }

    fn warning(self, code: Code, message: String, help: impl Into<String>) -> Check {
        Check { group: self, code, outcome: Outcome::Warning, message, help: Some(help.into()) }
    }

    fn failed(self, code: Code, message: String, help: impl Into<String>) -> Check {
        Check { group: self, code, outcome: Outcome::Failed, message, help: Some(help.into()) }
    }

    fn not_listed(self, code: Code, what: &str, problem: &str) -> Check {
        let help = format!("ask for permission; then `kubectl auth can-i list {what}` prints yes");
        self.warning(code, format!("cannot list {what}: {problem}"), help)
    }
}
