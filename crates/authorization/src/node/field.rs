//! What a field selector says about one field.

/// The value that a selector requires a field to have; `None` if it requires none.
///
/// A selector with an escaped character counts as requiring nothing: the comma in `a=x\,b=y` begins
/// no second term, and no field that matters here has a value that must be escaped.
pub(super) fn value<'a>(selector: &'a str, field: &str) -> Option<&'a str> {
    if selector.contains('\\') {
        return None;
    }
    let found = selector.split(',').find_map(|term| {
        // `name!=value` leaves a name that ends with `!`, `name==value` a value that begins with `=`.
        let (name, value) = term.split_once('=')?;
        (name == field).then(|| value.strip_prefix('=').unwrap_or(value))
    });
    found.filter(|value| !value.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equality_counts() {
        let cases = [
            ("", None),
            ("f=a", Some("a")),
            ("f==a", Some("a")),
            ("g=b,f=a", Some("a")),
            ("g!=b,f=a,h=c", Some("a")),
            ("f=", Some("")),
            ("f!=a", None),
            ("ff=a", None),
            ("f=a\\,b", None),
            ("f===a", None),
            ("g=x\\,f=a", None),
            ("f", None),
        ];
        for (selector, expected) in cases {
            assert_eq!(value(selector, "f"), expected, "{selector}");
        }
    }
}
