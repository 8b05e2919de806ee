//! Namespace deletion: Pods first, then, when none is left, everything else; and the conditions
//! meanwhile. Pure functions of the namespace's content.
//!
//! Source: `k8s.io/kubernetes/pkg/controller/namespace/deletion`. Differently from there, remaining
//! Pods are reported in the conditions like everything else; Kubernetes reports that all content is
//! removed.

use std::collections::BTreeMap;

use evenkeel_store::{Object, ResourceId, Revision};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::metadata::{Metadata, is_held_or_dying};
use crate::kinds::{Catalogue, KindRef, POD, metadata::seconds, read::entry};

/// One object of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) resource: ResourceId,
    pub(super) key: Box<str>,
    pub(super) revision: Revision,
    pub(super) is_dying: bool,
    pub(super) finalizers: Vec<String>,
}

/// Why objects were not deleted: one reason per resource.
pub(super) type Failures = BTreeMap<ResourceId, String>;

impl Item {
    pub(super) fn of(resource: ResourceId, object: &Object) -> Item {
        let read =
            if is_held_or_dying(object) { Metadata::of(object) } else { Metadata::default() };
        Item {
            resource,
            key: object.key.clone(),
            revision: object.revision,
            is_dying: read.is_dying(),
            finalizers: read.finalizers,
        }
    }

    fn is_pod(&self) -> bool {
        self.resource == POD.id()
    }
}

/// The objects to delete next. Without a namespace the order does not matter.
pub(super) fn next(content: &[Item], has_namespace: bool) -> impl Iterator<Item = &Item> {
    let pods_only = has_namespace && has_pods(content);
    content.iter().filter(move |item| !item.is_dying && (!pods_only || item.is_pod()))
}

fn has_pods(content: &[Item]) -> bool {
    content.iter().any(Item::is_pod)
}

