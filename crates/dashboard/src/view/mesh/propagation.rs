//! How long the last changes took: received → computed → sent → acknowledged, as the control plane measured.

use serde::Serialize;

use super::{
    drawing::{Anchor, Drawing, Place, fitting},
    wire::{Change, Propagation, Proxies, Stage},
};
use crate::view::words::{Basis, count, shown};

/// Changes that are listed.
const MOST_ROWS: usize = 20;
/// Changes that are drawn.
const MOST_DRAWN: usize = 10;
/// Proxies that are named.
const MOST_BEHIND: usize = 10;

const LEFT: f64 = 220.0;
const RIGHT: f64 = 580.0;
const TOP: f64 = 26.0;
const ROW: f64 = 30.0;
/// A shorter bar could not be seen.
const THINNEST: f64 = 3.0;
/// In milliseconds. What took less is drawn as this.
const SHORTEST: f64 = 0.1;
/// In decades: up to this long. What took longer is drawn as this.
const MOST_DECADES: i32 = 7;
const UNKNOWN: &str = "unknown";

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PropagationView {
    pub sentence: String,
    pub figure: Option<Drawing>,
    pub rows: Vec<ChangeRow>,
    pub rows_left_out: usize,
    /// Proxies with a change that they have not acknowledged, the longest behind first.
    pub behind: Vec<String>,
    pub behind_left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeRow {
    pub id: u64,
    pub what: String,
    pub age: String,
    pub computed: String,
    pub sent: String,
    pub acknowledged: String,
    /// `2 of 3`
    pub by: String,
    pub rejected: String,
    pub behind: String,
}

pub(super) fn propagation(propagation: &Propagation, proxies: &Proxies) -> PropagationView {
    let mut behind = behind(proxies);
    let n_behind = behind.len();
    behind.truncate(MOST_BEHIND);
    let changes = propagation.changes.as_ref();
    let items = changes.map_or(&[][..], |changes| &changes.items);
    let rows: Vec<ChangeRow> = items.iter().take(MOST_ROWS).map(row).collect();
    PropagationView {
        sentence: match changes.map(|_| items.first()) {
            None => "How changes propagate is unknown: the control plane did not say.".to_owned(),
            Some(None) => {
                "No change was sent to a proxy since the control plane started.".to_owned()
            }
            Some(Some(last)) => sentence(last),
        },
        figure: (!items.is_empty()).then(|| figure(&items[..items.len().min(MOST_DRAWN)])),
        rows_left_out: changes.map_or(0, super::bounded::List::len) - rows.len(),
        rows,
        behind_left_out: n_behind - behind.len(),
        behind,
    }
}

fn sentence(last: &Change) -> String {
    let what = name(last);
    let of = last.streams.map_or(UNKNOWN.to_owned(), |n| n.to_string());
    match last.acknowledged.filter(|acked| acked.streams > 0) {
        Some(Stage { streams, p50, p99 }) => format!(
            "The last change ({what}) is acknowledged by {streams} of {of} proxies: by half of them within \
             {}, by 99 % within {}.",
            millis(p50),
            millis(p99)
        ),
        None => format!("The last change ({what}) is acknowledged by none of {of} proxies yet."),
    }
}

fn behind(proxies: &Proxies) -> Vec<String> {
    let peers = proxies.proxies.iter().flat_map(|peers| &peers.items);
    let behind = peers.filter_map(|peer| Some((peer.oldest_unacknowledged_change?, peer)));
    let mut behind: Vec<_> = behind.collect();
    behind.sort_by_key(|(change, peer)| (*change, &peer.mesh, &peer.dataplane));
    let line = |(change, peer): &(u64, &super::wire::Peer)| {
        format!("{}/{} since change {change}", shown(&peer.mesh), shown(&peer.dataplane))
    };
    behind.iter().map(line).collect()
}

fn name(change: &Change) -> String {
    change.what.as_deref().map_or(UNKNOWN.to_owned(), shown)
}

fn row(change: &Change) -> ChangeRow {
    let number = |n: Option<u64>| n.map_or(UNKNOWN.to_owned(), |n| n.to_string());
    let stage = |stage: Option<Stage>| match stage {
        None => UNKNOWN.to_owned(),
        Some(Stage { streams: 0, .. }) => "not yet".to_owned(),
        Some(Stage { p50, p99, .. }) => format!("{} / {}", millis(p50), millis(p99)),
    };
    let acked = number(change.acknowledged.map(|stage| stage.streams));
    ChangeRow {
        id: change.id,
        what: name(change),
        age: age(change.age_seconds),
        computed: change.computed.map_or(UNKNOWN.to_owned(), millis),
        sent: stage(change.sent),
        acknowledged: stage(change.acknowledged),
        by: format!("{acked} of {}", number(change.streams)),
        rejected: number(change.rejected),
        behind: number(change.behind),
    }
}

/// Coarse, so that a page that nothing happens on does not change all the time.
fn age(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds.filter(|seconds| *seconds >= 0.0) else {
        return UNKNOWN.to_owned();
    };
    match seconds as u64 {
        0..10 => "just now".to_owned(),
        10..60 => "less than a minute ago".to_owned(),
        n @ 60..3600 => format!("{} ago", count((n / 60) as usize, "minute")),
        n => format!("{} ago", count((n / 3600) as usize, "hour")),
    }
}

/// As `evenkeel mesh propagation` prints them.
fn millis(millis: f64) -> String {
    match millis {
        ..0.0 => UNKNOWN.to_owned(),
        ..10.0 => format!("{millis:.1} ms"),
        ..1000.0 => format!("{millis:.0} ms"),
        ..60_000.0 => format!("{:.1} s", millis / 1000.0),
        _ => format!("{:.0} min", millis / 60_000.0),
    }
}

fn figure(changes: &[Change]) -> Drawing {
    let title = "How long the last changes took, on a logarithmic scale";
    let mut drawing = Drawing::new(title.to_owned(), Basis::Measured);
    let stages = changes.iter().flat_map(|change| [change.sent, change.acknowledged]);
    let longest = stages.flatten().map(|stage| stage.p99).fold(10.0, f64::max);
    let decades = ((longest / SHORTEST).log10().ceil() as i32).clamp(2, MOST_DECADES);
    let bottom = TOP + ROW * changes.len() as f64;
    for decade in 0..=decades {
        let time = SHORTEST * 10_f64.powi(decade);
        let x = at(time, decades);
        let place = Place { x, y: TOP, width: 1.0, height: bottom - TOP };
        drawing.rect(place, "tick", None);
        drawing.text((x, TOP - 8.0), Anchor::Middle, "small", axis(time));
    }
    for (i, change) in changes.iter().enumerate() {
        lane(&mut drawing, change, TOP + ROW * i as f64, decades);
    }
    drawing.key("computed", "computed");
    drawing.key("sent", "sent, from half of the proxies to 99 %");
    drawing.key("acked", "acknowledged, from half to 99 %");
    drawing
}

fn lane(drawing: &mut Drawing, change: &Change, y: f64, decades: i32) {
    let what = format!("{} {}", change.id, name(change));
    drawing.text((LEFT - 10.0, y + 19.0), Anchor::End, "name", fitting(&what, LEFT - 20.0));
    if let Some(computed) = change.computed.filter(|ms| *ms >= 0.0) {
        let place =
            Place { x: at(computed, decades) - 2.0, y: y + 5.0, width: 4.0, height: ROW - 10.0 };
        drawing.rect(place, "computed", Some(format!("computed after {}", millis(computed))));
    }
    let stages =
        [("sent", "sent", change.sent, 6.0), ("acked", "acknowledged", change.acknowledged, 16.0)];
    for (class, word, stage, down) in stages {
        let Some(Stage { streams: 1.., p50, p99 }) = stage else { continue };
        let (from, to) = (at(p50, decades), at(p99, decades));
        let place = Place { x: from, y: y + down, width: (to - from).max(THINNEST), height: 8.0 };
        let title = format!("{word}: half within {}, 99 % within {}", millis(p50), millis(p99));
        drawing.rect(place, class, Some(title));
    }
    let late = [("rejected", change.rejected), ("behind", change.behind)];
    let late =
        late.into_iter().filter_map(|(word, n)| Some(format!("{} {word}", n.filter(|n| *n > 0)?)));
    let late: Vec<String> = late.collect();
    if !late.is_empty() {
        drawing.text(
            (RIGHT + 8.0, y + 19.0),
            Anchor::Start,
            "late",
            fitting(&late.join(", "), 130.0),
        );
    }
}

/// Where a time is on the axis.
fn at(millis: f64, decades: i32) -> f64 {
    let part = (millis.max(SHORTEST) / SHORTEST).log10() / f64::from(decades);
    LEFT + (RIGHT - LEFT) * part.clamp(0.0, 1.0)
}

fn axis(time: f64) -> String {
    match time {
        ..1.0 => format!("{time:.1} ms"),
        ..1000.0 => format!("{time:.0} ms"),
        _ => format!("{:.0} s", time / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_coarse_and_times_short() {
        let all = [0.0, 9.9, 10.0, 59.0, 60.0, 7300.0].map(|seconds| age(Some(seconds)));
        let (less, now) = ("less than a minute ago", "just now");
        assert_eq!(all, [now, now, less, less, "1 minute ago", "2 hours ago"]);
        assert_eq!([None, Some(-1.0), Some(f64::NAN)].map(age), [UNKNOWN; 3]);
        let all = [-1.0, 0.04, 9.94, 10.0, 1500.0, 90_000.0].map(millis);
        assert_eq!(all, ["unknown", "0.0 ms", "9.9 ms", "10 ms", "1.5 s", "2 min"]);
    }

    #[test]
    fn the_axis_holds_whatever_a_peer_says() {
        for time in [0.0, -5.0, 1e300, f64::NAN] {
            let x = at(time, 3);
            assert!((LEFT..=RIGHT).contains(&x), "{time}: {x}");
        }
        assert!(at(1.0, 3) < at(10.0, 3));
    }
}
