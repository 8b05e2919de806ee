//! Names of objects and of namespaces, and paths.

use super::{BadValue, Errors};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// Labels of lower-case letters, digits and inner dashes, joined by dots. Too long and of the
/// wrong form are two errors.
pub(super) fn subdomain(field: &str, name: &str, errors: &mut Errors) {
    if name.len() > 253 {
        errors.invalid(field, BadValue::text(name), "must be no more than 253 characters");
    }
    if !is_subdomain(name) {
        errors.invalid(field, BadValue::text(name), SUBDOMAIN);
    }
}

/// The details begin with `intro`.
pub(super) fn label(field: &str, name: &str, intro: &str, errors: &mut Errors) {
    let mut invalid = |detail: &str| {
        errors.invalid(field, BadValue::text(name), format!("{intro}{detail}"));
    };
    if name.len() > 63 {
        invalid("must be no more than 63 characters");
    }
    if !is_label(name) {
        invalid(if is_subdomain(name) { "must not contain dots" } else { LABEL });
    }
}

/// `/`, or a path without blanks, without `//`, and with at most one `*`, in `/*` at its end.
pub(super) fn path(field: &str, path: &str, errors: &mut Errors) {
    let detail = match path {
        "" => "must not be empty",
        "/" => return,
        _ if !path.starts_with('/') => "must start with slash",
        _ if path.contains(' ') => "must not contain white-space",
        _ if path.contains("//") => "must not contain double slash",
        _ if path.strip_suffix("/*").unwrap_or(path).contains('*') => {
            "wildcard can only do suffix matching"
        }
        _ => return,
    };
    errors.invalid(field, BadValue::text(path), detail);
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !label.is_empty()
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}
