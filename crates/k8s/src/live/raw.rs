//! Services as the API server has them, field by field.

use k8s_openapi::api::core::v1::Service;
use kube::{
    Client, Resource,
    api::{ListParams, Request},
    core::ListMeta,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    LiveError, Scope,
    list::{PAGE, origin},
};
use crate::RawServices;

#[derive(Debug, Deserialize)]
struct Page {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default)]
    items: Vec<Map<String, Value>>,
}

/// The Services that `scope` covers.
pub async fn raw_services(client: &Client, scope: &Scope) -> Result<RawServices, LiveError> {
    let (namespace, all) = match scope {
        Scope::Service(key) => {
            let one = format!("metadata.name={}", key.name);
            (Some(&*key.namespace), ListParams::default().fields(&one))
        }
        Scope::Namespace(name) => (Some(name.as_str()), ListParams::default()),
        Scope::AllNamespaces => (None, ListParams::default()),
    };
    let request = Request::new(Service::url_path(&(), namespace));
    let failed = |error| LiveError::request("services", error);
    let mut services = RawServices::default();
    let mut params = all.clone().limit(PAGE);
    loop {
        let http =
            request.list(&params).map_err(|error| failed(kube::Error::BuildRequest(error)))?;
        let page: Page = match client.request(http).await {
            Ok(page) => page,
            // The token outlived the API server's memory: start over, all in one answer.
            Err(kube::Error::Api(status))
                if status.code == 410 && params.continue_token.is_some() =>
            {
                services = RawServices::default();
                params = all.clone();
                continue;
            }
            Err(error) => return Err(failed(error)),
        };
        page.items.into_iter().for_each(|fields| services.add(origin(), fields));
        match page.metadata.continue_ {
            Some(token) if !token.is_empty() => params.continue_token = Some(token),
            _ => return Ok(services),
        }
    }
}
