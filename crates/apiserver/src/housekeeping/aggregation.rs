//! Keeps the rules of aggregated ClusterRoles: the controller `clusterrole-aggregation-controller`.
//!
//! The decision is `authorization::rbac::aggregate`. A change of a ClusterRole concerns the
//! aggregated roles that select it, before or after, and those that select these.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use evenkeel_authorization::rbac::{
    Rule,
    aggregate::{self, ClusterRole},
};
use evenkeel_store::Object;
use serde_json::Value;

use crate::{
    api::Api,
    body,
    chain::actor::Actor,
    document,
    follow::{Follower, News},
    identity::actors,
    kinds::{CLUSTER_ROLE, Part},
    registry::{Edit, Result, UpdateStrategy},
};

/// Delay before a failed write is retried.
const AGAIN: Duration = Duration::from_secs(1);

/// Runs until the server stops.
pub(crate) async fn aggregate_roles(api: Arc<Api>) {
    let mut follower = Follower::new([CLUSTER_ROLE.id()]);
    let mut roles = Roles::default();
    loop {
        let changed = api.storage.notify_of(CLUSTER_ROLE.id()).notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let chunk = follower.next(&api.storage.state());
        if chunk.restarted {
            roles = Roles::default();
        }
        chunk.news.iter().for_each(|news| roles.take(news));
        let done = if chunk.more { true } else { write_all(&api, &mut roles).await };
        tokio::select! {
            () = tokio::task::yield_now(), if chunk.more => {}
            () = changed, if !chunk.more => {}
            () = tokio::time::sleep(AGAIN), if !done => {}
            () = api.stop.cancelled() => return,
        }
    }
}

/// Writes what differs, and returns whether nothing failed.
async fn write_all(api: &Api, roles: &mut Roles) -> bool {
    let mut failed = BTreeSet::new();
    for name in roles.concerned() {
        // Each looks at all roles.
        tokio::task::yield_now().await;
        let Some(rules) = aggregate::rules(&name, &roles.all) else { continue };
        if roles.all.get(&name).is_some_and(|role| role.rules == rules) {
            continue;
        }
        let rules: Value = rules.iter().map(Rule::to_value).collect();
        if rules.to_string().len() > body::LIMIT {
            // Examined again with the next change of a role: until then it stays as it is.
            tracing::warn!(
                clusterrole = name,
                "the rules of the selected ClusterRoles are too many"
            );
            continue;
        }
        match write(api, &name, &rules).await {
            Err(error) if !error.is_overtaken() => {
                tracing::warn!(clusterrole = name, %error, "aggregating a ClusterRole failed");
                failed.insert(name);
            }
            // A role that was changed meanwhile is examined again.
            Ok(()) | Err(_) => {}
        }
    }
    roles.dirty = failed;
    roles.dirty.is_empty()
}

async fn write(api: &Api, name: &str, rules: &Value) -> Result<()> {
    let actor = Actor::new(api, &actors::ROLE_AGGREGATION_CONTROLLER);
    let edit = Edit {
        kind: &CLUSTER_ROLE,
        key: name,
        uid: None,
        version: None,
        strategy: UpdateStrategy::OfKind(Part::Main),
    };
    let apply = |role: &mut Value| {
        if !role["aggregationRule"].is_null() {
            role["rules"] = rules.clone();
        }
        Ok(())
    };
    actor.edit("update", "", edit, apply).await.map(drop)
}

/// All ClusterRoles, and the names of those that changed.
#[derive(Debug, Default)]
struct Roles {
    all: BTreeMap<String, ClusterRole>,
    /// The aggregated ones, which are few.
    aggregated: BTreeSet<String>,
    /// Aggregated roles to be examined.
    dirty: BTreeSet<String>,
}

impl Roles {
    fn take(&mut self, news: &News) {
        let role = |object: &Object| {
            let value = document::value(&CLUSTER_ROLE, object).ok()?;
            Some(ClusterRole::of(&value))
        };
        let Some(of) = news.after.as_deref().or(news.before.as_deref()) else { return };
        let before = self.all.remove(&*of.key);
        self.aggregated.remove(&*of.key);
        let after = news.after.as_deref().and_then(role);
        let changed: Vec<&ClusterRole> = before.iter().chain(&after).collect();
        self.mark(&changed);
        if let Some(after) = after {
            self.insert(&of.key, after);
        }
    }

    fn insert(&mut self, name: &str, role: ClusterRole) {
        if role.selectors.is_some() {
            self.dirty.insert(name.to_owned());
            self.aggregated.insert(name.to_owned());
        }
        self.all.insert(name.to_owned(), role);
    }

    /// Marks the aggregated roles that select one of these.
    fn mark(&mut self, changed: &[&ClusterRole]) {
        let known = self.aggregated.iter().filter_map(|name| Some((name, self.all.get(name)?)));
        for (name, role) in known {
            let mut selectors = role.selectors.iter().flatten();
            if selectors.any(|one| changed.iter().any(|role| one.matches(&role.labels))) {
                self.dirty.insert(name.clone());
            }
        }
    }

    /// The roles to be examined: those marked, and those that aggregate them.
    fn concerned(&mut self) -> Vec<String> {
        let mut examined = BTreeSet::new();
        while let Some(name) = self.dirty.pop_first() {
            let role = self.all.get(&name).cloned();
            if examined.insert(name) {
                self.mark(&role.iter().collect::<Vec<_>>());
                self.dirty.retain(|name| !examined.contains(name));
            }
        }
        examined.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn roles(all: &[(&str, &str, Option<&str>)]) -> Roles {
        let mut roles = Roles::default();
        for (name, label, selects) in all {
            let mut value = json!({"metadata": {"labels": {*label: "true"}}});
            if let Some(selects) = selects {
                let selector = json!({"matchLabels": {*selects: "true"}});
                value["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
            }
            roles.insert(name, ClusterRole::of(&value));
        }
        roles.dirty.clear();
        roles
    }

    #[test]
    fn a_change_concerns_those_that_select_it_and_those_that_select_these() {
        let mut all = roles(&[
            ("view", "to-edit", Some("to-view")),
            ("edit", "to-admin", Some("to-edit")),
            ("admin", "none", Some("to-admin")),
            ("other", "none", Some("to-other")),
            ("own", "to-view", None),
        ]);
        let changed = all.all["own"].clone();
        all.mark(&[&changed]);
        assert_eq!(all.concerned(), ["admin", "edit", "view"]);
        assert_eq!(all.concerned(), [""; 0]);
    }

    #[test]
    fn a_cycle_ends() {
        let mut all = roles(&[("a", "x", Some("y")), ("b", "y", Some("x"))]);
        all.dirty.insert("a".to_owned());
        assert_eq!(all.concerned(), ["a", "b"]);
    }
}
