//! How series are distinguished: by colour, and in greyscale by dashes and hatching.

use std::fmt::Write;

/// The maximum number of series that are drawn separately.
pub(crate) const MAX_SERIES: usize = 12;

/// Colours that colour-blind readers can tell apart: Okabe and Ito (2008) without yellow, which is
/// too pale for lines, then dark ones of Tol (2021). Those with the same dashes differ in lightness.
const COLOURS: [&str; MAX_SERIES] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#882255", "#332288",
    "#999933", "#117733", "#44546a", "#7f3f00",
];
const DASHES: [&str; 6] = ["", "7 3", "2 2", "9 3 2 3", "4 2", "12 3 2 3 2 3"];
/// What is drawn over the colour, in a tile of 8 by 8.
const HATCHES: [&str; 6] = [
    "",
    "M-2 2L2 -2M0 8L8 0M6 10L10 6",
    "M2 2h1M6 6h1",
    "M-2 6L2 10M0 0L8 8M6 -2L10 2",
    "M0 4h8",
    "M4 0v8",
];
/// All series beyond the limit together.
pub(crate) const OTHERS: &str = "#c8c8c8";

/// How one series is drawn; those beyond the limit are drawn together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Style(pub usize);

impl Style {
    pub(crate) fn colour(self) -> &'static str {
        COLOURS.get(self.0).copied().unwrap_or(OTHERS)
    }

    /// Attributes of a line.
    pub(crate) fn line(self) -> String {
        let dash = match DASHES[self.0 % DASHES.len()] {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        format!("fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{dash}", self.colour())
    }

    pub(crate) fn fill(self) -> String {
        match self.0 < MAX_SERIES && !HATCHES[self.0 % HATCHES.len()].is_empty() {
            true => format!("url(#fill-{})", self.0),
            false => self.colour().to_owned(),
        }
    }
}

/// The hatching that the first `n` series need.
pub(crate) fn definitions(n: usize) -> String {
    let mut svg = "<defs>\n".to_owned();
    for style in (0..n.min(MAX_SERIES)).map(Style) {
        let hatch = HATCHES[style.0 % HATCHES.len()];
        if hatch.is_empty() {
            continue;
        }
        let _ = writeln!(
            svg,
            "<pattern id=\"fill-{}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"8\" height=\"8\" fill=\"{}\"/>\
             <path d=\"{hatch}\" stroke=\"white\" stroke-width=\"1.3\" stroke-opacity=\"0.75\"/>\
             </pattern>",
            style.0,
            style.colour()
        );
    }
    svg + "</defs>\n"
}
