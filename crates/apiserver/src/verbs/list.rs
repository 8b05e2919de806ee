//! `list`: a collection, whole or in pages, current or past.
//!
//! The store is in memory, so "not older than" always reads the newest state; only an exact version
//! and a continued page look back. A list is read from a view of its resource, without the lock,
//! and in steps, between which other tasks run.

mod token;

use evenkeel_store::{self as store, Listing, Page, Revision};
use serde_json::json;

use self::token::Token;
use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    invalid::{FieldError, Path, quoted},
    request::{Query, query::refuse},
    status::{Failure, Result},
};

/// Keys visited before yielding to other tasks: a fraction of a millisecond.
const PIECE: usize = 1000;

const INCONSISTENT: &str = "The provided continue parameter is too old to display a consistent \
    list result. You can start a new list without the continue parameter, or use the continue \
    token in this response to retrieve the remainder of the results. Continuing with the provided \
    token results in an inconsistent list - objects that were created, modified, or deleted \
    between the time the first chunk was returned and now may show up in the list.";

/// The start of a list.
#[derive(Debug, Default, PartialEq, Eq)]
struct Start {
    /// `None`: now.
    at: Option<Revision>,
    /// Wait for this revision first.
    reach: Option<Revision>,
    limit: usize,
    continued: Option<Token>,
}

pub(crate) async fn list(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let (page, continued) = page(api, call).await?;
    Ok(answer::list(call.kind(), page, &continued, call.view))
}

/// The requested page, and the token for the next.
pub(crate) async fn page(api: &Api, call: &Call<'_>) -> Result<(Page, String)> {
    call.query.number("timeoutSeconds")?;
    let limit = call.query.number("limit")?.unwrap_or_default();
    check(call.query)?;
    let selector = call.selector()?;
    let start = start(call.query, usize::try_from(limit).unwrap_or_default())?;
    if let Some(revision) = start.reach {
        api.storage.reach(revision).await?;
    }
    let scope = call.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let after = start.continued.as_ref().map(|token| format!("{scope}{}", token.after));
    let query = store::Query {
        resource: call.kind().id(),
        selector: &selector,
        at: start.at,
        after: after.as_deref(),
        limit: start.limit,
    };
    let known = start.continued.as_ref().and_then(|token| token.remaining);
    let view = api.storage.view(query.resource);
    let mut listing = Listing::new(&view, &query).map_err(|_| too_old(start.continued.as_ref()))?;
    if known.is_some() {
        listing = listing.uncounted();
    }
    while !listing.advance(PIECE) {
        tokio::task::yield_now().await;
    }
    let mut page = listing.page();
    let token = page.next.as_ref().map(|last| {
        let known = known.filter(|_| !selector.selects());
        let left = known.and_then(|known| known.checked_sub(page.items.len()));
        page.remaining = left.filter(|left| *left > 0).or(page.remaining);
        let after = last.strip_prefix(&*scope).unwrap_or(last).to_owned();
        Token { at: Some(page.revision), after, remaining: page.remaining }
    });
    Ok((page, token.map(|token| token.encoded()).unwrap_or_default()))
}

fn too_old(continued: Option<&Token>) -> Failure {
    match continued {
        Some(token) => {
            let next = Token { at: None, remaining: None, ..token.clone() };
            Failure::expired_token(INCONSISTENT, next.encoded())
        }
        None => Failure::expired("The resourceVersion for the provided list is too old."),
    }
}

/// The rules of `resourceVersion`, `resourceVersionMatch`, `limit` and `continue`.
fn start(query: &Query<'_>, limit: usize) -> Result<Start> {
    let version = query.text("resourceVersion");
    let continued = query.text("continue");
    if !continued.is_empty() {
        // Kubernetes' cache answers version 0 with everything, ignoring the limit.
        let limit = if version == "0" { 0 } else { limit };
        let token = Token::decoded(continued);
        let token = token
            .map_err(|wrong| Failure::bad_request(format!("invalid continue token: {wrong}")))?;
        if !matches!(version, "" | "0") {
            return Err(Failure::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return Ok(Start { at: token.at, reach: token.at, limit, continued: Some(token) });
    }
    let Some(version) = parsed_version(version)? else {
        return Ok(Start { limit, ..Start::default() });
    };
    let exact = match query.text("resourceVersionMatch") {
        "Exact" => true,
        "" => limit > 0 && version > 0,
        _ => false,
    };
    let at = exact.then_some(version);
    Ok(Start { at, reach: Some(version), limit, continued: None })
}

fn check(query: &Query<'_>) -> Result<()> {
    let mut errors = Vec::new();
    let path = || Path::root("resourceVersionMatch");
    let version = query.text("resourceVersion");
    let rule = query.text("resourceVersionMatch");
    if !rule.is_empty() {
        if version.is_empty() {
            let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(FieldError::forbidden(path(), why));
        }
        if !query.text("continue").is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(path(), why));
        }
        if !matches!(rule, "Exact" | "NotOlderThan") {
            let known = ["Exact", "NotOlderThan", ""];
            errors.push(FieldError::not_supported(path(), &json!(rule), &known));
        }
        if rule == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(path(), why));
        }
    }
    if query.has("sendInitialEvents") {
        let path = Path::root("sendInitialEvents");
        errors.push(FieldError::forbidden(path, "sendInitialEvents is forbidden for list"));
    }
    refuse("ListOptions", &errors)
}

