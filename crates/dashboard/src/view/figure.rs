//! The geometry of figures: who sends how much to whom, as lanes with ribbons, or above ten lanes as a
//! matrix.
//!
//! ```text
//!   clients            ribbons, as wide as their share            endpoints
//!   zone-a 33.3 % ████═══════════════════════════════════████ zone-a
//!   zone-b 33.3 % ████═══════════╗
//!                                ╚══ 25 % ═══════════════████ zone-b
//! ```
//!
//! Across, numbers are percent of the way from the lanes of clients to those of endpoints; down, they
//! are CSS pixels. So a figure is as wide as its place, and its text stays as large as other text.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;

use super::words::{Basis, percent};

/// More lanes than this on a side are a matrix.
pub(super) const MOST_LANES: usize = 10;

/// More rows or columns of a matrix than this are left to the table.
pub(super) const MOST_CELLS: usize = 24;

/// Thinner ribbons could not be seen.
const THINNEST: f64 = 2.0;

/// Of the lanes of a side together.
const BAND: f64 = 240.0;
const GAP: f64 = 14.0;
const TOP: f64 = 28.0;

/// Lines of text beside lanes.
const NAME: f64 = 21.0;
const NOTE: f64 = 18.0;
/// Longer notes take more lines, which are smaller where there is little room.
const LONG_NOTE: usize = 16;
const LONG: f64 = 45.0;

