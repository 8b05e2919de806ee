//! `fieldPath` of a rule: the field that is reported, `.spec.ports['http']`.
//!
//! Source: `ValidFieldPath` in `apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go`.

use crate::schema::Schema;

/// The path of a field relative to a schema, as field errors print it, and its schema; the error
/// says why it is no valid path. With `is_simple`, only names separated by dots are allowed, as in
/// `selectableFields`.
pub fn field_path<'s>(
    text: &str,
    schema: &'s Schema,
    is_simple: bool,
) -> Result<(String, &'s Schema), String> {
    let (mut path, mut schema) = (String::new(), schema);
    let mut tokens = Tokens(text);
    let ended = || "unexpected end of JSON path".to_owned();
    while let Some(token) = tokens.next() {
        let name = match token {
            "[" if is_simple => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let name = unquoted(tokens.next().ok_or_else(ended)?)?;
                let end = tokens.next().ok_or_else(ended)?;
                (end == "]").then_some(name).ok_or_else(|| format!("expected ] but got {end}"))?
            }
            "." => tokens.next().ok_or_else(ended)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let invalid = || "does not refer to a valid field".to_owned();
        if schema.properties.is_empty() {
            schema = schema.additional_properties().ok_or_else(invalid)?;
            path.push_str(&format!("[{name}]"));
        } else {
            schema = schema.properties.get(&name).ok_or_else(invalid)?;
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&name);
        }
    }
    Ok((path, schema))
}

fn unquoted(token: &str) -> Result<String, String> {
    let inner = token.strip_prefix('\'').and_then(|token| token.strip_suffix('\''));
    let Some(inner) = inner.filter(|_| token.len() >= 2) else {
        return Err(format!("expected single quoted string but got {token}"));
    };
    let mut text = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        let escape = if c == '\\' { characters.next() } else { None };
        text.push(match escape {
            None => c,
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(c @ ('\'' | '\\')) => c,
            Some(c) => return Err(format!("invalid string literal: invalid escape char \\{c}")),
        });
    }
    Ok(text)
}

/// Splits a path at `.`, `[` and `]`, which are tokens; a quoted text is one token.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let delimiter = |c: char| matches!(c, '.' | '[' | ']');
        let end = if self.0.starts_with('\'') {
            let bytes = self.0.as_bytes();
            (1..bytes.len())
                .find(|&at| bytes[at] == b'\'' && bytes[at - 1] != b'\\')
                .map(|at| at + 1)
        } else if self.0.starts_with(delimiter) {
            Some(1)
        } else {
            self.0.find(delimiter)
        };
        let (token, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_to_fields_of_the_schema() {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b.c": {"type": "string"}, "d": {"type": "string"}}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
        }}))
        .unwrap();
        for (text, expected) in [
            (".a.d", Ok("a.d")),
            (".a['b.c']", Ok("a.b.c")),
            (".m.x", Ok("m[x]")),
            (".m['x y']", Ok("m[x y]")),
            (".m['it\\'s']", Ok("m[it's]")),
            ("a", Err("expected [ or . but got: a")),
            (".a.x", Err("does not refer to a valid field")),
            (".a.d.e", Err("does not refer to a valid field")),
            (".a[0]", Err("expected single quoted string but got 0")),
            (".a['d'", Err("unexpected end of JSON path")),
            (".", Err("unexpected end of JSON path")),
            (".m['\\q']", Err("invalid string literal: invalid escape char \\q")),
        ] {
            let found = field_path(text, &schema, false).map(|(path, _)| path);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
        assert_eq!(
            field_path(".m['x']", &schema, true).unwrap_err(),
            "array notation is not allowed"
        );
    }
}
