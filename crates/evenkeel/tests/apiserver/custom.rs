//! Custom resources with the unmodified `kube` client.

mod controller;
mod dynamic;
mod lamp;
mod promptly;
mod strategy;
mod successors;

use std::{future::Future, time::Duration};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PostParams},
    runtime::wait::{await_condition, conditions},
};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn in_time<F: Future>(what: &str, future: F) -> F::Output {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("{what} took longer than {PATIENCE:?}"))
}

/// Creates a definition and waits until it is established.
async fn define(client: &Client, definition: &CustomResourceDefinition) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    api.create(&PostParams::default(), definition).await.unwrap();
    let established = await_condition(
        api,
        definition.metadata.name.as_deref().unwrap(),
        conditions::is_crd_established(),
    );
    in_time("establishing", established).await.unwrap();
}

/// Deletes a definition and waits until it is gone.
async fn undefine(client: &Client, definition: &CustomResourceDefinition) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.name_any();
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    let gone =
        await_condition(api, &name, |found: Option<&CustomResourceDefinition>| found.is_none());
    in_time("the end of the definition", gone).await.unwrap();
}