/// A version in a query; `None` if absent. Zero is "any", which is the current one.
pub(crate) fn parsed_version(text: &str) -> Result<Option<Revision>> {
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = uint(text)
        .map_err(|problem| Failure::bad_request(format!("invalid resource version: {problem}")))?;
    Ok(Some(parsed))
}

/// Like Go's `ParseUint`, with the storage layer's error messages.
pub(crate) fn uint(text: &str) -> std::result::Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let wrong = match text.parse() {
        Ok(number) if digits => return Ok(number),
        _ if digits => "value out of range",
        _ => "invalid syntax",
    };
    let text = quoted(text);
    Err(format!(
        "resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: {wrong}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error for a list with these options, or that it is accepted.
    fn refusal(query: &str) -> String {
        let query = Query::parse(query);
        let checked = check(&query).and_then(|()| start(&query, 0));
        checked.err().map_or_else(|| "ok".to_owned(), |failure| failure.message().to_owned())
    }

    const UNLESS: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless \
                          resourceVersion is provided";
    const CONTINUED: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden \
                             when continue is provided";
    const UNKNOWN: &str = "resourceVersionMatch: Unsupported value: \"x\": supported values: \
                           \"Exact\", \"NotOlderThan\", \"\"";
    const ZERO: &str = "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is \
                        forbidden for resourceVersion \"0\"";
    const INITIAL: &str = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";

    /// Source: `internalversion/validation/validation.go`, `ValidateListOptions`.
    #[test]
    fn options_of_a_list_that_contradict_each_other_are_refused_as_kubernetes_does() {
        let token = Token { at: Some(1), after: "a".into(), remaining: None }.encoded();
        let continued = format!("&continue={token}");
        let table: [(&str, &[&str]); 16] = [
            ("resourceVersion=5", &[]),
            ("resourceVersion=5&resourceVersionMatch=", &[]),
            ("resourceVersion=5&resourceVersionMatch=Exact", &[]),
            ("resourceVersion=0&resourceVersionMatch=NotOlderThan", &[]),
            ("resourceVersionMatch=Exact", &[UNLESS]),
            ("resourceVersionMatch=NotOlderThan", &[UNLESS]),
            ("resourceVersion=0&resourceVersionMatch=Exact", &[ZERO]),
            ("resourceVersion=5&resourceVersionMatch=x", &[UNKNOWN]),
            ("resourceVersionMatch=x", &[UNLESS, UNKNOWN]),
            ("resourceVersionMatch=Exact+continue", &[UNLESS, CONTINUED]),
            ("resourceVersion=0&resourceVersionMatch=NotOlderThan+continue", &[CONTINUED]),
            ("resourceVersion=0&resourceVersionMatch=Exact+continue", &[CONTINUED, ZERO]),
            ("resourceVersionMatch=x+continue", &[UNLESS, CONTINUED, UNKNOWN]),
            ("sendInitialEvents=true", &[INITIAL]),
            ("sendInitialEvents=false", &[INITIAL]),
            ("sendInitialEvents=&resourceVersionMatch=Exact", &[UNLESS, INITIAL]),
        ];
        for (query, errors) in table {
            let told = match errors {
                [] => "ok".to_owned(),
                [one] => format!("ListOptions.meta.k8s.io \"\" is invalid: {one}"),
                more => format!("ListOptions.meta.k8s.io \"\" is invalid: [{}]", more.join(", ")),
            };
            assert_eq!(refusal(&query.replace("+continue", &continued)), told, "{query}");
        }
        let with_version = "specifying resource version is not allowed when using continue";
        assert_eq!(refusal(&format!("resourceVersion=5{continued}")), with_version);
        assert_eq!(refusal(&format!("resourceVersion=0{continued}")), "ok");
        assert!(refusal("continue=!").starts_with("invalid continue token: continue key is not"));
    }

    #[test]
    fn a_continued_list_waits_for_the_revision_of_its_token() {
        let token = Token { at: Some(9), after: "a".into(), remaining: None };
        let query = format!("continue={}&limit=1", token.encoded());
        let start = start(&Query::parse(&query), 1).unwrap();
        assert_eq!((start.at, start.reach), (Some(9), Some(9)));
    }
}
