//! What is wrong with Services and the nodes below them: findings with a code, a severity, the
//! object, and one line that says how to fix it.
//!
//! `explain` shows the findings of one Service before everything else; `analyze` goes through all.
//! O(nodes) once, and O(endpoints + Pods + zones) for each Service.

mod cluster;
mod fix;
mod own;
mod problem;
mod service;

use std::{fmt, sync::Arc};

use evenkeel_model::{ServiceKey, WithMessage, harmless};
use serde::Serialize;

pub use self::problem::Problem;
use crate::{
    NoHints,
    explain::{Advice, FamilyView, RegionLabels, Subject},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// The object that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Object {
    /// `Service`, `Node` or `Zone`.
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Arc<str>>,
    pub name: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    pub object: Object,
    #[serde(flatten)]
    pub problem: WithMessage<Problem>,
    pub fix: String,
}

/// The findings about one Service. Advice of `explain` is the fix where it is about the same.
pub(crate) fn of_service(
    subject: &Subject<'_>,
    families: &[FamilyView],
    advice: &Advice,
) -> Vec<Finding> {
    let object = Object::service(&subject.state.service.key);
    let finding = |problem| {
        let mut finding = Finding::new(object.clone(), problem);
        match &finding.problem.reason {
            Problem::NoTopologyPreference | Problem::HintsRefused { .. } => {
                finding.fix = advice.to_string();
            }
            Problem::ForeignSliceWithoutHints { slice, .. } => {
                finding.fix = format!("Set hints.forZones on slice {slice}, or remove it");
            }
            Problem::PodsPending { .. }
            | Problem::PodsNotReady { .. }
            | Problem::SharesOnForeignSlice { .. } => {
                finding.fix += &format!(" -n {}", subject.state.service.key.namespace);
            }
            _ => {}
        }
        finding.fix = harmless(&finding.fix).into_owned();
        finding
    };
    let mut found: Vec<Finding> =
        service::problems(subject, families, advice).into_iter().map(finding).collect();
    // Stable: of equals the most basic stays first.
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// The findings about nodes, zones, and slices without a Service. `regions`: where a Service needs them.
pub(crate) fn of_cluster(
    snapshot: &evenkeel_model::Snapshot,
    capacity: Result<(), &NoHints>,
    regions: Option<&RegionLabels>,
) -> Vec<Finding> {
    let mut found = cluster::findings(snapshot, capacity);
    found.extend(regions.into_iter().flat_map(cluster::of_regions));
    found
}

// === impl Finding ===

impl Finding {
    fn new(object: Object, problem: Problem) -> Self {
        let fix = harmless(&problem.fix()).into_owned();
        Finding { severity: problem.severity(), object, fix, problem: problem.into() }
    }
}

// === impl Object ===

impl Object {
    fn service(key: &ServiceKey) -> Self {
        let ServiceKey { namespace, name } = key.clone();
        Object { kind: "Service", namespace: Some(namespace), name }
    }

    fn node(name: Arc<str>) -> Self {
        Object { kind: "Node", namespace: None, name }
    }

    fn zone(name: Arc<str>) -> Self {
        Object { kind: "Zone", namespace: None, name }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Object { kind, namespace, name } = self;
        match namespace {
            Some(namespace) => write!(f, "{kind} {namespace}/{name}"),
            None => write!(f, "{kind} {name}"),
        }
    }
}

// === impl Severity ===

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}
