//! `list`: a collection, whole or in pages, now or as it was.
//!
//! The memory is the store, so "not older than" is always the newest state; only an exact version
//! and a continued page look back. A continue token carries the revision and the last key; it is
//! opaque, and one that does not decode is refused.

use base64::{DecodeError, Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use evenkeel_store::{self as store, Page, Revision};
use serde_json::{Value, json};

use crate::{
    answer::{self, Answer},
    api::{Api, Call},
    invalid::{FieldError, Path, quoted},
    request::{Query, query::refuse},
    status::{Failure, Result},
};

/// The version of our tokens, which is that of Kubernetes' own.
const VERSION: &str = "meta.k8s.io/v1";

/// The revision in a token that goes on at whatever there is.
const ANY_REVISION: i64 = -1;

const INCONSISTENT: &str = "The provided continue parameter is too old to display a consistent \
    list result. You can start a new list without the continue parameter, or use the continue \
    token in this response to retrieve the remainder of the results. Continuing with the provided \
    token results in an inconsistent list - objects that were created, modified, or deleted \
    between the time the first chunk was returned and now may show up in the list.";

/// Where a list starts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// `None`: now.
    at: Option<Revision>,
    after: Option<String>,
    limit: usize,
    /// Wait for this revision first.
    reach: Option<Revision>,
}

pub(crate) async fn list(api: &Api, call: &Call<'_>) -> Result<Answer> {
    let (page, continued) = page(api, call).await?;
    Ok(answer::list(call.kind(), page, &continued, call.view))
}

/// The page that a call asks for, and the token for the next.
pub(crate) async fn page(api: &Api, call: &Call<'_>) -> Result<(Page, String)> {
    call.query.number("timeoutSeconds")?;
    let start = start(call.query)?;
    let selector = call.selector()?;
    if let Some(revision) = start.reach {
        api.storage.reach(revision).await?;
    }
    let query = store::Query {
        resource: call.kind().id(),
        selector: &selector,
        at: start.at,
        after: start.after.as_deref(),
        limit: start.limit,
    };
    let page = store::list(&api.storage.state(), &query);
    let page = page.map_err(|_| match &start.after {
        Some(key) => Failure::expired_token(INCONSISTENT, token(ANY_REVISION, key)),
        None => Failure::expired("The resourceVersion for the provided list is too old."),
    })?;
    let revision = i64::try_from(page.revision).expect("fewer writes than 2^63");
    let continued = page.next.as_ref().map(|key| token(revision, key)).unwrap_or_default();
    Ok((page, continued))
}

/// The rules of `resourceVersion`, `resourceVersionMatch`, `limit` and `continue`.
fn start(query: &Query<'_>) -> Result<Start> {
    let limit = query.number("limit")?.unwrap_or_default();
    let limit = usize::try_from(limit).unwrap_or_default();
    check(query)?;
    let version = query.text("resourceVersion");
    let continued = query.text("continue");
    if !continued.is_empty() {
        // Kubernetes' cache answers version 0 with everything that follows.
        let limit = if version == "0" { 0 } else { limit };
        let (at, after) = parsed_token(continued).map_err(|wrong| {
            Failure::bad_request(format!(
                "invalid continue token: continue key is not valid{wrong}"
            ))
        })?;
        if !matches!(version, "" | "0") {
            return Err(Failure::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return Ok(Start { at, after: Some(after), limit, reach: None });
    }
    let Some(version) = parsed_version(version)? else {
        return Ok(Start { limit, ..Start::default() });
    };
    let exact = match query.text("resourceVersionMatch") {
        "Exact" => true,
        "" => limit > 0 && version > 0,
        _ => false,
    };
    Ok(Start { at: exact.then_some(version), after: None, limit, reach: Some(version) })
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

/// A version in a query; `None` where none is given. Zero is "any", which is now.
pub(crate) fn parsed_version(text: &str) -> Result<Option<Revision>> {
    if text.is_empty() {
        return Ok(None);
    }
    let parsed = uint(text)
        .map_err(|problem| Failure::bad_request(format!("invalid resource version: {problem}")))?;
    Ok(Some(parsed))
}

/// As Go's `ParseUint`, with the words of the storage layer.
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

fn token(revision: i64, key: &str) -> String {
    let token = json!({"v": VERSION, "rv": revision, "start": key});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

/// The revision of a token, `None` for any, and the key; or what is wrong with it.
fn parsed_token(token: &str) -> std::result::Result<(Option<Revision>, String), String> {
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|problem| match problem {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => {
            format!(": illegal base64 data at input byte {at}")
        }
        _ => format!(": illegal base64 data at input byte {}", token.len() / 4 * 4),
    })?;
    let token: Value = serde_json::from_slice(&bytes).map_err(|problem| format!(": {problem}"))?;
    if token["v"] != VERSION {
        let version = token["v"].as_str().unwrap_or_default();
        return Err(format!(": server does not recognize this encoded version {version}"));
    }
    let wrong = |what| Err(format!(": {what} (version {VERSION})"));
    let revision = match token["rv"].as_i64().unwrap_or_default() {
        0 => return wrong("incorrect encoded start resourceVersion"),
        revision => Revision::try_from(revision).ok(),
    };
    match token["start"].as_str().unwrap_or_default() {
        "" => wrong("encoded start key empty"),
        start => Ok((revision, start.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_where_and_at_which_revision_a_list_goes_on() {
        for (revision, at) in [(7, Some(7)), (ANY_REVISION, None)] {
            let read = parsed_token(&token(revision, "default/a")).expect("a good token");
            assert_eq!(read, (at, "default/a".to_owned()));
        }
    }

    #[test]
    fn a_bad_token_is_refused_in_the_words_of_kubernetes() {
        let encoded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let table = [
            ("a!".to_owned(), "continue key is not valid: illegal base64 data at input byte 1"),
            ("a".to_owned(), "continue key is not valid: illegal base64 data at input byte 0"),
            (
                encoded(json!({"v": "meta.k8s.io/v1", "rv": 0, "start": "a"})),
                "continue key is not valid: incorrect encoded start resourceVersion (version \
                 meta.k8s.io/v1)",
            ),
            (
                encoded(json!({"v": "meta.k8s.io/v1", "rv": 1, "start": ""})),
                "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
            ),
            (
                encoded(json!({"v": "v9", "rv": 1, "start": "a"})),
                "continue key is not valid: server does not recognize this encoded version v9",
            ),
        ];
        for (token, words) in table {
            let text = format!("continue={token}&limit=1");
            let failure = start(&Query::parse(&text)).expect_err("a bad token");
            assert_eq!(failure.message(), format!("invalid continue token: {words}"));
        }
    }
}
