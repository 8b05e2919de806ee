//! Objects as the API server has them, field by field.

use k8s_openapi::api::{
    core::v1::Service,
    flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration},
};
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
    let mut services = RawServices::default();
    for fields in list("services", Service::url_path(&(), namespace), all, client).await? {
        services.add(origin(), fields);
    }
    Ok(services)
}

/// The objects of flow control.
#[derive(Debug, Default)]
pub struct FlowControl {
    pub levels: Vec<Value>,
    pub schemas: Vec<Value>,
}

/// All FlowSchemas and PriorityLevelConfigurations.
pub async fn flow_control(client: &Client) -> Result<FlowControl, LiveError> {
    let read = async |what, path| {
        let listed = list(what, path, ListParams::default(), client).await?;
        Ok::<_, LiveError>(listed.into_iter().map(Value::Object).collect())
    };
    Ok(FlowControl {
        levels: read(LEVELS, PriorityLevelConfiguration::url_path(&(), None)).await?,
        schemas: read(SCHEMAS, FlowSchema::url_path(&(), None)).await?,
    })
}

const LEVELS: &str = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io";
const SCHEMAS: &str = "flowschemas.flowcontrol.apiserver.k8s.io";

/// All pages of a list.
async fn list(
    what: &'static str,
    path: String,
    all: ListParams,
    client: &Client,
) -> Result<Vec<Map<String, Value>>, LiveError> {
    let request = Request::new(path);
    let failed = |error| LiveError::request(what, error);
    let mut objects = Vec::new();
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
                objects.clear();
                params = all.clone();
                continue;
            }
            Err(error) => return Err(failed(error)),
        };
        objects.extend(page.items);
        match page.metadata.continue_ {
            Some(token) if !token.is_empty() => params.continue_token = Some(token),
            _ => return Ok(objects),
        }
    }
}
