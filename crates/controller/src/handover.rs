//! Handover of EndpointSlices between Evenkeel and kube-controller-manager.
//!
//! Only the label `managed-by` is changed, under the resourceVersion that was read, so that slices
//! stay in use without interruption. Nothing is created or deleted.
//!
//! The controller that hands over must be stopped, or it takes them back.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use evenkeel_k8s::{convert, watched};
use evenkeel_model::{Version, label};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::{
    Client, Resource,
    api::{ListParams, Patch, PatchParams},
    core::{params::GetParams, request::Request},
};
use serde::Deserialize;

use crate::ask::{Failure, ask};

const PAGE: u32 = 500;

/// Attempts for one slice.
const TRIES: u32 = 5;

/// The pause before the second attempt; it doubles.
const PAUSE: Duration = Duration::from_millis(100);

/// The slices to hand over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// `None`: of all namespaces.
    pub namespace: Option<String>,
    /// The Services by name; empty: all.
    pub services: Vec<String>,
}

/// A slice, and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relabelled {
    pub namespace: Arc<str>,
    pub slice: Arc<str>,
    /// Empty if the slice names none.
    pub service: Arc<str>,
    pub result: HandoverResult,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandoverResult {
    Done,
    /// It was deleted or relabelled by another process.
    Skipped,
    Failed(String),
}

/// Numbers of slices by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub done: usize,
    pub skipped: usize,
    pub failed: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot list EndpointSlices of {manager}: {problem}")]
pub struct ListError {
    pub manager: &'static str,
    /// The HTTP status, if there was a response.
    pub code: Option<u16>,
    pub problem: String,
}

/// Hands slices over to kube-controller-manager. `on_slice` is called for each.
pub async fn release(
    client: Client,
    scope: &Scope,
    on_slice: impl FnMut(&Relabelled),
) -> Result<Summary, ListError> {
    hand_over(&client, scope, label::EVENKEEL, label::BUILT_IN, on_slice).await
}

/// Takes slices over from kube-controller-manager. `on_slice` is called for each.
pub async fn adopt(
    client: Client,
    scope: &Scope,
    on_slice: impl FnMut(&Relabelled),
) -> Result<Summary, ListError> {
    hand_over(&client, scope, label::BUILT_IN, label::EVENKEEL, on_slice).await
}

/// A slice as far as it matters here.
#[derive(Clone, Debug, Deserialize)]
struct Listed {
    metadata: Metadata,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Arc<str>,
    namespace: Arc<str>,
    uid: Arc<str>,
    resource_version: Arc<str>,
    #[serde(default)]
    labels: BTreeMap<String, Arc<str>>,
}

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    items: Vec<Listed>,
}

#[derive(Debug, Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: String,
}

async fn hand_over(
    client: &Client,
    scope: &Scope,
    from: &'static str,
    to: &str,
    mut on_slice: impl FnMut(&Relabelled),
) -> Result<Summary, ListError> {
    let mut summary = Summary::default();
    let mut page = ListParams::default().labels(&selector(scope, from)).limit(PAGE);
    loop {
        let path = Request::new(EndpointSlice::url_path(&(), scope.namespace.as_deref()));
        let list: Page = match ask(client, path.list(&page)).await {
            Ok(list) => list,
            // The token outlived the API server's memory: start over, all in one answer. What is
            // done no longer matches.
            Err(failure) if failure.code() == Some(410) && page.continue_token.is_some() => {
                (page.continue_token, page.limit) = (None, None);
                continue;
            }
            Err(failure) => return Err(ListError::new(from, &failure)),
        };
        for slice in list.items {
            let relabelled = relabelled(client, slice, from, to).await;
            summary.add(&relabelled.result);
            on_slice(&relabelled);
        }
        if list.metadata.next.is_empty() {
            return Ok(summary);
        }
        page.continue_token = Some(list.metadata.next);
    }
}

fn selector(scope: &Scope, manager: &str) -> String {
    let managed = format!("{}={manager}", label::MANAGED_BY);
    if scope.services.is_empty() {
        return managed;
    }
    format!("{managed},{} in ({})", label::SERVICE_NAME, scope.services.join(","))
}

async fn relabelled(client: &Client, slice: Listed, from: &str, to: &str) -> Relabelled {
    let Metadata { namespace, name, labels, .. } = slice.metadata.clone();
    let service = labels.get(label::SERVICE_NAME).cloned().unwrap_or_default();
    let result = relabel(client, slice, from, to).await;
    Relabelled { namespace, slice: name, service, result }
}

async fn relabel(client: &Client, mut slice: Listed, from: &str, to: &str) -> HandoverResult {
    let path = Request::new(EndpointSlice::url_path(&(), Some(&slice.metadata.namespace)));
    let name = Arc::clone(&slice.metadata.name);
    let mut problem = String::new();
    for n in 0..TRIES {
        let patch = Patch::Merge(convert::relabel_patch(&slice.version(), to));
        let patch = path.patch(&name, &PatchParams::default(), &patch);
        problem = match ask::<watched::Written>(client, patch).await {
            Ok(_) => return HandoverResult::Done,
            Err(failure) if failure.code() == Some(409) => failure.to_string(),
            Err(failure) if failure.may_pass() => {
                tokio::time::sleep(PAUSE * 2_u32.pow(n)).await;
                failure.to_string()
            }
            Err(failure) => return failed(&failure),
        };
        // A write without a response may have succeeded: read the slice.
        slice = match ask(client, path.get(&name, &GetParams::default())).await {
            Ok(slice) => slice,
            Err(failure) if failure.may_pass() => continue,
            Err(failure) => return failed(&failure),
        };
        match slice.manager() {
            Some(manager) if manager == from => {}
            Some(manager) if manager == to => return HandoverResult::Done,
            _ => return HandoverResult::Skipped,
        }
    }
    HandoverResult::Failed(problem)
}

fn failed(failure: &Failure) -> HandoverResult {
    match failure.code() {
        Some(404) => HandoverResult::Skipped,
        _ => HandoverResult::Failed(failure.to_string()),
    }
}

// === impl Listed ===

impl Listed {
    fn version(&self) -> Version {
        let Metadata { uid, resource_version, .. } = self.metadata.clone();
        Version { uid, resource_version, generation: 0 }
    }

    fn manager(&self) -> Option<&str> {
        self.metadata.labels.get(label::MANAGED_BY).map(|name| &**name)
    }
}

// === impl Summary ===

impl Summary {
    fn add(&mut self, result: &HandoverResult) {
        match result {
            HandoverResult::Done => self.done += 1,
            HandoverResult::Skipped => self.skipped += 1,
            HandoverResult::Failed(_) => self.failed += 1,
        }
    }
}

// === impl ListError ===

impl ListError {
    fn new(manager: &'static str, failure: &Failure) -> ListError {
        ListError { manager, code: failure.code(), problem: failure.to_string() }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<&'static str> {
        match self.code {
            Some(401) => Some("log in again: the API server does not accept these credentials"),
            Some(403) => Some(
                "ask for permission; then `kubectl auth can-i list endpointslices` and `… patch …` \
                 print yes",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
