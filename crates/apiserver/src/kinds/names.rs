//! Validation of names: DNS labels, label keys and values, ports, addresses.
//!
//! Each check returns the errors, in Kubernetes' wording, and nothing if the name is valid.
//! Sources: `k8s.io/apimachinery/pkg/util/validation` and `pkg/api/validate/content`. The two word
//! a length differently (`characters` and `bytes`); label keys and values say `bytes`.

mod address;

use evenkeel_model::labels::Checks;

pub(crate) use self::address::{ip, legacy_cidr, legacy_ip, masked, sloppy_cidr, sloppy_ip};

/// The validation of label selectors.
pub(crate) const LABELS: Checks = Checks { key: qualified_name, value: label_value };

/// The validation for a kind's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// RFC 1123 subdomain.
    Subdomain,
    /// RFC 1123 label (namespaces).
    Label,
    /// RFC 1123 label, as relaxed by Kubernetes; formerly RFC 1035 (services).
    Service,
    /// Anything that is valid as a path segment (the default).
    PathSegment,
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const UNDERSCORED: &str = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

// === impl Check ===

impl Check {
    /// The errors of a name; with `prefix` the name is a `generateName`, which may end in `-`.
    pub(crate) fn wrong(self, name: &str, prefix: bool) -> Vec<String> {
        if self == Check::PathSegment {
            return if prefix { path_segment_prefix(name) } else { path_segment_name(name) };
        }
        let masked = if prefix { mask_trailing_dash(name) } else { name.to_owned() };
        match self {
            Check::Subdomain => dns1123_subdomain(&masked),
            _ => dns1123_label(&masked),
        }
    }
}

/// Replaces a dash at the end by an `a` (together with the preceding character, as in Kubernetes).
fn mask_trailing_dash(name: &str) -> String {
    if name.len() < 2 || !name.ends_with('-') {
        return name.to_owned();
    }
    let mut kept: Vec<u8> = name.as_bytes()[..name.len() - 2].to_vec();
    kept.push(b'a');
    String::from_utf8_lossy(&kept).into_owned()
}

// === DNS ===

pub(crate) fn dns1123_label(value: &str) -> Vec<String> {
    let mut wrong = too_long(value, 63);
    if is_label(value) {
        return wrong;
    }
    if is_subdomain(value) {
        wrong.push("must not contain dots".to_owned());
        return wrong;
    }
    let words = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
    wrong.push(regex_error(words, LABEL, &["my-name", "123-abc"]));
    wrong
}

pub(crate) fn dns1123_subdomain(value: &str) -> Vec<String> {
    let mut wrong = too_long(value, 253);
    if !is_subdomain(value) {
        wrong.push(regex_error(SUBDOMAIN_WORDS, SUBDOMAIN, &["example.com"]));
    }
    wrong
}

pub(crate) fn dns1035_label(value: &str) -> Vec<String> {
    let mut wrong = too_long(value, 63);
    if !is_label(value) || !value.starts_with(|c: char| c.is_ascii_lowercase()) {
        let words = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        wrong.push(regex_error(words, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    wrong
}

/// Like [`dns1123_subdomain`], with `_` allowed inside and at the start of a label.
pub(crate) fn dns1123_subdomain_with_underscore(value: &str) -> Vec<String> {
    let mut wrong = too_long(value, 253);
    let label = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part);
        framed(part, |c| c.is_ascii_lowercase() || c.is_ascii_digit(), |c| c == b'-' || c == b'_')
    };
    if !value.split('.').all(label) {
        let words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
        wrong.push(regex_error(words, UNDERSCORED, &["example.com"]));
    }
    wrong
}

// === keys and values ===

/// A label key (an annotation key, a finalizer): a name with an optional `prefix/`.
pub(crate) fn qualified_name(value: &str) -> Vec<String> {
    let examples = &["MyName", "my.name", "123-abc"];
    let mut wrong = Vec::new();
    let name = match value.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        [prefix, name] => {
            wrong.extend(label_key_prefix(prefix));
            name
        }
        _ => {
            let regex = regex_error(KEY_WORDS, KEY, examples);
            return vec![format!(
                "a valid label key {regex} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_key(name) {
        wrong.push(format!("name part {}", regex_error(KEY_WORDS, KEY, examples)));
    }
    wrong
}

fn label_key_prefix(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut wrong = Vec::new();
    if prefix.len() > 253 {
        wrong.push("prefix part must be no more than 253 bytes".to_owned());
    }
    if !is_subdomain(prefix) {
        let regex = regex_error(SUBDOMAIN_WORDS, SUBDOMAIN, &["example.com"]);
        wrong.push(format!("prefix part {regex}"));
    }
    wrong
}

pub(crate) fn label_value(value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if value.len() > 63 {
        wrong.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_key(value) {
        let words = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        wrong.push(regex_error(words, &format!("({KEY})?"), &["MyValue", "my_value", "12345"]));
    }
    wrong
}

/// A key of a ConfigMap or Secret.
pub(crate) fn config_map_key(value: &str) -> Vec<String> {
    let mut wrong = too_long(value, 253);
    let allowed = |c: u8| c.is_ascii_alphanumeric() || b"-._".contains(&c);
    if value.is_empty() || !value.bytes().all(allowed) {
        let words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        let examples = &["key.name", "KEY_NAME", "key-name"];
        wrong.push(regex_error(words, "[-._a-zA-Z0-9]+", examples));
    }
    wrong.extend(change_of_directory(value));
    wrong
}

/// The name of an environment variable, as relaxed by Kubernetes.
pub(crate) fn relaxed_env_var_name(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["environment variable name must be non-empty".to_owned()];
    }
    if value.bytes().any(|c| !(c.is_ascii_graphic() || c == b' ') || c == b'=') {
        return vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()];
    }
    Vec::new()
}

pub(crate) fn http_header_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
        return Vec::new();
    }
    let words = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![regex_error(words, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

pub(crate) fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()) {
        return Vec::new();
    }
    let words = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![regex_error(words, "[0-9]+%", &["1%", "93%"])]
}

/// Strings that no name may be or contain, since names are part of paths.
pub(crate) fn path_segment_name(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    path_segment_prefix(name)
}

pub(crate) fn path_segment_prefix(name: &str) -> Vec<String> {
    let found = ["/", "%"].into_iter().filter(|part| name.contains(part));
    found.map(|part| format!("may not contain '{part}'")).collect()
}

// === ports and ranges ===

pub(crate) fn port_number(port: i64) -> Vec<String> {
    in_range(port, 1, 65535)
}

pub(crate) fn in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&value) {
        return Vec::new();
    }
    vec![format!("must be between {low} and {high}, inclusive")]
}

