//! Outcomes over time, for a plot.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::Serialize;

use crate::drill::recording::{Outcome, Recording, Sample};

/// As many are drawn.
const MOST: f64 = 150.0;

/// The requests sent in a span of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::drill) struct Window {
    /// Since the first request.
    pub from: f64,
    pub seconds: f64,
    /// By the zone that answered; the zone of the empty name is none.
    pub answered: BTreeMap<Arc<str>, usize>,
    pub failed: usize,
}

/// Windows of whole seconds, as few as can be drawn.
pub(super) fn windows(samples: &[&Sample], recording: &Recording, end: f64) -> Vec<Window> {
    let width = (end / MOST).ceil().max(1.0);
    let n = (end / width).ceil() as usize;
    let window = |n: usize| Window { from: n as f64 * width, seconds: width, ..Window::default() };
    let mut windows: Vec<Window> = (0..n).map(window).collect();
    for sample in samples {
        let Some(window) = windows.get_mut(position(sample.sent, width)) else { continue };
        match sample.outcome {
            Outcome::Failed(_) => window.failed += 1,
            Outcome::Answered(place) => {
                if let Some(place) = recording.places.get(place) {
                    *window.answered.entry(Arc::clone(&place.zone)).or_default() += 1;
                }
            }
        }
    }
    windows
}

fn position(sent: Duration, width: f64) -> usize {
    (sent.as_secs_f64() / width) as usize
}
