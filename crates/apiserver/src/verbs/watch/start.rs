//! Where a watch starts: the rules of `resourceVersion`, `sendInitialEvents` and bookmarks.

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
    /// All existing objects come first.
    Present,
    After(Revision),
    Now,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct WatchOptions {
    pub(super) start: Start,
    /// Wait for this revision first.
    pub(super) reach: Option<Revision>,
    pub(super) bookmarks: bool,
    /// A bookmark marks the end of the initial events.
    pub(super) ends_with_bookmark: bool,
}

pub(super) fn watch_options(query: &Query<'_>) -> Result<WatchOptions> {
    for number in ["timeoutSeconds", "limit"] {
        query.number(number)?;
    }
    let initial = initial(query);
    check(query, initial)?;
    let bookmarks = query.flag("allowWatchBookmarks");
    let version = match query.text("resourceVersion") {
        "" => None,
        text => Some(uint(text).map_err(Failure::internal)?),
    };
    let start = match (initial, version) {
        (Some(true), _) => Start::Present,
        (_, None | Some(0)) => Start::Now,
        (_, Some(version)) => Start::After(version),
    };
    let present = start == Start::Present;
    let reach = version.filter(|_| present);
    Ok(WatchOptions { start, reach, bookmarks, ends_with_bookmark: bookmarks && present })
}

/// Whether the existing objects come first. They do if no particular version is requested. Source:
/// `internalversion/defaults.go`.
fn initial(query: &Query<'_>) -> Option<bool> {
    if query.has("sendInitialEvents") {
        return Some(query.flag("sendInitialEvents"));
    }
    let any = matches!(query.text("resourceVersion"), "" | "0");
    (any && query.text("resourceVersionMatch").is_empty()).then_some(true)
}

/// Source: `internalversion/validation/validation.go`, `validateWatchOptions`.
fn check(query: &Query<'_>, initial: Option<bool>) -> Result<()> {
    let mut errors = Vec::new();
    let path = || Path::root("resourceVersionMatch");
    let rule = match query.text("resourceVersionMatch") {
        // It is implied by initial events that were not explicitly requested.
        "" if initial.is_some() && !query.has("sendInitialEvents") => "NotOlderThan",
        rule => rule,
    };
    if initial.is_some() && rule != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(path(), why));
    }
    if !rule.is_empty() {
        if initial.is_none() {
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

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRES: &str = "resourceVersionMatch: Forbidden: sendInitialEvents requires setting \
                            resourceVersionMatch to NotOlderThan";
    const UNLESS: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for \
                          watch unless sendInitialEvents is provided";
    const CONTINUED: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden \
                             when continue is provided";
    const EXACT: &str = "resourceVersionMatch: Unsupported value: \"Exact\": supported values: \
                         \"NotOlderThan\"";

    #[test]
    fn options_of_a_watch_that_contradict_each_other_are_refused_as_kubernetes_does() {
        let table: [(&str, &[&str]); 14] = [
            ("resourceVersionMatch=NotOlderThan", &[UNLESS]),
            ("resourceVersionMatch=NotOlderThan&resourceVersion=5", &[UNLESS]),
            ("resourceVersionMatch=Exact", &[UNLESS, EXACT]),
            (
                "resourceVersionMatch=Exact&resourceVersion=5&continue=x",
                &[UNLESS, EXACT, CONTINUED],
            ),
            ("sendInitialEvents=true", &[REQUIRES]),
            ("sendInitialEvents=false", &[REQUIRES]),
            ("sendInitialEvents", &[REQUIRES]),
            ("sendInitialEvents=true&resourceVersion=5", &[REQUIRES]),
            ("sendInitialEvents=true&resourceVersionMatch=Exact", &[REQUIRES, EXACT]),
            ("sendInitialEvents=false&resourceVersionMatch=Exact", &[REQUIRES, EXACT]),
            ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x", &[CONTINUED]),
            ("continue=x", &[CONTINUED]),
            ("continue=x&resourceVersion=0", &[CONTINUED]),
            ("sendInitialEvents=true&continue=x", &[REQUIRES]),
        ];
        for (query, errors) in table {
            let failure = watch_options(&Query::parse(query)).expect_err(query);
            let errors = match errors {
                [one] => (*one).to_owned(),
                more => format!("[{}]", more.join(", ")),
            };
            let told = format!("ListOptions.meta.k8s.io \"\" is invalid: {errors}");
            assert_eq!((failure.code, failure.message()), (422, &*told), "{query}");
        }
    }

    #[test]
    fn numbers_of_a_watch_are_read_before_anything_else() {
        for (query, word) in [
            ("limit=x&sendInitialEvents=true", "\"x\""),
            ("timeoutSeconds=1.5&sendInitialEvents=true", "\"1.5\""),
            ("timeoutSeconds=", "\"\""),
        ] {
            let failure = watch_options(&Query::parse(query)).expect_err(query);
            let told = format!("strconv.ParseInt: parsing {word}: invalid syntax");
            assert_eq!((failure.code, failure.message()), (400, &*told), "{query}");
        }
    }

    #[test]
    fn a_watch_starts_according_to_its_options() {
        let initial = "resourceVersionMatch=NotOlderThan&sendInitialEvents";
        let table = [
            (String::new(), Start::Present, None),
            ("resourceVersion=0".to_owned(), Start::Present, Some(0)),
            ("resourceVersion=5".to_owned(), Start::After(5), None),
            ("resourceVersion=5&continue=x&limit=3".to_owned(), Start::After(5), None),
            (format!("{initial}=true"), Start::Present, None),
            (initial.to_owned(), Start::Present, None),
            (format!("{initial}=1&resourceVersion=0"), Start::Present, Some(0)),
            (format!("{initial}=true&resourceVersion=5"), Start::Present, Some(5)),
            (format!("{initial}=false"), Start::Now, None),
            (format!("{initial}=false&resourceVersion=0"), Start::Now, None),
            (format!("{initial}=0&resourceVersion=5"), Start::After(5), None),
        ];
        for (query, begins, reach) in table {
            for bookmarks in [false, true] {
                let query = format!("{query}&allowWatchBookmarks={bookmarks}");
                let options = watch_options(&Query::parse(&query)).unwrap();
                assert_eq!((&options.start, options.reach), (&begins, reach), "{query}");
                assert_eq!(options.bookmarks, bookmarks);
                assert_eq!(options.ends_with_bookmark, bookmarks && begins == Start::Present);
            }
        }
    }
}