/// The name of a container port, also of a named `targetPort`.
pub(crate) fn port_name(port: &str) -> Vec<String> {
    let mut wrong = too_long(port, 15);
    let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if port.is_empty() || !port.bytes().all(allowed) {
        wrong.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !port.bytes().any(|c| c.is_ascii_lowercase()) {
        wrong.push("must contain at least one letter (a-z)".to_owned());
    }
    if port.contains("--") {
        wrong.push("must not contain consecutive hyphens".to_owned());
    }
    if port.starts_with('-') || port.ends_with('-') {
        wrong.push("must not begin or end with a hyphen".to_owned());
    }
    wrong
}

// === the expressions ===

fn is_label(value: &str) -> bool {
    framed(value, |c| c.is_ascii_lowercase() || c.is_ascii_digit(), |c| c == b'-')
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_key(value: &str) -> bool {
    framed(value, |c| c.is_ascii_alphanumeric(), |c| b"-_.".contains(&c))
}

/// Not empty, `outer` at both ends, `outer` or `inner` between.
fn framed(value: &str, outer: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    let bytes = value.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(&first, &last)| outer(first) && outer(last))
        && bytes.iter().all(|&c| outer(c) || inner(c))
}

fn too_long(value: &str, most: usize) -> Vec<String> {
    let long = value.len() > most;
    long.then(|| format!("must be no more than {most} characters")).into_iter().collect()
}

fn change_of_directory(value: &str) -> Option<String> {
    match value {
        "." | ".." => Some(format!("must not be '{value}'")),
        _ if value.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

pub(crate) fn regex_error(words: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{words} (regex used for validation is '{regex}')");
    }
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_pass_or_fail_as_kubernetes_has_them() {
        type NameCheck = fn(&str) -> Vec<String>;
        let checks: [(NameCheck, &[&str], &[&str]); 10] = [
            (dns1123_label, &["a", "0a", "a-b"], &["", "-a", "a-", "A", "a.b", "a_b", "a\n"]),
            (dns1035_label, &["a", "a0", "a-b"], &["", "0a", "-a", "a-", "A", "a.b", "a\n"]),
            (dns1123_subdomain, &["a.b", "1.2", "a-b.c"], &["", ".a", "a..b", "a.-b", "a.b."]),
            (qualified_name, &["a", "a/b", "a.b/C_d.e"], &["", "/b", "a/", "a/b/c", "A/b", "-a"]),
            (label_value, &["", "a", "A_b.c-d"], &["-", "a b", ".a"]),
            (port_name, &["http", "p-1", "1a"], &["", "1", "a--b", "-a", "A", "sixteen-letters-x"]),
            (config_map_key, &["a", ".a", "A_b"], &["", "a/b", ".", "..", "..a"]),
            (path_segment_name, &["", "a:b"], &[".", "..", "a/b", "a%b"]),
            (
                ip,
                &["1.2.3.4", "::", "fd00::1"],
                &["1.2.3", "01.2.3.4", "FD00::1", "::ffff:1.2.3.4"],
            ),
            (
                legacy_cidr,
                &["10.0.0.0/8", "::/0"],
                &["10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/08"],
            ),
        ];
        for (check, good, bad) in checks {
            for value in good {
                assert!(check(value).is_empty(), "{value:?}: {:?}", check(value));
            }
            for value in bad {
                assert!(!check(value).is_empty(), "{value:?}");
            }
        }
    }

    #[test]
    fn messages_are_those_of_the_recorded_server() {
        for (found, message) in [
            (
                dns1123_subdomain("Bad_Name"),
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ),
            (
                label_value("bad value"),
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ),
            (port_number(0), "must be between 1 and 65535, inclusive"),
            (ip("FD00::1"), "must be in canonical form (\"fd00::1\")"),
            (ip("010.1.1.1"), "must not have leading 0s"),
        ] {
            assert_eq!(found, [message]);
        }
    }

    #[test]
    fn a_prefix_for_generated_names_may_end_in_a_dash() {
        assert!(Check::Service.wrong("web-", true).is_empty());
        assert!(Check::Subdomain.wrong("a.", true).len() == 1);
        assert!(Check::Subdomain.wrong("web-", false).len() == 1);
    }
}