/// Sets the conditions; those of others are kept. As long as Pods are left, they are what it waits
/// for.
pub(super) fn tell(
    namespace: &mut Value,
    content: &[Item],
    failures: &Failures,
    served: &Catalogue,
    now: Timestamp,
) {
    let pods_only = has_pods(content);
    let awaited: Vec<&Item> = content.iter().filter(|item| !pods_only || item.is_pod()).collect();
    let (remaining, finalizers) = (remaining(&awaited, served), finalizers(&awaited));
    let mut failed: Vec<String> = failures.values().cloned().collect();
    failed.sort_unstable();
    let conditions = [
        Condition::well(
            "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        Condition::well(
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        Condition::well(
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        )
        .unless(
            &failed,
            "ContentDeletionFailed",
            &format!("Failed to delete all resource types, {} remaining: ", failed.len()),
        ),
        Condition::well(
            "NamespaceContentRemaining",
            "ContentRemoved",
            "All content successfully removed",
        )
        .unless(&remaining, "SomeResourcesRemain", "Some resources are remaining: "),
        Condition::well(
            "NamespaceFinalizersRemaining",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        )
        .unless(
            &finalizers,
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: ",
        ),
    ];
    let present = entry(namespace, &["status", "conditions"]);
    if !present.is_array() {
        *present = json!([]);
    }
    for condition in conditions {
        condition.set(present, now);
    }
}

/// Removes the namespace's own finalizer; it stays as long as others remain.
pub(super) fn emptied(namespace: &mut Value) {
    if let Some(finalizers) = namespace["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|name| name != "kubernetes");
    }
}

/// The number of remaining objects per resource as in discovery: in both groups of Events.
fn remaining(content: &[&Item], served: &Catalogue) -> Vec<String> {
    let mut counts: BTreeMap<ResourceId, usize> = BTreeMap::new();
    for item in content {
        *counts.entry(item.resource).or_default() += 1;
    }
    let words = |kind: &KindRef| {
        let n = counts.get(&kind.id())?;
        Some(format!("{}.{} has {n} resource instances", kind.plural, kind.group))
    };
    let mut words: Vec<String> = served.kinds().filter_map(words).collect();
    words.sort_unstable();
    words
}

fn finalizers(content: &[&Item]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finalizer in content.iter().flat_map(|item| &item.finalizers) {
        *counts.entry(finalizer).or_default() += 1;
    }
    let mut words: Vec<String> =
        counts.iter().map(|(name, n)| format!("{name} in {n} resource instances")).collect();
    words.sort_unstable();
    words
}

/// The desired content of a condition.
struct Condition {
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Condition {
    fn well(kind: &'static str, reason: &'static str, message: &str) -> Condition {
        Condition { kind, status: "False", reason, message: message.to_owned() }
    }

    /// True because of these, if there are any.
    fn unless(self, because: &[String], reason: &'static str, message: &str) -> Condition {
        if because.is_empty() {
            return self;
        }
        let message = format!("{message}{}", because.join(", "));
        Condition { kind: self.kind, status: "True", reason, message }
    }

    /// The transition time is that of the last change of the status.
    fn set(self, conditions: &mut Value, now: Timestamp) {
        let Condition { kind, status, reason, message } = self;
        let Some(list) = conditions.as_array_mut() else { return };
        let known = list.iter_mut().find(|known| known["type"] == kind);
        let since = known.as_ref().filter(|known| known["status"] == status);
        let since =
            since.map_or_else(|| seconds(now).into(), |known| known["lastTransitionTime"].clone());
        let new = json!({
            "type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message,
        });
        match known {
            Some(known) => *known = new,
            None => list.push(new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::{CONFIG_MAP, DEPLOYMENT, EVENT};

    fn item(kind: &KindRef, name: &str, is_dying: bool, finalizers: &[&str]) -> Item {
        let finalizers = finalizers.iter().map(|name| (*name).to_owned()).collect();
        Item {
            resource: kind.id(),
            key: format!("n/{name}").into(),
            revision: 1,
            is_dying,
            finalizers,
        }
    }

    fn names<'a>(items: impl Iterator<Item = &'a Item>) -> Vec<&'a str> {
        items.map(|item| &*item.key).collect()
    }

    #[test]
    fn pods_are_deleted_first_and_nothing_else_until_they_are_gone() {
        let pods = [item(&POD, "p", false, &[]), item(&POD, "q", true, &["x/held"])];
        let rest = [item(&CONFIG_MAP, "c", false, &[]), item(&CONFIG_MAP, "d", true, &[])];
        let all = [&pods[..], &rest].concat();
        assert_eq!(names(next(&all, true)), ["n/p"]);
        assert_eq!(names(next(&all[1..], true)), [""; 0]);
        assert_eq!(names(next(&rest, true)), ["n/c"]);
        // Objects created too late for their namespace are deleted at once.
        assert_eq!(names(next(&all, false)), ["n/p", "n/c"]);
    }

    fn told(namespace: &Value, kind: &str) -> (String, String, String) {
        let conditions = namespace["status"]["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|one| one["type"] == kind).unwrap();
        let text = |field: &str| found[field].as_str().unwrap().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    fn words(status: &str, reason: &str, message: &str) -> (String, String, String) {
        (status.to_owned(), reason.to_owned(), message.to_owned())
    }

    #[test]
    fn conditions_are_worded_as_in_kubernetes() {
        let mut namespace =
            json!({"status": {"phase": "Terminating", "conditions": [{"type": "Other"}]}});
        let content = [
            item(&CONFIG_MAP, "a", true, &["x/y", "x/z"]),
            item(&CONFIG_MAP, "b", true, &["x/z"]),
            item(&DEPLOYMENT, "d", false, &[]),
            item(&EVENT, "e", false, &[]),
        ];
        let failures = Failures::from([
            (DEPLOYMENT.id(), "not now".to_owned()),
            (EVENT.id(), "never".to_owned()),
        ]);
        tell(&mut namespace, &content, &failures, &Catalogue::default(), Timestamp::UNIX_EPOCH);
        let well =
            ["NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure"];
        assert_eq!(
            well.map(|kind| told(&namespace, kind)),
            [
                words("False", "ResourcesDiscovered", "All resources successfully discovered"),
                words("False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
            ]
        );
        assert_eq!(
            told(&namespace, "NamespaceDeletionContentFailure"),
            words(
                "True",
                "ContentDeletionFailed",
                "Failed to delete all resource types, 2 remaining: never, not now"
            )
        );
        assert_eq!(
            told(&namespace, "NamespaceContentRemaining"),
            words(
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: configmaps. has 2 resource instances, deployments.apps has 1 \
                 resource instances, events. has 1 resource instances, events.events.k8s.io has 1 resource \
                 instances"
            )
        );
        assert_eq!(
            told(&namespace, "NamespaceFinalizersRemaining"),
            words(
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: x/y in 1 resource instances, x/z in 2 \
                 resource instances"
            )
        );
        assert_eq!(namespace["status"]["conditions"].as_array().map(Vec::len), Some(6));
    }

    #[test]
    fn while_pods_are_left_only_they_are_reported() {
        let mut namespace = json!({});
        let content = [item(&CONFIG_MAP, "c", false, &["x/y"]), item(&POD, "p", true, &[])];
        tell(
            &mut namespace,
            &content,
            &Failures::new(),
            &Catalogue::default(),
            Timestamp::UNIX_EPOCH,
        );
        let message = "Some resources are remaining: pods. has 1 resource instances";
        assert_eq!(
            told(&namespace, "NamespaceContentRemaining"),
            words("True", "SomeResourcesRemain", message)
        );
        assert_eq!(told(&namespace, "NamespaceFinalizersRemaining").0, "False");
    }

    #[test]
    fn a_condition_turns_well_again_and_keeps_its_time_until_it_turns() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let time = |namespace: &Value, index: usize| {
            namespace["status"]["conditions"][index]["lastTransitionTime"].clone()
        };
        let mut namespace = json!({});
        tell(
            &mut namespace,
            &[item(&POD, "a", true, &[])],
            &Failures::new(),
            &Catalogue::default(),
            at(1),
        );
        tell(&mut namespace, &[], &Failures::new(), &Catalogue::default(), at(2));
        assert_eq!(
            told(&namespace, "NamespaceContentRemaining"),
            words("False", "ContentRemoved", "All content successfully removed")
        );
        assert_eq!(
            [time(&namespace, 0), time(&namespace, 3)],
            [json!("1970-01-01T00:00:01Z"), json!("1970-01-01T00:00:02Z")]
        );
        let before = namespace.clone();
        tell(&mut namespace, &[], &Failures::new(), &Catalogue::default(), at(3));
        assert_eq!(namespace, before, "nothing has changed");
    }
}
