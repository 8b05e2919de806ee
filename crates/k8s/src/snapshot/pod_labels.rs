//! The labels of Pods where a selector matches none, to name the nearest ones.

use std::sync::Arc;

use evenkeel_model::LabelValues;

/// Values kept for each key. Some keys have a different value on each Pod.
const VALUES: usize = 500;

/// The labels of these Pods, each a key and its value.
pub(super) fn of<'a>(labels: impl Iterator<Item = (&'a String, &'a String)>) -> LabelValues {
    let mut keys = LabelValues::new();
    for (key, value) in labels {
        let values = match keys.get_mut(key.as_str()) {
            Some(values) => values,
            None => keys.entry(Arc::from(key.as_str())).or_default(),
        };
        if values.len() < VALUES && !values.contains(value.as_str()) {
            values.insert(value.as_str().into());
        }
    }
    keys
}
