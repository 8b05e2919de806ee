//! `deletecollection`: all that a selector chooses.

use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    status::Result,
    verbs::{delete, list},
};

/// Answers with the objects as they were before.
pub(crate) async fn delete(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    let options = delete::options(call)?;
    let (page, continued) = list::page(api, call).await?;
    for object in &page.items {
        let removed =
            delete::remove(api, kind.stored_kind(), &object.key, &options, call.now()).await;
        match removed {
            // Gone already: that is what was asked for.
            Err(failure) if failure.code == 404 => {}
            other => drop(other?),
        }
    }
    Ok(answer::list(kind, page, &continued, call.view))
}
