//! The figures beside what they should be.

/// One thing measured.
pub(crate) struct Figure {
    pub(crate) what: &'static str,
    pub(crate) here: String,
    pub(crate) target: &'static str,
    /// What kube-apiserver with etcd did in the same test.
    pub(crate) kubernetes: &'static str,
    pub(crate) met: bool,
}

const HEADINGS: [&str; 5] = ["", "kube-apiserver", "here", "target", ""];

pub(crate) fn print(figures: &[Figure]) {
    let rows: Vec<[&str; 5]> = figures
        .iter()
        .map(|figure| {
            let met = if figure.met { "" } else { "not met" };
            [figure.what, figure.kubernetes, &figure.here, figure.target, met]
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&HEADINGS]).map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    println!();
    for row in [HEADINGS].iter().chain(&rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

/// A number in groups of three digits.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let from_end = digits.len();
    let grouped = digits.char_indices().map(|(at, digit)| match (from_end - at) % 3 {
        0 if at > 0 => format!(",{digit}"),
        _ => digit.to_string(),
    });
    grouped.collect()
}
