//! What others do to slices.

use std::sync::Arc;

use evenkeel_model::{Slice, label};
use evenkeel_testkit::sim::{Rng, Store};

use super::{Step, pick};

/// Somebody else deletes or changes a slice.
pub(crate) fn third_party(store: &mut Store, rng: &mut Rng) -> Option<Step> {
    let key = pick(store.slices.iter().map(|(key, _)| key.clone()), rng)?;
    let before = Arc::clone(store.slices.get(&key)?);
    let what = rng.below(10);
    let said = match what {
        9 => {
            store.end_slice(&key);
            return Some(Step::EndingSlice(key, before));
        }
        0 => {
            store.remove_slice(&key);
            "deleted"
        }
        1 => {
            store.touch_slice(&key);
            "annotated"
        }
        2 => {
            store.change_slice(&key, |slice| relabel(slice, "somebody-else.example"));
            "taken over"
        }
        3 => {
            store.change_slice(&key, |slice| relabel(slice, label::BUILT_IN));
            "released"
        }
        _ => {
            store.change_slice(&key, |slice| edit(slice, rng));
            "edited"
        }
    };
    Some(Step::Slice(format!("slice {key} is {said} by a third party"), before))
}

fn relabel(slice: &mut Slice, manager: &str) {
    slice.labels.insert(label::MANAGED_BY.into(), manager.into());
}

fn edit(slice: &mut Slice, rng: &mut Rng) {
    let at = rng.below(slice.endpoints.len());
    match (rng.below(6), slice.endpoints.get_mut(at)) {
        (0, Some(_)) => {
            slice.endpoints.remove(at);
        }
        (1, Some(endpoint)) => endpoint.conditions.ready = Some(!endpoint.is_ready()),
        (2, Some(endpoint)) => endpoint.hints = None,
        (3, Some(endpoint)) => endpoint.target = None,
        (4, _) => {
            let other = format!("web-{}", rng.between(1, 4));
            slice.labels.insert(label::SERVICE_NAME.into(), other.into());
        }
        _ => {
            slice.labels.insert("colour".into(), "red".into());
        }
    }
}
