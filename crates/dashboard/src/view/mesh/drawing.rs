//! A drawing of rectangles and words, whose geometry is computed here. The page only sets attributes.

use serde::Serialize;

use crate::view::words::Basis;

pub(super) const WIDTH: f64 = 720.0;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drawing {
    /// What it shows, for those who don't see it.
    pub title: String,
    pub basis: Basis,
    pub width: f64,
    pub height: f64,
    pub shapes: Vec<Shape>,
    pub keys: Vec<Mark>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Shape {
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        class: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    Text {
        x: f64,
        y: f64,
        anchor: Anchor,
        class: &'static str,
        text: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// What a look of a shape means.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    pub class: &'static str,
    pub text: &'static str,
}

/// Where a rectangle is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

// === impl Drawing ===

impl Drawing {
    pub(super) fn new(title: String, basis: Basis) -> Drawing {
        let (shapes, keys) = (Vec::new(), Vec::new());
        Drawing { title, basis, width: WIDTH, height: 0.0, shapes, keys }
    }

    pub(super) fn rect(&mut self, place: Place, class: &'static str, title: Option<String>) {
        let Place { x, y, width, height } = place;
        let [x, y, width, height] = [x, y, width, height].map(round);
        self.height = self.height.max(y + height);
        self.shapes.push(Shape::Rect { x, y, width, height, class, title });
    }

    pub(super) fn text(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        class: &'static str,
        text: String,
    ) {
        let (x, y) = (round(x), round(y));
        self.height = self.height.max(y + 4.0);
        self.shapes.push(Shape::Text { x, y, anchor, class, text });
    }

    pub(super) fn key(&mut self, class: &'static str, text: &'static str) {
        let is_used =
            |shape: &Shape| matches!(shape, Shape::Rect { class: used, .. } if *used == class);
        if self.shapes.iter().any(is_used) {
            self.keys.push(Mark { class, text });
        }
    }

    pub(super) fn marks(&self) -> usize {
        self.shapes.len()
    }
}

/// As much of a text as fits about so many units, at 12 px.
pub(super) fn fitting(text: &str, width: f64) -> String {
    let most = (width / 6.6).max(1.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Tenths are finer than a screen.
pub(super) fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}
