//! Policies, and which of them are for a client.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{Changes, matching::is_for_client, mesh::MeshView};
use crate::resource::{Kind, Policy};

#[derive(Debug)]
pub(super) struct PolicyEntry {
    /// Differs from that of every other policy, and of every other version of this one.
    pub(super) id: u64,
    pub(super) kind: Kind,
    pub(super) name: Arc<str>,
    pub(super) display_name: Arc<str>,
    pub(super) policy: Policy,
    /// The tags of clients that it ranks by.
    pub(super) affinity_keys: BTreeSet<Arc<str>>,
}

impl MeshView {
    /// Looks at every Dataplane of the mesh, since the policy may be for any of them.
    pub(super) fn replace_policy(
        &mut self,
        kind: Kind,
        name: Arc<str>,
        new: Option<(Arc<str>, Policy)>,
        changes: &mut Changes,
    ) {
        let key = (kind, name.clone());
        let old = self.policies.get(&key);
        let is_same = match (&new, old) {
            (None, None) => true,
            (Some((display_name, policy)), Some(old)) => {
                old.display_name == *display_name && old.policy == *policy
            }
            _ => false,
        };
        if is_same {
            return;
        }
        let old = self.policies.remove(&key);
        let new = new.map(|(display_name, policy)| {
            let affinity_keys = affinity_keys(&policy);
            let id = self.shapes.next_id();
            Arc::new(PolicyEntry { id, kind, name, display_name, policy, affinity_keys })
        });
        if let Some(new) = &new {
            self.policies.insert(key, new.clone());
        }
        self.shapes.forget_policies();
        let versions = [old, new];
        let mut touched = Vec::new();
        for (name, proxy) in &self.dataplanes {
            let candidate = proxy.candidate(name);
            let mut versions = versions.iter().flatten();
            if versions.any(|entry| is_for_client(&entry.policy.target, &candidate)) {
                touched.push((name.clone(), proxy.shape));
            }
        }
        self.work += self.dataplanes.len() as u64;
        for (name, shape) in touched {
            changes.proxies.insert(self.proxy_key(&name));
            if let Some(shape) = shape {
                self.leave_shape(&name, shape);
            }
        }
    }

    /// In the order of their kinds and names.
    pub(super) fn policies_for(&self, name: &Arc<str>) -> Vec<Arc<PolicyEntry>> {
        let Some(proxy) = self.dataplanes.get(name) else { return Vec::new() };
        let candidate = proxy.candidate(name);
        let all = self.policies.values();
        all.filter(|entry| is_for_client(&entry.policy.target, &candidate)).cloned().collect()
    }
}

fn affinity_keys(policy: &Policy) -> BTreeSet<Arc<str>> {
    let tags = policy.to.iter().filter_map(|item| {
        item.conf.pointer("/localityAwareness/localZone/affinityTags").and_then(Value::as_array)
    });
    let keys = tags.flatten().filter_map(|tag| tag.get("key").and_then(Value::as_str));
    keys.map(Arc::from).collect()
}
