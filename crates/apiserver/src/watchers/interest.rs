//! How many watches are notified when an object changes, for the cost of changes.
//!
//! A watch is of a resource, of a namespace or of one object. Other selectors are not looked at, as
//! in Kubernetes (`k8s.io/apiserver/pkg/util/flowcontrol/watch_tracker.go`). A count takes O(1).

use std::sync::Arc;

use evenkeel_store::ResourceId;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// What is watched, or what changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) resource: ResourceId,
    /// None: all namespaces, or a resource that has none.
    pub(crate) namespace: Option<&'a str>,
    /// Empty: all objects, or an object whose name is not known yet.
    pub(crate) name: &'a str,
}

#[derive(Debug, Default)]
pub(super) struct Interests(Mutex<FxHashMap<ResourceId, Counts>>);

/// The watches of one resource.
#[derive(Debug, Default)]
struct Counts {
    all: u32,
    /// By namespace.
    namespaces: FxHashMap<Box<str>, u32>,
    /// By namespace, which may be empty, and name.
    objects: FxHashMap<(Box<str>, Box<str>), u32>,
}

/// A watch; it counts until this is dropped.
#[derive(Debug)]
pub(super) struct Interest {
    of: Arc<Interests>,
    resource: ResourceId,
    at: At,
}

#[derive(Clone, Debug)]
enum At {
    All,
    Namespace(Box<str>),
    Object(Box<str>, Box<str>),
}

impl Interests {
    pub(super) fn add(self: &Arc<Self>, scope: Scope<'_>) -> Interest {
        let at = match scope {
            Scope { namespace: None, name: "", .. } => At::All,
            Scope { namespace: Some(namespace), name: "", .. } => At::Namespace(namespace.into()),
            Scope { namespace, name, .. } => {
                At::Object(namespace.unwrap_or_default().into(), name.into())
            }
        };
        *self.0.lock().entry(scope.resource).or_default().at(at.clone()) += 1;
        Interest { of: self.clone(), resource: scope.resource, at }
    }

    pub(super) fn count(&self, object: Scope<'_>) -> u32 {
        let counts = self.0.lock();
        let Some(counts) = counts.get(&object.resource) else { return 0 };
        let mut n = counts.all;
        if let Some(namespace) = object.namespace {
            n += counts.namespaces.get(namespace).copied().unwrap_or_default();
        }
        if !object.name.is_empty() && !counts.objects.is_empty() {
            let of = |namespace: &str| {
                counts.objects.get(&(namespace.into(), object.name.into())).copied()
            };
            n += object.namespace.and_then(of).unwrap_or_default();
            // A watch of all namespaces for one name, or of an object without a namespace.
            n += of("").unwrap_or_default();
        }
        n
    }
}

impl Counts {
    fn at(&mut self, at: At) -> &mut u32 {
        match at {
            At::All => &mut self.all,
            At::Namespace(namespace) => self.namespaces.entry(namespace).or_default(),
            At::Object(namespace, name) => self.objects.entry((namespace, name)).or_default(),
        }
    }

    fn remove(&mut self, at: &At) {
        let count = self.at(at.clone());
        *count = count.saturating_sub(1);
        if *count > 0 {
            return;
        }
        match at {
            At::All => {}
            At::Namespace(namespace) => drop(self.namespaces.remove(namespace)),
            At::Object(namespace, name) => {
                self.objects.remove(&(namespace.clone(), name.clone()));
            }
        }
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        if let Some(counts) = self.of.0.lock().get_mut(&self.resource) {
            counts.remove(&self.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope<'a>(resource: u32, namespace: Option<&'a str>, name: &'a str) -> Scope<'a> {
        Scope { resource: ResourceId(resource), namespace, name }
    }

    #[test]
    fn watches_of_the_resource_the_namespace_and_the_object_are_interested() {
        let all = Arc::new(Interests::default());
        let watches = [
            scope(0, None, ""),
            scope(0, Some("n"), ""),
            scope(0, Some("n"), "a"),
            scope(0, None, "a"),
            scope(1, None, ""),
        ];
        let watches: Vec<Interest> = watches.into_iter().map(|watch| all.add(watch)).collect();
        for (object, expected) in [
            (scope(0, Some("n"), "a"), 4),
            (scope(0, Some("n"), "b"), 2),
            (scope(0, Some("m"), "a"), 2),
            // A create: the name is not known.
            (scope(0, Some("n"), ""), 2),
            (scope(0, None, "a"), 2),
            (scope(1, None, "a"), 1),
            (scope(2, None, "a"), 0),
        ] {
            assert_eq!(all.count(object), expected, "{object:?}");
        }
        drop(watches);
        assert_eq!(all.count(scope(0, Some("n"), "a")), 0);
        let left = all.0.lock();
        assert!(left.values().all(|of| of.namespaces.is_empty() && of.objects.is_empty()));
    }
}
