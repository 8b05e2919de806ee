//! `get`: one object.

use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    status::{Failure, Result},
    verbs::list::parsed_version,
};

pub(crate) async fn get(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    if let Some(version) = parsed_version(call.query.text("resourceVersion"))? {
        api.storage.reach(version).await?;
    }
    let name = &call.resource.name;
    let object = api.storage.object(kind.stored_kind(), &call.key(name));
    let object = object.ok_or_else(|| Failure::not_found(kind, name))?;
    Ok(answer::object(200, kind, &object, call.view))
}
