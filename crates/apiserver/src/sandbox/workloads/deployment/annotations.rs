//! Annotations of a Deployment on its ReplicaSets: the revision, its own annotations, and the sizes
//! in effect when it last scaled them. Source: `k8s.io/kubernetes/pkg/controller/deployment/util`,
//! `SetNewReplicaSetAnnotations`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::limits::Limits;

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
const NOT_COPIED: [&str; 6] = [
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
];
/// Maximum length of the list of former revisions, in characters.
const LONGEST_HISTORY: usize = 2000;

/// Annotations to set.
pub(super) type Changes = BTreeMap<String, String>;

/// 0 if absent or invalid.
pub(super) fn revision(metadata: &ObjectMeta) -> i64 {
    read(metadata, REVISION).and_then(|text| text.parse().ok()).unwrap_or_default()
}

pub(super) fn desired_replicas(metadata: &ObjectMeta) -> Option<i64> {
    read(metadata, DESIRED_REPLICAS)?.parse().ok()
}

pub(super) fn max_replicas(metadata: &ObjectMeta) -> Option<i64> {
    read(metadata, MAX_REPLICAS)?.parse().ok()
}

/// The annotations that the set with the current template lacks: those of the Deployment, and the
/// revision, which only increases. Its previous revision is added to its history.
pub(super) fn of_new_set(deployment: &ObjectMeta, set: &ObjectMeta, next: i64) -> Changes {
    let mut changes = Changes::new();
    for (key, value) in deployment.annotations.iter().flatten() {
        if !NOT_COPIED.contains(&key.as_str()) && read(set, key) != Some(value) {
            changes.insert(key.clone(), value.clone());
        }
    }
    let before = read(set, REVISION).filter(|text| !text.is_empty());
    match before.map(str::parse::<i64>) {
        None => {}
        Some(Ok(number)) if number < next => {}
        Some(_) => return changes,
    }
    changes.insert(REVISION.to_owned(), next.to_string());
    if let Some(before) = before {
        changes.extend(history(set, before).map(|list| (REVISION_HISTORY.to_owned(), list)));
    }
    changes
}

/// The annotations written whenever a set is scaled.
pub(super) fn of_size(set: &ObjectMeta, limits: Limits) -> Changes {
    let wanted = [(DESIRED_REPLICAS, limits.replicas), (MAX_REPLICAS, limits.most())];
    let differs = |(key, number): &(&str, i64)| read(set, key) != Some(&number.to_string());
    let pair = |(key, number): (&str, i64)| (key.to_owned(), number.to_string());
    wanted.into_iter().filter(differs).map(pair).collect()
}

/// The former revisions with one more; the oldest are dropped if the list is too long.
fn history(set: &ObjectMeta, revision: &str) -> Option<String> {
    let mut list = read(set, REVISION_HISTORY).unwrap_or_default();
    let room = LONGEST_HISTORY.checked_sub(revision.len() + 1)?;
    while list.len() > room {
        list = list.split_once(',').map_or("", |(_, rest)| rest);
    }
    Some(if list.is_empty() { revision.to_owned() } else { format!("{list},{revision}") })
}

fn read<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(annotations: &[(&str, &str)]) -> ObjectMeta {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        ObjectMeta {
            annotations: Some(annotations.iter().map(pair).collect()),
            ..ObjectMeta::default()
        }
    }

    fn check(deployment: &[(&str, &str)], set: &[(&str, &str)], next: i64, list: &[(&str, &str)]) {
        let changes = of_new_set(&metadata(deployment), &metadata(set), next);
        assert_eq!(Some(changes), metadata(list).annotations, "{deployment:?} {set:?} {next}");
    }

    #[test]
    fn the_new_set_gets_the_next_revision_and_keeps_the_former_ones() {
        check(&[], &[], 1, &[(REVISION, "1")]);
        check(&[], &[(REVISION, "1")], 1, &[]);
        check(&[], &[(REVISION, "3")], 2, &[]);
        check(&[], &[(REVISION, "1")], 3, &[(REVISION, "3"), (REVISION_HISTORY, "1")]);
        let twice = [(REVISION, "3"), (REVISION_HISTORY, "1")];
        check(&[], &twice, 5, &[(REVISION, "5"), (REVISION_HISTORY, "1,3")]);
        check(&[], &[(REVISION, "x")], 5, &[]);
    }

    #[test]
    fn annotations_of_the_deployment_are_copied_but_for_bookkeeping() {
        let given = [("kubernetes.io/change-cause", "why"), (REVISION, "9"), (MAX_REPLICAS, "9")];
        let copied = [("kubernetes.io/change-cause", "why")];
        check(&given, &[(REVISION, "1")], 1, &copied);
        check(&given, &[(REVISION, "1"), copied[0]], 1, &[]);
    }

    #[test]
    fn a_long_history_forgets_its_beginning() {
        let long = (1..=540).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        assert!(long.len() > LONGEST_HISTORY);
        let list = history(&metadata(&[(REVISION_HISTORY, &long)]), "541").unwrap();
        assert!(list.len() <= LONGEST_HISTORY && list.ends_with(",540,541"), "{list}");
        assert!(!list.starts_with("1,2,"), "{list}");
    }

    #[test]
    fn numbers_are_renewed_where_they_differ() {
        let limits = Limits { replicas: 10, surge: 3, unavailable: 2 };
        let set = metadata(&[(DESIRED_REPLICAS, "10")]);
        assert_eq!(Some(of_size(&set, limits)), metadata(&[(MAX_REPLICAS, "13")]).annotations);
        assert_eq!((desired_replicas(&set), max_replicas(&set)), (Some(10), None));
    }
}
