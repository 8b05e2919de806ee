//! JSON inside strings of an object: whether it is valid, and if not, the error of Go's
//! `encoding/json`. No value is built: only the first error matters.

use evenkeel_store::schema::check_syntax;

/// Go's error when decoding this into a `map[string]interface{}`; `None` if it succeeds.
pub(super) fn wrong_map(text: &[u8]) -> Option<String> {
    wrong(text, b'{', "map[string]interface {}")
}

/// Go's error when decoding this into a type that is written with this bracket; `None` if it
/// succeeds, as far as brackets tell.
pub(super) fn wrong(text: &[u8], bracket: u8, type_: &str) -> Option<String> {
    if let Err(error) = check_syntax(text) {
        return Some(error.to_string());
    }
    let kind = match text.iter().find(|byte| !byte.is_ascii_whitespace())? {
        b'n' => return None,
        first if *first == bracket => return None,
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        _ => "number",
    };
    Some(format!("json: cannot unmarshal {kind} into Go value of type {type_}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_go_s_messages() {
        for (text, words) in [
            ("{} x", "invalid character 'x' after top-level value"),
            ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
            (
                "\"a\"",
                "json: cannot unmarshal string into Go value of type map[string]interface {}",
            ),
            ("1", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ] {
            assert_eq!(wrong_map(text.as_bytes()).as_deref(), Some(words), "{text}");
        }
        for text in ["null", " {}", "{\"a\": [1]} \n"] {
            assert_eq!(wrong_map(text.as_bytes()), None, "{text}");
        }
    }
}
