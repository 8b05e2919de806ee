//! The custom resources of `kuma.io`, read once.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams},
};
use serde_json::{Value, json};

use super::{LiveError, list::PAGE};
use crate::watched::MeshKind;

/// All objects of these kinds, as they are written. A kind whose definition is not installed has none.
pub async fn mesh_objects(client: &Client, kinds: &[MeshKind]) -> Result<Vec<Value>, LiveError> {
    let mut objects = Vec::new();
    for kind in kinds {
        match list(client, *kind, &mut objects).await {
            Err(LiveError::Refused { code: 404, .. }) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(objects)
}

/// The resource of a kind in the API.
pub fn mesh_resource(kind: MeshKind) -> ApiResource {
    ApiResource {
        group: MeshKind::GROUP.to_owned(),
        version: MeshKind::VERSION.to_owned(),
        api_version: MeshKind::API_VERSION.to_owned(),
        kind: kind.name().to_owned(),
        plural: kind.plural().to_owned(),
    }
}

async fn list(client: &Client, kind: MeshKind, into: &mut Vec<Value>) -> Result<(), LiveError> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &mesh_resource(kind));
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let listed = api.list(&page).await;
        let listed = listed.map_err(|error| LiveError::request(kind.plural(), error))?;
        into.extend(listed.items.into_iter().map(|object| written(kind, object)));
        match listed.metadata.continue_ {
            Some(token) if !token.is_empty() => page.continue_token = Some(token),
            _ => return Ok(()),
        }
    }
}

/// Items of a list need not have kind and version.
fn written(kind: MeshKind, object: DynamicObject) -> Value {
    let mut value = object.data;
    if !value.is_object() {
        value = json!({});
    }
    value["apiVersion"] = MeshKind::API_VERSION.into();
    value["kind"] = kind.name().into();
    value["metadata"] = json!(object.metadata);
    value
}
