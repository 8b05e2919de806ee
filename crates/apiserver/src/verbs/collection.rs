//! `deletecollection`: all objects that a selector matches.

use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    registry::Target,
    status::Result,
    verbs::{delete, list},
};

/// Responds with the objects as they were before.
pub(crate) async fn delete(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    let options = delete::options(call)?;
    let (page, continued) = list::page(api, call).await?;
    let target = |key: &str| Target {
        kind: kind.stored_kind().clone(),
        key: key.into(),
        options: options.clone(),
    };
    let targets: Vec<Target> = page.items.iter().map(|object| target(&object.key)).collect();
    let failures = call.registry(api, options.dry_run).delete_each(&targets).await;
    if let Some((_, failure)) = failures.into_iter().next() {
        return Err(failure.into());
    }
    Ok(answer::list(kind, page, &continued, call.view))
}
