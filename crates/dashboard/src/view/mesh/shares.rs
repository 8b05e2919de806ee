//! Where the requests to a destination go, as bars: now, and below it with each zone lost.

use super::{
    bounded::{Pairs, Share},
    destination::{by_zone, crosses},
    drawing::{Anchor, Drawing, Place, WIDTH, fitting},
    wire::{Destination, Group},
};
use crate::view::words::{Basis, percent, zone_label};

/// Bars, the first of which is the present.
const MOST_BARS: usize = 7;
/// Zones of a bar.
const MOST_PARTS: usize = 12;

const LEFT: f64 = 150.0;
const HEIGHT: f64 = 26.0;
const GAP: f64 = 8.0;
/// A narrower part has no words.
const READABLE: f64 = 40.0;

/// `None`: there is nothing to draw.
pub(super) fn shares(to: &Destination, own: Option<&str>) -> Option<Drawing> {
    let title = "Where requests go, now and with a zone lost";
    let mut drawing = Drawing::new(title.to_owned(), Basis::Predicted);
    let groups = &to.groups.as_ref()?.items;
    bar(&mut drawing, "now", groups, to.errors, own);
    let lost = to.without_zone.as_ref().map_or(&[][..], |Pairs(lost)| lost);
    for (zone, lost) in lost.iter().take(MOST_BARS - 1) {
        let label = format!("without {}", zone_label(zone));
        bar(&mut drawing, &label, &lost.groups.items, lost.errors, own);
    }
    drawing.key("near", "in zone");
    drawing.key("cross", "across zones");
    drawing.key("unplaced", "zone unknown");
    drawing.key("bad", "503");
    Some(drawing)
}

fn bar(drawing: &mut Drawing, label: &str, groups: &[Group], errors: Share, own: Option<&str>) {
    let y = if drawing.height > 0.0 { drawing.height + GAP } else { 2.0 };
    drawing.text((LEFT - 10.0, y + 18.0), Anchor::End, "name", fitting(label, LEFT - 14.0));
    let mut x = LEFT;
    let zones = by_zone(groups);
    let known = zones.values().all(Option::is_some) && errors.0.is_some();
    if !known {
        let place = Place { x, y, width: WIDTH - LEFT, height: HEIGHT };
        drawing.rect(place, "track", None);
        drawing.text((x + 6.0, y + 18.0), Anchor::Start, "small", "unknown".to_owned());
        return;
    }
    // The own zone first, so that bars are compared at a glance.
    let mut parts: Vec<(&str, f64)> =
        zones.iter().map(|(zone, share)| (*zone, share.unwrap_or(0.0))).collect();
    parts.sort_by_key(|(zone, _)| Some(*zone) != own);
    for (zone, share) in parts.into_iter().filter(|(_, share)| *share > 0.0).take(MOST_PARTS) {
        let class = match crosses(Some(zone), own) {
            Some(false) => "near",
            Some(true) => "cross",
            None => "unplaced",
        };
        let text = format!("{} {}", zone_label(zone), percent(share));
        x = part(drawing, (x, y), share, class, &text);
    }
    if let Some(errors) = errors.0.filter(|errors| *errors > 0.0) {
        part(drawing, (x, y), errors, "bad", &format!("503 {}", percent(errors)));
    }
}

/// Where the next part begins.
fn part(
    drawing: &mut Drawing,
    (x, y): (f64, f64),
    share: f64,
    class: &'static str,
    text: &str,
) -> f64 {
    // What a peer says may be more than all.
    let width = ((WIDTH - LEFT) * share).min(WIDTH - x).max(0.0);
    let place = Place { x, y, width: (width - 2.0).max(1.0), height: HEIGHT };
    drawing.rect(place, class, Some(text.to_owned()));
    if width >= READABLE {
        drawing.text((x + 6.0, y + 18.0), Anchor::Start, "small", fitting(text, width - 10.0));
    }
    x + width
}
