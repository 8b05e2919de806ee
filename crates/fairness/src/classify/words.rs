//! Lists of names, and whether a name is in one.

use std::cmp::Ordering;

use crate::config::Names;

/// Up to here comparing with one after the other is as fast as any other way.
const FEW: usize = 8;

/// A list of names for looking up.
#[derive(Clone, Debug)]
pub(super) enum Words {
    Any,
    Few(Box<[Box<str>]>),
    /// Sorted.
    Many(Box<[Box<str>]>),
}

impl Words {
    pub(super) fn of(names: &[Box<str>]) -> Self {
        if names.len() <= FEW {
            return Words::Few(names.into());
        }
        let mut sorted: Box<[Box<str>]> = names.into();
        sorted.sort_unstable();
        Words::Many(sorted)
    }

    pub(super) fn is_any(&self) -> bool {
        matches!(self, Words::Any)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        match self {
            Words::Any => true,
            Words::Few(names) => names.iter().any(|n| same(n, name)),
            Words::Many(names) => names.binary_search_by(|n| (**n).cmp(name)).is_ok(),
        }
    }

    /// Whether `resource`, or `resource/subresource` where there is one, is in the list.
    pub(super) fn contains_resource(&self, resource: &str, subresource: &str) -> bool {
        if subresource.is_empty() {
            return self.contains(resource);
        }
        match self {
            Words::Any => true,
            Words::Few(names) => names.iter().any(|n| is_joined(n, resource, subresource)),
            Words::Many(names) => {
                names.binary_search_by(|n| cmp_joined(n, resource, subresource)).is_ok()
            }
        }
    }
}

impl From<&Names> for Words {
    fn from(names: &Names) -> Self {
        match names {
            Names::Any => Words::Any,
            Names::Of(names) => Words::of(names),
        }
    }
}

/// Equality that reads no memory for empty strings. They point nowhere, and comparing zero bytes
/// there was seen to take about 100 ns in glibc's `memcmp`, probably for a suppressed fault.
pub(super) fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

fn is_joined(name: &str, resource: &str, subresource: &str) -> bool {
    let rest = name.strip_prefix(resource).and_then(|rest| rest.strip_prefix('/'));
    rest == Some(subresource)
}

fn cmp_joined(name: &str, resource: &str, subresource: &str) -> Ordering {
    name.bytes().cmp(resource.bytes().chain([b'/']).chain(subresource.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_find_the_same() {
        let long: Vec<Box<str>> = ["pods", "pods/log", "a", "z", "nodes/status", "po", "pods/"]
            .map(Box::from)
            .into_iter()
            .chain((0..20).map(|i| format!("r{i}/s").into()))
            .collect();
        let long_words = Words::of(&long);
        assert!(matches!(long_words, Words::Many(_)));
        let resources = ["pods", "nodes", "po", "a", "z", "r7", "pods/log", "", "pods/"];
        for resource in resources {
            for subresource in ["", "log", "status", "s", "/"] {
                let slow = long.iter().any(|n| {
                    let joined = format!("{resource}/{subresource}");
                    **n == *(if subresource.is_empty() { resource } else { &joined })
                });
                let one_by_one = long
                    .chunks(FEW)
                    .any(|few| Words::of(few).contains_resource(resource, subresource));
                let found = long_words.contains_resource(resource, subresource);
                assert_eq!((found, one_by_one), (slow, slow), "{resource:?} {subresource:?}");
            }
        }
    }

    #[test]
    fn an_empty_list_has_nothing_in_it_and_any_has_everything() {
        assert!(!Words::of(&[]).contains(""));
        assert!(!Words::of(&[]).contains_resource("a", "b"));
        assert!(Words::Any.contains("x") && Words::Any.contains_resource("a", "b"));
    }
}
