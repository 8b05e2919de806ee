//! The policies in force, and what is wrong with resources of the mesh.

use serde::Serialize;

use super::wire::{Finding, Invalid, Policies, Policy, Severity, Target, To};
use crate::view::words::{message, shown};

const MOST_ROWS: usize = 60;
const MOST_FINDINGS: usize = 20;
/// Fields of a policy that are told.
const MOST_FIELDS: usize = 6;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoliciesView {
    /// `None`: they are known. Otherwise why there are none to show.
    pub note: Option<&'static str>,
    pub rows: Vec<PolicyRow>,
    pub rows_left_out: usize,
    pub findings: Vec<FindingRow>,
    pub findings_left_out: usize,
}

/// An item of a policy's `to`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyRow {
    pub policy: String,
    pub kind: String,
    /// Whose traffic.
    pub from: String,
    pub to: String,
    pub sets: Vec<String>,
}

/// As those of `analyze`, which the page shows in the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingRow {
    pub severity: &'static str,
    pub object: String,
    pub message: String,
    pub fix: String,
}

pub(super) fn policies(policies: &Policies) -> PoliciesView {
    let in_force = policies.policies.as_ref();
    let all = in_force.iter().flat_map(|policies| &policies.items);
    let mut rows = all.flat_map(rows_of);
    let shown: Vec<PolicyRow> = rows.by_ref().take(MOST_ROWS).collect();
    let beyond = in_force.map_or(0, |policies| policies.left_out);
    let invalid = policies.invalid.as_ref();
    let found = policies.findings.as_ref();
    let broken = invalid.iter().flat_map(|invalid| &invalid.items).map(broken);
    let lint = found.iter().flat_map(|found| &found.items).map(finding);
    let mut findings: Vec<FindingRow> = broken.chain(lint).collect();
    let n = findings.len()
        + invalid.map_or(0, |invalid| invalid.left_out)
        + found.map_or(0, |found| found.left_out);
    // The sort is stable: what is not in force at all stays before what is hardly meant.
    findings.sort_by_key(|finding| {
        ["error", "warning"].iter().position(|s| *s == finding.severity).unwrap_or(2)
    });
    findings.truncate(MOST_FINDINGS);
    PoliciesView {
        note: match in_force {
            None => Some("Which policies are in force is unknown: the control plane did not say."),
            Some(list) if list.items.is_empty() => {
                Some("No policy is in force: own zone first, then all others alike.")
            }
            Some(_) => None,
        },
        rows_left_out: rows.count() + beyond,
        rows: shown,
        findings_left_out: n - findings.len(),
        findings,
    }
}

fn rows_of(policy: &Policy) -> impl Iterator<Item = PolicyRow> {
    let items = policy.to.iter().flat_map(|to| &to.items);
    items.map(move |to| PolicyRow {
        policy: format!("{}/{}", shown(&policy.mesh), shown(&policy.name)),
        kind: shown(&policy.kind),
        from: target(policy.target_ref.as_ref()),
        to: target(to.target_ref.as_ref()),
        sets: sets(to),
    })
}

fn sets(to: &To) -> Vec<String> {
    let Some(sets) = &to.sets else { return vec!["unknown".to_owned()] };
    let mut told: Vec<String> =
        sets.items.iter().take(MOST_FIELDS).map(|field| shown(field)).collect();
    if sets.len() > told.len() {
        told.push(format!("{} more", sets.len() - told.len()));
    }
    told
}

/// `MeshService backend`, `MeshSubset with version=2`.
fn target(target: Option<&Target>) -> String {
    let Some(target) = target else { return "unknown".to_owned() };
    let mut text = shown(&target.kind);
    let names = [("", &target.name), ("in ", &target.namespace), ("port ", &target.section_name)];
    for (word, name) in names {
        if let Some(name) = name {
            text += &format!(" {word}{}", shown(name));
        }
    }
    let pairs = [&target.labels, &target.tags].into_iter().flatten();
    let pairs = pairs.flat_map(|pairs| &pairs.0).take(MOST_FIELDS);
    let pairs: Vec<String> =
        pairs.map(|(key, value)| format!("{}={}", shown(key), shown(value))).collect();
    if !pairs.is_empty() {
        text += &format!(" with {}", pairs.join(", "));
    }
    text
}

fn broken(invalid: &Invalid) -> FindingRow {
    let origin = invalid.origin.as_deref().unwrap_or("a resource of unknown origin");
    let document = invalid.document.map(|n| format!(", document {n}")).unwrap_or_default();
    let field = invalid.field.as_deref().map(|field| format!(", {}", shown(field)));
    FindingRow {
        severity: "error",
        object: format!("{}{document}{}", shown(origin), field.unwrap_or_default()),
        message: message(&invalid.message),
        fix: match invalid.last_good_in_force {
            Some(true) => "Correct it; until then its last valid form is in force",
            Some(false) => "Correct it; it is not in force",
            None => "Correct it; whether an earlier form is in force is unknown",
        }
        .to_owned(),
    }
}

fn finding(finding: &Finding) -> FindingRow {
    let policy = finding.policy.as_ref();
    let policy =
        policy.map(|key| format!("{} {}/{}", shown(&key.kind), shown(&key.mesh), shown(&key.name)));
    let item = finding.to.map(|n| format!(", to[{n}]")).unwrap_or_default();
    FindingRow {
        severity: match finding.severity {
            Some(Severity::Error) => "error",
            Some(Severity::Warning) => "warning",
            Some(Severity::Info) => "info",
            Some(Severity::Other) | None => "unknown",
        },
        object: format!("{}{item}", policy.unwrap_or_else(|| "unknown policy".to_owned())),
        message: message(&finding.message),
        fix: capital(&message(finding.advice.as_deref().unwrap_or("what to do is unknown"))),
    }
}

/// Advice begins a sentence here.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
