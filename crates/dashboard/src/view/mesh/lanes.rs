//! The priorities of a destination as lanes, with a box for each locality: wider with more weight.

use super::{
    destination::{crosses, healthy, locality},
    drawing::{Anchor, Drawing, Place, WIDTH, fitting},
    wire::Group,
};
use crate::view::words::{Basis, percent, zone_label};

const MOST_LANES: usize = 8;
/// Boxes of a lane.
const MOST_BOXES: usize = 10;

const LEFT: f64 = 84.0;
const HEIGHT: f64 = 64.0;
const GAP: f64 = 8.0;
const BETWEEN: f64 = 3.0;
/// Words fit into a box of this width.
const READABLE: f64 = 170.0;

/// `groups`: in the order of priorities. `None`: there are none.
pub(super) fn lanes(groups: &[&Group], own: Option<&str>) -> Option<Drawing> {
    let title = "Priorities with their localities and weights, and the share of each";
    let mut drawing = Drawing::new(title.to_owned(), Basis::Predicted);
    let lanes = groups.chunk_by(|a, b| a.priority == b.priority);
    for (i, lane) in lanes.take(MOST_LANES).enumerate() {
        let y = (HEIGHT + GAP) * i as f64 + 2.0;
        let first = lane.first()?;
        let label = format!("priority {}", first.priority);
        drawing.text((0.0, y + HEIGHT / 2.0 + 4.0), Anchor::Start, "name", fitting(&label, LEFT));
        boxes(&mut drawing, lane, own, y);
    }
    drawing.key("near", "in zone");
    drawing.key("cross", "another zone");
    drawing.key("unplaced", "zone unknown");
    drawing.key("idle", "no traffic");
    (!groups.is_empty()).then_some(drawing)
}

fn boxes(drawing: &mut Drawing, lane: &[&Group], own: Option<&str>, y: f64) {
    let drawn = &lane[..lane.len().min(MOST_BOXES)];
    let more = lane.len() - drawn.len();
    let room = WIDTH - LEFT - if more > 0 { 70.0 } else { 0.0 };
    let room = room - BETWEEN * drawn.len() as f64;
    let floor = READABLE.min(room / drawn.len() as f64);
    let free = room - floor * drawn.len() as f64;
    let mut x = LEFT;
    for (group, part) in drawn.iter().zip(parts(drawn)) {
        let width = floor + free * part;
        one(drawing, group, own, Place { x, y, width, height: HEIGHT });
        x += width + BETWEEN;
    }
    if more > 0 {
        let text = format!("{more} more");
        drawing.text((x + 4.0, y + HEIGHT / 2.0 + 4.0), Anchor::Start, "small", text);
    }
}

/// By weight if all have one, and otherwise alike.
fn parts(groups: &[&Group]) -> Vec<f64> {
    let weights: Option<Vec<f64>> =
        groups.iter().map(|group| group.weight.map(f64::from)).collect();
    let weights = weights.unwrap_or_else(|| vec![1.0; groups.len()]);
    let sum: f64 = weights.iter().sum::<f64>().max(1.0);
    weights.into_iter().map(|weight| weight / sum).collect()
}

fn one(drawing: &mut Drawing, group: &Group, own: Option<&str>, place: Place) {
    let zone = zone_label(group.zone.as_deref().unwrap_or_default());
    let class = match (group.share.0, crosses(group.zone.as_deref(), own)) {
        (Some(0.0), _) => "idle",
        (_, Some(false)) => "near",
        (_, Some(true)) => "cross",
        (_, None) => "unplaced",
    };
    let weight = group.weight.map(|weight| format!("weight {weight}, ")).unwrap_or_default();
    let healthy = format!("{weight}{} healthy", healthy(group));
    let share = group
        .share
        .0
        .map_or("share unknown".to_owned(), |share| format!("gets {}", percent(share)));
    let name = match locality(group) {
        sub if sub == "–" => zone,
        sub => format!("{zone}, {sub}"),
    };
    drawing.rect(place, class, Some(format!("{name}: {healthy}, {share}")));
    let Place { x, y, width, .. } = place;
    let lines = [("name", name), ("small", healthy), ("small", share)];
    for (i, (class, line)) in lines.into_iter().enumerate() {
        let at = (x + 6.0, y + 18.0 + 18.0 * i as f64);
        drawing.text(at, Anchor::Start, class, fitting(&line, width - 10.0));
    }
}
