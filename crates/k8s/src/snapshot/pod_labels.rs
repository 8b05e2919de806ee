//! The labels of Pods where a selector matches none, to name the nearest ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::{LabelValues, Service};
use k8s_openapi::api::core::v1::Pod;

use crate::Collected;

/// Values kept for each key. Some keys have a different value on each Pod.
const VALUES: usize = 500;

/// By namespace, the labels of its Pods, for namespaces with a Service in `unmatched`.
pub(super) fn of<'a>(
    unmatched: impl Iterator<Item = &'a Service>,
    pods: &Collected<Pod>,
) -> BTreeMap<Arc<str>, LabelValues> {
    let wanted: BTreeSet<&Arc<str>> = unmatched.map(|service| &service.key.namespace).collect();
    let mut found: BTreeMap<Arc<str>, LabelValues> = BTreeMap::new();
    if wanted.is_empty() {
        return found;
    }
    for item in pods {
        let meta = &item.object.metadata;
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let Some(namespace) = wanted.get(&Arc::from(namespace)) else {
            continue;
        };
        let keys = found.entry(Arc::clone(namespace)).or_default();
        for (key, value) in meta.labels.iter().flatten() {
            let values = match keys.get_mut(key.as_str()) {
                Some(values) => values,
                None => keys.entry(key.as_str().into()).or_default(),
            };
            if values.len() < VALUES && !values.contains(value.as_str()) {
                values.insert(value.as_str().into());
            }
        }
    }
    found
}
