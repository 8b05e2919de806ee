//! The order of API versions: `v2`, `v1`, `v1beta1`, `v1alpha1`, then all others by name.
//!
//! Source: `k8s.io/apimachinery/pkg/version/helpers.go`, `CompareKubeAwareVersionStrings`.

use std::cmp::Ordering;

/// Higher priority first.
pub(crate) fn by_priority(a: &str, b: &str) -> Ordering {
    match (parsed(a), parsed(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability (alpha, beta, stable), major number, number of the alpha or beta.
fn parsed(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let major = number(&rest[..digits])?;
    let rest = &rest[digits..];
    match rest {
        "" => Some((2, major, 0)),
        _ => {
            let (stability, rest) = match rest.strip_prefix("beta") {
                Some(rest) => (1, rest),
                None => (0, rest.strip_prefix("alpha")?),
            };
            Some((stability, major, number(rest)?))
        }
    }
}

/// A number without leading zeros.
fn number(digits: &str) -> Option<u64> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first_and_newer_before_older() {
        let mut versions = [
            "foo1",
            "v1alpha1",
            "v10",
            "v3beta1",
            "v1",
            "v2",
            "v11alpha2",
            "foo10",
            "v12alpha1",
            "v10beta3",
            "v0",
            "v1beta",
        ];
        versions.sort_by(|a, b| by_priority(a, b));
        let expected = [
            "v10",
            "v2",
            "v1",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "v1alpha1",
            "foo1",
            "foo10",
            "v0",
            "v1beta",
        ];
        assert_eq!(versions, expected);
    }
}
