//! ClusterRoles that are made of others (`aggregationRule`).
//!
//! Such a role has the rules of all ClusterRoles that its selectors match: selector by selector,
//! role by role in the order of names, each rule once, never its own. A role among them that is
//! itself aggregated counts with what it is to have. So the result is the one that Kubernetes'
//! controller ends with, which works from the rules that are stored; but where roles select each
//! other in a cycle, that controller may never end, and here all of them have the rules of all.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use evenkeel_model::labels::{Checks, LabelSelector};
use rustc_hash::FxHashSet;
use serde_json::Value;

use super::Rule;

/// What aggregation needs of a ClusterRole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterRole {
    pub labels: BTreeMap<String, String>,
    pub rules: Vec<Rule>,
    /// The selectors if it has an aggregation rule. A rule with a malformed selector counts as none:
    /// the role keeps the rules that it has.
    pub selectors: Option<Vec<LabelSelector>>,
}

/// The rules that a role is to have; `None` if it is not aggregated.
pub fn rules(name: &str, roles: &BTreeMap<String, ClusterRole>) -> Option<Vec<Rule>> {
    let mut walk = vec![Walk::of(roles.get(name)?)?];
    let mut unvisited: BTreeSet<&str> = roles.keys().map(String::as_str).collect();
    unvisited.remove(name);
    let mut collected = Vec::new();
    let mut known = FxHashSet::default();
    while let Some(top) = walk.last_mut() {
        let Some((name, role)) = top.next(&unvisited, roles) else {
            walk.pop();
            continue;
        };
        unvisited.remove(name);
        match Walk::of(role) {
            Some(deeper) => walk.push(deeper),
            None => collected.extend(role.rules.iter().filter(|rule| known.insert(*rule)).cloned()),
        }
    }
    Some(collected)
}

/// Where the walk is in one aggregated role.
struct Walk<'a> {
    selectors: &'a [LabelSelector],
    /// The last role that the first of them matched.
    after: Option<&'a str>,
}

/// The API has checked the names in a stored selector.
fn compiled(selector: &Value) -> Option<LabelSelector> {
    LabelSelector::compile(selector, Checks::NONE)
}

// === impl ClusterRole ===

impl ClusterRole {
    pub fn of(stored: &Value) -> ClusterRole {
        let labels = stored.pointer("/metadata/labels").and_then(Value::as_object);
        let label =
            |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        let selectors = stored.get("aggregationRule").and_then(|rule| match rule {
            Value::Object(rule) => match rule.get("clusterRoleSelectors") {
                None | Some(Value::Null) => Some(Vec::new()),
                Some(selectors) => selectors.as_array()?.iter().map(compiled).collect(),
            },
            _ => None,
        });
        ClusterRole {
            labels: labels.into_iter().flatten().filter_map(label).collect(),
            rules: Rule::all_of(stored),
            selectors,
        }
    }
}

// === impl Walk ===

