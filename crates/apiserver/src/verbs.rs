//! One file per verb. Each parses what it needs of the call, decides, writes at most once,
//! responds.

mod collection;
mod create;
mod delete;
mod evict;
mod list;
mod patch;
mod read;
mod review;
mod subresource;
mod update;
pub(crate) mod watch;

use http::Method;

pub(crate) use crate::verbs::{
    create::placed_in,
    review::{review, shown},
    subresource::bound_name,
};
use crate::{
    answer::{Answer, View},
    api::{Api, Call},
    body::Body,
    identity::User,
    status::{Failure, Result},
};

/// A review request, which is not a resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReviewRequest<'a> {
    pub(crate) plural: &'static str,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) user: &'a User,
    pub(crate) view: View,
    pub(crate) body: Body<'a>,
}

/// Handles a resource call.
pub(crate) async fn carry_out(api: &std::sync::Arc<Api>, call: &Call<'_>) -> Result<Answer> {
    let resource = call.resource;
    if !resource.subresource.is_empty() {
        return subresource::carry_out(api, call).await;
    }
    let offered = |verb: &str| resource.kind.verbs.contains(&verb);
    // Across all namespaces only reads are allowed.
    let somewhere = resource.namespace.is_some() || !resource.kind.namespaced;
    match (call.method, resource.name.is_empty()) {
        (&Method::GET, _) if resource.watch => watch::watch(api, call).await,
        (_, _) if resource.watch => Err(Failure::method_not_allowed()),
        (&Method::GET, true) if call.query.flag("watch") => watch::watch(api, call).await,
        (&Method::GET, true) => list::list(api, call).await,
        (&Method::POST, true) if somewhere && offered("create") => create::create(api, call).await,
        (&Method::DELETE, true) if somewhere && offered("deletecollection") => {
            collection::delete(api, call).await
        }
        (&Method::GET, false) => read::get(api, call).await,
        (&Method::PUT, false) if offered("update") => update::update(api, call).await,
        (&Method::PATCH, false) if offered("patch") => patch::patch(api, call).await,
        (&Method::DELETE, false) if offered("delete") => delete::delete(api, call).await,
        // Across all namespaces there is nothing to write.
        _ if resource.kind.custom.is_some() && !somewhere => Err(Failure::unknown_path()),
        _ => Err(Failure::method_not_allowed()),
    }
}

/// The verb for authorization, audit and metrics.
pub(crate) fn verb(call_method: &Method, name: &str, watch: bool) -> &'static str {
    match (call_method, name.is_empty()) {
        (&Method::GET, _) if watch => "watch",
        (&Method::GET | &Method::HEAD, true) => "list",
        (&Method::GET | &Method::HEAD, false) => "get",
        (&Method::POST, _) => "create",
        (&Method::PUT, _) => "update",
        (&Method::PATCH, _) => "patch",
        (&Method::DELETE, true) => "deletecollection",
        (&Method::DELETE, false) => "delete",
        _ => "",
    }
}
