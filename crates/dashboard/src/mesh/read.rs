//! One read of the admin pages. The peer may lie, stall or reset: time and size are bounded by `scrape`, and what
//! it says is parsed into types that are bounded, too.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_admin::scrape;
use http::StatusCode;
use serde::de::DeserializeOwned;
use tokio::{task::spawn_blocking, try_join};

use super::{ProxyName, Shown};
use crate::view::mesh::{self, Inspection, Mesh};

#[derive(Debug, Default)]
pub(super) struct Known {
    pub mesh: Mesh,
    pub inspected: BTreeMap<ProxyName, Inspected>,
}

/// What became of asking for a proxy.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Inspected {
    Found(Arc<Inspection>),
    Missing,
    Failed(String),
}

/// The mesh, and these proxies.
pub(super) async fn read(url: &str, wanted: Vec<ProxyName>) -> Result<Shown, String> {
    let (proxies, propagation, policies) = try_join!(
        page(url, "/mesh/proxies"),
        page(url, "/mesh/propagation"),
        page(url, "/mesh/policies"),
    )?;
    let mut inspected = BTreeMap::new();
    for name in wanted {
        let found = inspect(url, &name).await;
        inspected.insert(name, found);
    }
    let mesh = Mesh { proxies, propagation, policies };
    let view = move || {
        let page = serde_json::to_string(&mesh::page(&mesh)).map_err(|error| error.to_string())?;
        Ok(Shown { page: page.into(), known: Arc::new(Known { mesh, inspected }) })
    };
    spawn_blocking(view).await.unwrap_or_else(|error| Err(error.to_string()))
}

pub(super) async fn inspect(url: &str, ProxyName { mesh, dataplane }: &ProxyName) -> Inspected {
    // Those of Kubernetes are; another is none that the admin pages can be asked for.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '.', '_'].contains(&c);
    if ![mesh, dataplane].iter().all(|name| name.chars().all(is_plain)) {
        return Inspected::Missing;
    }
    match ask(url, &format!("/mesh/inspect?dataplane={mesh}/{dataplane}")).await {
        Ok(Some(inspection)) => Inspected::Found(Arc::new(inspection)),
        Ok(None) => Inspected::Missing,
        Err(problem) => Inspected::Failed(problem),
    }
}

/// A page that every control plane has.
async fn page<T>(url: &str, path: &str) -> Result<T, String>
where
    T: DeserializeOwned + Send + 'static,
{
    ask(url, path).await?.ok_or_else(|| format!("{url} has no {path}: it is not a control plane"))
}

/// `None`: it does not know what is asked for.
async fn ask<T>(url: &str, path: &str) -> Result<Option<T>, String>
where
    T: DeserializeOwned + Send + 'static,
{
    let (status, text) = scrape::ask(&format!("{url}{path}")).await?;
    match status {
        // Many megabytes may take long, and other tasks are not to wait for it.
        StatusCode::OK => spawn_blocking(move || mesh::parse(&text).map(Some))
            .await
            .unwrap_or_else(|error| Err(error.to_string())),
        StatusCode::NOT_FOUND => Ok(None),
        status => Err(format!("HTTP status {status}")),
    }
}
