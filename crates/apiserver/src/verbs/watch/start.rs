//! Where a watch begins: the rules of `resourceVersion`, `sendInitialEvents` and bookmarks.

use evenkeel_store::Revision;
use serde_json::json;

use crate::{
    invalid::{FieldError, Path},
    request::{Query, query::refuse},
    status::{Failure, Result},
    verbs::list::uint,
};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// All that is there comes first.
    Present,
    After(Revision),
    Now,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) start: Start,
    pub(super) bookmarks: bool,
    /// A bookmark says where the present ends.
    pub(super) ends_with_bookmark: bool,
}

pub(super) fn start(query: &Query<'_>) -> Result<Asked> {
    check(query)?;
    let bookmarks = query.flag("allowWatchBookmarks");
    let version = match query.text("resourceVersion") {
        "" => None,
        text => Some(uint(text).map_err(Failure::internal)?),
    };
    let initial = query.has("sendInitialEvents").then(|| query.flag("sendInitialEvents"));
    let start = match (initial, version) {
        (Some(true), _) | (None, None | Some(0)) => Start::Present,
        (Some(false), None | Some(0)) => Start::Now,
        (_, Some(version)) => Start::After(version),
    };
    // Kubernetes' cache closes its start at version 0 with a bookmark for those who take them.
    let ends_with_bookmark =
        bookmarks && start == Start::Present && (initial == Some(true) || version == Some(0));
    Ok(Asked { start, bookmarks, ends_with_bookmark })
}

fn check(query: &Query<'_>) -> Result<()> {
    let mut errors = Vec::new();
    let path = || Path::root("resourceVersionMatch");
    let rule = query.text("resourceVersionMatch");
    let initial = query.has("sendInitialEvents");
    if initial && rule != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(path(), why));
    }
    if !rule.is_empty() {
        if !initial {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is \
                       provided";
            errors.push(FieldError::forbidden(path(), why));
        }
        if rule != "NotOlderThan" {
            errors.push(FieldError::not_supported(path(), &json!(rule), &["NotOlderThan"]));
        }
        if !query.text("continue").is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(path(), why));
        }
    }
    refuse("ListOptions", &errors)
}
