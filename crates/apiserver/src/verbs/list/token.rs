//! Continue tokens: where a list continues.
//!
//! A token has the format of Kubernetes' own: the revision and the last key, relative to what is
//! listed, so that none leads outside. Ours also contain the number of remaining objects, which
//! saves counting them for each page. A client that forges a token only deceives itself.
//!
//! Source: `k8s.io/apiserver/pkg/storage/continue.go`.

use base64::{DecodeError, Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use evenkeel_store::Revision;
use serde_json::{Value, json};

/// The version of our tokens, the same as Kubernetes'.
const VERSION: &str = "meta.k8s.io/v1";

/// The revision in a token that continues at the current state.
const ANY_REVISION: i64 = -1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// `None`: the current state.
    pub(super) at: Option<Revision>,
    /// Relative to what is listed.
    pub(super) after: String,
    /// The number of remaining objects, if known.
    pub(super) remaining: Option<usize>,
}

impl Token {
    pub(super) fn encoded(&self) -> String {
        let revision = self.at.and_then(|at| i64::try_from(at).ok()).unwrap_or(ANY_REVISION);
        let mut token = json!({"v": VERSION, "rv": revision, "start": self.after});
        if let Some(remaining) = self.remaining {
            token["remaining"] = remaining.into();
        }
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    /// The error is the text after "invalid continue token: ".
    pub(super) fn decoded(text: &str) -> Result<Token, String> {
        Token::read(text).map_err(|wrong| format!("continue key is not valid: {wrong}"))
    }

    fn read(text: &str) -> Result<Token, String> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|problem| illegal(text, &problem))?;
        let token: Value = serde_json::from_slice(&bytes).map_err(|problem| problem.to_string())?;
        let Value::Object(fields) = &token else {
            return Err(mismatch(&token, "value of type storage.continueToken"));
        };
        let field = |name: &str| fields.get(name).unwrap_or(&Value::Null);
        let (version, revision) = (text_of(field("v"), "v")?, number_of(field("rv"), "rv")?);
        let (start, remaining) = (text_of(field("start"), "start")?, field("remaining").as_u64());
        if version != VERSION {
            return Err(format!("server does not recognize this encoded version {version}"));
        }
        match (revision, start) {
            (0, _) => {
                return Err(format!("incorrect encoded start resourceVersion (version {VERSION})"));
            }
            (_, "") => return Err(format!("encoded start key empty (version {VERSION})")),
            _ => {}
        }
        if !is_clean(start) {
            return Err(start.to_owned());
        }
        Ok(Token {
            at: Revision::try_from(revision).ok(),
            after: start.strip_prefix('/').unwrap_or(start).to_owned(),
            remaining: remaining.and_then(|remaining| usize::try_from(remaining).ok()),
        })
    }
}

fn illegal(text: &str, problem: &DecodeError) -> String {
    let at = match problem {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => *at,
        _ => text.len() / 4 * 4,
    };
    format!("illegal base64 data at input byte {at}")
}

/// Whether a key is in canonical form: Go's `path.Clean` would not change it.
fn is_clean(key: &str) -> bool {
    let key = key.strip_prefix('/').unwrap_or(key);
    key.is_empty() || key.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

fn text_of<'a>(value: &'a Value, name: &str) -> Result<&'a str, String> {
    match value {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        other => Err(mismatch(other, &format!("struct field continueToken.{name} of type string"))),
    }
}

fn number_of(value: &Value, name: &str) -> Result<i64, String> {
    let of = || format!("struct field continueToken.{name} of type int64");
    match value {
        Value::Null => Ok(0),
        Value::Number(number) => number
            .as_i64()
            .ok_or_else(|| format!("json: cannot unmarshal number {number} into Go {}", of())),
        other => Err(mismatch(other, &of())),
    }
}

/// In the wording of Go's decoder.
fn mismatch(value: &Value, of: &str) -> String {
    let what = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {what} into Go {of}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_contains_where_and_at_which_revision_a_list_continues() {
        for (at, remaining) in [(Some(7), Some(3)), (Some(7), None), (None, None)] {
            let token = Token { at, after: "default/a".to_owned(), remaining };
            assert_eq!(Token::decoded(&token.encoded()), Ok(token));
        }
    }

    #[test]
    fn a_bad_token_is_refused_in_the_words_of_kubernetes() {
        let version = "meta.k8s.io/v1";
        let encoded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let token =
            |rv: Value, start: Value| encoded(json!({"v": version, "rv": rv, "start": start}));
        let int = "of type int64";
        let table = [
            ("a!".to_owned(), "illegal base64 data at input byte 1".to_owned()),
            ("a".to_owned(), "illegal base64 data at input byte 0".to_owned()),
            (
                token(json!(0), json!("a")),
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)".to_owned(),
            ),
            (token(json!(1), json!("")), "encoded start key empty (version meta.k8s.io/v1)".into()),
            (
                encoded(json!({"v": "v9", "rv": 1, "start": "a"})),
                "server does not recognize this encoded version v9".to_owned(),
            ),
            (encoded(json!({})), "server does not recognize this encoded version ".to_owned()),
            (
                encoded(json!([])),
                "json: cannot unmarshal array into Go value of type storage.continueToken".into(),
            ),
            (
                token(json!("1"), json!("a")),
                format!(
                    "json: cannot unmarshal string into Go struct field continueToken.rv {int}"
                ),
            ),
            (
                token(json!(u64::MAX), json!("a")),
                format!(
                    "json: cannot unmarshal number {} into Go struct field continueToken.rv {int}",
                    u64::MAX
                ),
            ),
            (
                token(json!(1), json!(["a"])),
                "json: cannot unmarshal array into Go struct field continueToken.start of type \
                 string"
                    .to_owned(),
            ),
            (token(json!(1), json!("../a")), "../a".to_owned()),
            (token(json!(1), json!("a/../../b")), "a/../../b".to_owned()),
            (token(json!(1), json!("a//b")), "a//b".to_owned()),
            (token(json!(1), json!("a/")), "a/".to_owned()),
            (token(json!(1), json!("./a")), "./a".to_owned()),
        ];
        for (token, words) in table {
            let read = Token::decoded(&token);
            assert_eq!(read, Err(format!("continue key is not valid: {words}")), "{token}");
        }
    }

    #[test]
    fn any_negative_revision_continues_at_the_current_state() {
        for revision in [-1, -7, i64::MIN] {
            let token = json!({"v": VERSION, "rv": revision, "start": "/a", "remaining": -3});
            let token = Token::decoded(&URL_SAFE_NO_PAD.encode(token.to_string()));
            assert_eq!(token, Ok(Token { at: None, after: "a".to_owned(), remaining: None }));
        }
    }
}
