//! Names of objects and of namespaces, and paths.

use super::Errors;

/// Labels of lower-case letters, digits and inner dashes, joined by dots. Too long and of the
/// wrong form are two errors.
pub(super) fn subdomain(field: &str, name: &str, errors: &mut Errors) {
    if name.len() > 253 {
        errors.invalid(field, "must not be longer than 253 bytes");
    }
    if !name.split('.').all(is_label) {
        errors.invalid(field, "must be a DNS subdomain: lower-case letters, digits, `-` and `.`");
    }
}

pub(super) fn label(field: &str, name: &str, errors: &mut Errors) {
    if name.len() > 63 {
        errors.invalid(field, "must not be longer than 63 bytes");
    }
    if !is_label(name) {
        errors.invalid(field, "must be a DNS label: lower-case letters, digits and inner `-`");
    }
}

/// `/`, or a path without blanks, without `//`, and with at most one `*`, in `/*` at its end.
pub(super) fn path(field: &str, path: &str, errors: &mut Errors) {
    let detail = match path {
        "" => "must not be empty",
        "/" => return,
        _ if !path.starts_with('/') => "must start with a slash",
        _ if path.contains(' ') => "must not contain blanks",
        _ if path.contains("//") => "must not contain a double slash",
        _ if path.strip_suffix("/*").unwrap_or(path).contains('*') => {
            "may have a `*` only as `/*` at its end"
        }
        _ => return,
    };
    errors.invalid(field, detail);
}

fn is_label(label: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !label.is_empty()
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}