impl<'a> Walk<'a> {
    fn of(role: &'a ClusterRole) -> Option<Walk<'a>> {
        Some(Walk { selectors: role.selectors.as_deref()?, after: None })
    }

    /// The next role that a selector matches and that was not visited.
    fn next(
        &mut self,
        unvisited: &BTreeSet<&'a str>,
        roles: &'a BTreeMap<String, ClusterRole>,
    ) -> Option<(&'a str, &'a ClusterRole)> {
        while let Some((first, others)) = self.selectors.split_first() {
            let after = self.after.map_or(Bound::Unbounded, Bound::Excluded);
            let candidates = unvisited.range::<str, _>((after, Bound::Unbounded));
            let mut known = candidates.filter_map(|name| Some((*name, roles.get(*name)?)));
            if let Some(found) = known.find(|(_, role)| first.matches(&role.labels)) {
                self.after = Some(found.0);
                return Some(found);
            }
            (self.selectors, self.after) = (others, None);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(labels: &[&str], verbs: &[&str], selects: Option<&[&str]>) -> ClusterRole {
        let labels: BTreeMap<&str, &str> = labels.iter().map(|label| (*label, "true")).collect();
        let rules: Vec<Value> = verbs
            .iter()
            .map(|verb| json!({"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}))
            .collect();
        let mut stored = json!({"metadata": {"labels": labels}, "rules": rules});
        if let Some(selects) = selects {
            let selectors: Vec<Value> = selects
                .iter()
                .map(|label| json!({"matchExpressions": [{"key": label, "operator": "Exists"}]}))
                .collect();
            stored["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
        }
        ClusterRole::of(&stored)
    }

    fn world<const N: usize>(roles: [(&str, ClusterRole); N]) -> BTreeMap<String, ClusterRole> {
        roles.into_iter().map(|(name, role)| (name.to_owned(), role)).collect()
    }

    fn verbs(name: &str, roles: &BTreeMap<String, ClusterRole>) -> Option<String> {
        let rules = rules(name, roles)?;
        Some(rules.iter().map(|rule| rule.verbs.concat()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn rules_come_by_selector_then_by_name_each_once() {
        let roles = world([
            ("all", role(&[], &["old"], Some(&["y", "x"]))),
            ("b", role(&["x"], &["get", "list"], None)),
            ("a", role(&["x"], &["watch", "get", "watch"], None)),
            ("c", role(&["y", "x"], &["list", "put"], None)),
            ("d", role(&[], &["delete"], None)),
        ]);
        assert_eq!(verbs("all", &roles).as_deref(), Some("list put watch get"));
        assert_eq!(verbs("a", &roles), None);
        assert_eq!(verbs("nobody", &roles), None);
    }

    #[test]
    fn aggregated_roles_count_with_what_they_are_to_have() {
        let roles = world([
            ("admin", role(&[], &[], Some(&["to-admin"]))),
            ("edit", role(&["to-admin"], &["stale"], Some(&["to-edit"]))),
            ("to-admin", role(&["to-admin"], &["escalate"], None)),
            ("to-edit", role(&["to-edit"], &["put"], None)),
            ("view", role(&["to-edit"], &[], Some(&["to-view"]))),
            ("to-view", role(&["to-view"], &["get"], None)),
        ]);
        assert_eq!(verbs("view", &roles).as_deref(), Some("get"));
        assert_eq!(verbs("edit", &roles).as_deref(), Some("put get"));
        assert_eq!(verbs("admin", &roles).as_deref(), Some("put get escalate"));
    }

    #[test]
    fn cycles_end_and_have_the_rules_of_all() {
        let roles = world([
            ("a", role(&["a", "all"], &["own"], Some(&["b", "a"]))),
            ("b", role(&["b", "all"], &[], Some(&["c", "leaf-b"]))),
            ("c", role(&["c", "all"], &[], Some(&["a", "leaf-c"]))),
            ("leaf-b", role(&["leaf-b"], &["get"], None)),
            ("leaf-c", role(&["leaf-c"], &["list"], None)),
            ("self", role(&["self"], &["own"], Some(&["self"]))),
        ]);
        for name in ["a", "b", "c"] {
            let mut all: Vec<String> =
                verbs(name, &roles).unwrap().split(' ').map(str::to_owned).collect();
            all.sort();
            assert_eq!(all, ["get", "list"], "{name}");
        }
        assert_eq!(verbs("self", &roles).as_deref(), Some(""));
    }

    #[test]
    fn ten_thousand_roles_that_select_all_end() {
        let mut roles: BTreeMap<String, ClusterRole> =
            (0..10_000).map(|i| (format!("r{i}"), role(&["all"], &[], Some(&["all"])))).collect();
        roles.insert("leaf".to_owned(), role(&["all"], &["get"], None));
        assert_eq!(verbs("r0", &roles).as_deref(), Some("get"));
    }

    #[test]
    fn a_malformed_selector_leaves_the_role_as_it_is() {
        let stored = json!({"aggregationRule": {"clusterRoleSelectors": [{}, 1]}});
        assert_eq!(ClusterRole::of(&stored).selectors, None);
        let without = json!({"aggregationRule": {}});
        assert_eq!(ClusterRole::of(&without).selectors, Some(vec![]));
    }
}