/// Traffic from one lane to another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Flow {
    pub from: usize,
    pub to: usize,
    /// Its part of what the figure is about.
    pub amount: f64,
    /// What it is labelled with: its part of the traffic of its clients.
    pub share: f64,
    /// `None`: one of the places is in no known zone.
    pub crosses: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Figure {
    Ribbons {
        title: String,
        basis: Basis,
        height: f64,
        /// Clients left, then endpoints right.
        lanes: Vec<Lane>,
        ribbons: Vec<Ribbon>,
    },
    Matrix {
        title: String,
        basis: Basis,
        /// The zones of endpoints.
        columns: Vec<String>,
        rows: Vec<MatrixRow>,
        /// Rows or columns that only the table has.
        left_out: usize,
    },
    /// There is nothing to draw, which is not the same as nothing being sent.
    Nothing { why: String },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lane {
    pub label: String,
    pub note: String,
    pub side: Side,
    pub y: f64,
    pub height: f64,
    /// Where its label and note are.
    pub text_y: f64,
    pub text_height: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    Clients,
    Endpoints,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ribbon {
    pub path: String,
    /// A sentence, for those who don't see the figure.
    pub title: String,
    pub crosses: Option<bool>,
    /// Of ribbons that leave their zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Label>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Label {
    pub text: String,
    pub x: f64,
    pub y: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixRow {
    pub label: String,
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    pub text: String,
    /// 0 to 9: how strong.
    pub shade: u8,
    pub crosses: Option<bool>,
}

/// The sides of a figure and what flows between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Plot {
    pub title: String,
    /// Rows and columns of a matrix.
    pub most: usize,
    /// Labels and notes of lanes.
    pub clients: Vec<(String, String)>,
    pub endpoints: Vec<(String, String)>,
    pub flows: Vec<Flow>,
}

pub(super) fn figure(plot: Plot) -> Figure {
    if plot.flows.is_empty() {
        return Figure::Nothing { why: "No endpoint is used".to_owned() };
    }
    if plot.clients.len() > MOST_LANES || plot.endpoints.len() > MOST_LANES {
        return matrix(plot);
    }
    let scale = BAND / plot.flows.iter().map(|flow| flow.amount).sum::<f64>().max(1e-9);
    let left = sums(&plot.flows, plot.clients.len(), |flow| flow.from);
    let right = sums(&plot.flows, plot.endpoints.len(), |flow| flow.to);
    let mut clients = stack(Side::Clients, &plot.clients, &left, scale);
    let mut endpoints = stack(Side::Endpoints, &plot.endpoints, &right, scale);
    let height = bottom(&clients).max(bottom(&endpoints));
    for side in [&mut clients, &mut endpoints] {
        centre(side, height);
    }
    let tops = |lanes: &[Lane]| lanes.iter().map(|lane| lane.y).collect();
    Figure::Ribbons {
        basis: Basis::Predicted,
        height: round(height + GAP),
        ribbons: ribbons(&plot, scale, tops(&clients), tops(&endpoints)),
        lanes: clients.into_iter().chain(endpoints).map(Lane::rounded).collect(),
        title: plot.title,
    }
}

fn sums(flows: &[Flow], lanes: usize, of: impl Fn(&Flow) -> usize) -> Vec<f64> {
    flows.iter().fold(vec![0.0; lanes], |mut sums, flow| {
        sums[of(flow)] += flow.amount;
        sums
    })
}

/// Lanes one below the other, each with its text beside it.
fn stack(side: Side, texts: &[(String, String)], amounts: &[f64], scale: f64) -> Vec<Lane> {
    let mut top = TOP;
    let lane = |((label, note), amount): (&(String, String), &f64)| {
        let (height, text_height) = ((amount * scale).max(THINNEST), text_height(note));
        let place = height.max(text_height);
        let at = |height: f64| top + (place - height) / 2.0;
        let lane = Lane {
            label: label.clone(),
            note: note.clone(),
            side,
            y: at(height),
            height,
            text_y: at(text_height),
            text_height,
        };
        top += place + GAP;
        lane
    };
    texts.iter().zip(amounts).map(lane).collect()
}

fn text_height(note: &str) -> f64 {
    match note.chars().count() {
        0 => NAME,
        1..=LONG_NOTE => NAME + NOTE,
        _ => NAME + LONG,
    }
}

fn bottom(lanes: &[Lane]) -> f64 {
    lanes.last().map_or(TOP, |lane| (lane.y + lane.height).max(lane.text_y + lane.text_height))
}

/// The side with less to show is in the middle of the other.
fn centre(lanes: &mut [Lane], height: f64) {
    let down = (height - bottom(lanes)) / 2.0;
    for lane in lanes {
        lane.y += down;
        lane.text_y += down;
    }
}

fn ribbons(plot: &Plot, scale: f64, mut tops: Vec<f64>, mut bottoms: Vec<f64>) -> Vec<Ribbon> {
    let mut taken = Vec::new();
    let ribbon = |flow: &Flow| {
        let thick = (flow.amount * scale).max(THINNEST);
        let (y0, y1) = (tops[flow.from], bottoms[flow.to]);
        tops[flow.from] += flow.amount * scale;
        bottoms[flow.to] += flow.amount * scale;
        let (from, to) = (&plot.clients[flow.from].0, &plot.endpoints[flow.to].0);
        let share = percent(flow.share);
        let label = (flow.crosses == Some(true)).then(|| {
            let (x, y) = free_place(&mut taken, y0 + thick / 2.0, y1 + thick / 2.0);
            Label { text: share.clone(), x, y }
        });
        let leaves = if label.is_some() { ", across zones" } else { "" };
        Ribbon {
            path: path(y0, y1, thick),
            title: format!("{from} sends {share} to {to}{leaves}"),
            crosses: flow.crosses,
            label,
        }
    };
    plot.flows.iter().map(ribbon).collect()
}

/// A place on the ribbon's middle line where no label is yet, as far as there is one. Near its ends
/// first: in the middle, where ribbons cross, labels would cover each other.
fn free_place(taken: &mut Vec<(f64, f64)>, from: f64, to: f64) -> (f64, f64) {
    let at = |t: f64| {
        // The same cubic as the ribbon's edge: its control points are half-way.
        let ease = t * t * (3.0 - 2.0 * t);
        (round(100.0 * t), round(from + (to - from) * ease + 4.0))
    };
    let is_free = |taken: &[(f64, f64)], (x, y): (f64, f64)| {
        taken.iter().all(|(a, b)| (a - x).abs() > 28.0 || (b - y).abs() > 16.0)
    };
    let places = [0.22, 0.78, 0.3, 0.7, 0.5, 0.16, 0.84].map(at);
    let free = places.into_iter().find(|place| is_free(taken, *place)).unwrap_or(places[0]);
    taken.push(free);
    free
}

fn path(y0: f64, y1: f64, thick: f64) -> String {
    let mut path = String::new();
    let (a, b) = (round(y0), round(y1));
    let (c, d) = (round(y1 + thick), round(y0 + thick));
    let _ = write!(path, "M0 {a}C50 {a} 50 {b} 100 {b}L100 {c}C50 {c} 50 {d} 0 {d}Z");
    path
}

fn matrix(plot: Plot) -> Figure {
    let (rows, columns) = (plot.clients.len().min(plot.most), plot.endpoints.len().min(plot.most));
    let left_out = plot.clients.len() + plot.endpoints.len() - rows - columns;
    let by_place: BTreeMap<(usize, usize), &Flow> =
        plot.flows.iter().map(|flow| ((flow.from, flow.to), flow)).collect();
    let cell = |flow: Option<&&Flow>| match flow {
        // Nothing is sent, which is known.
        None => Cell { text: "–".to_owned(), shade: 0, crosses: None },
        Some(flow) => Cell {
            text: percent(flow.share),
            shade: 1 + (flow.share * 8.99).clamp(0.0, 8.0) as u8,
            crosses: flow.crosses,
        },
    };
    let row = |(from, (label, _)): (usize, &(String, String))| MatrixRow {
        label: label.clone(),
        cells: (0..columns).map(|to| cell(by_place.get(&(from, to)))).collect(),
    };
    Figure::Matrix {
        basis: Basis::Predicted,
        rows: plot.clients.iter().take(rows).enumerate().map(row).collect(),
        columns: plot.endpoints.iter().take(columns).map(|(label, _)| label.clone()).collect(),
        left_out,
        title: plot.title,
    }
}

/// Tenths are finer than a screen.
fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

// === impl Lane ===

impl Lane {
    fn rounded(self) -> Lane {
        let [y, height, text_y] = [self.y, self.height, self.text_y].map(round);
        Lane { y, height, text_y, ..self }
    }
}

// === impl Figure ===

impl Figure {
    /// How many elements it is drawn with.
    pub(super) fn marks(&self) -> usize {
        match self {
            Figure::Ribbons { lanes, ribbons, .. } => {
                let labels = ribbons.iter().filter(|ribbon| ribbon.label.is_some()).count();
                // Each ribbon is a sentence, too.
                3 * lanes.len() + 2 * ribbons.len() + labels
            }
            Figure::Matrix { columns, rows, .. } => (1 + rows.len()) * (1 + columns.len()),
            Figure::Nothing { .. } => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(n: usize) -> Plot {
        let name = |i| format!("zone-{i}");
        let part = 1.0 / n as f64;
        let flow = |(from, to): (usize, usize)| Flow {
            from,
            to,
            amount: part * part,
            share: part,
            crosses: Some(from != to),
        };
        Plot {
            title: String::new(),
            most: MOST_CELLS,
            clients: (0..n).map(|i| (name(i), String::new())).collect(),
            endpoints: (0..n).map(|i| (name(i), String::new())).collect(),
            flows: (0..n * n).map(|i| flow((i / n, i % n))).collect(),
        }
    }

    #[test]
    fn up_to_ten_zones_are_ribbons_and_more_a_matrix() {
        assert!(matches!(figure(plot(10)), Figure::Ribbons { .. }));
        let Figure::Matrix { rows, columns, left_out, .. } = figure(plot(11)) else { panic!() };
        assert_eq!((rows.len(), columns.len(), left_out), (11, 11, 0));
        let Figure::Matrix { rows, left_out, .. } = figure(plot(100)) else { panic!() };
        assert_eq!((rows.len(), left_out), (MOST_CELLS, 152));
        assert!(figure(plot(100)).marks() < 700);
    }

    #[test]
    fn the_lanes_of_a_side_are_as_high_as_what_they_send_and_do_not_overlap() {
        let Figure::Ribbons { lanes, ribbons, height, .. } = figure(plot(3)) else { panic!() };
        for side in [Side::Clients, Side::Endpoints] {
            let of: Vec<&Lane> = lanes.iter().filter(|lane| lane.side == side).collect();
            let sum: f64 = of.iter().map(|lane| lane.height).sum();
            assert!((sum - BAND).abs() < 1.0, "{sum}");
            assert!(of.windows(2).all(|two| two[0].y + two[0].height < two[1].y));
            assert!(of.windows(2).all(|two| two[0].text_y + two[0].text_height < two[1].text_y));
            assert!(of.iter().all(|lane| lane.y + lane.height <= height));
        }
        assert_eq!(ribbons.iter().filter(|ribbon| ribbon.label.is_some()).count(), 6);
        let places: Vec<(f64, f64)> =
            ribbons.iter().filter_map(|r| r.label.as_ref()).map(|l| (l.x, l.y)).collect();
        for (i, (x, y)) in places.iter().enumerate() {
            let apart = |(a, b): &(f64, f64)| (a - x).abs() > 28.0 || (b - y).abs() > 16.0;
            assert!(places[i + 1..].iter().all(apart), "labels cover each other: {places:?}");
        }
    }

    #[test]
    fn nothing_to_draw_is_said() {
        assert!(matches!(figure(Plot::default()), Figure::Nothing { .. }));
    }
}
