//! The figures beside what they should be.

/// One thing measured.
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) here: String,
    pub(crate) target: &'static str,
    /// What Kubernetes' own did in the same test.
    pub(crate) kubernetes: &'static str,
    pub(crate) met: bool,
}

/// `kubernetes`: which part of it the others are compared with.
pub(crate) fn print(kubernetes: &str, figures: &[Figure]) {
    let headings = ["", kubernetes, "here", "target", ""];
    let rows: Vec<[&str; 5]> = figures
        .iter()
        .map(|figure| {
            let met = match figure.target {
                "" => "",
                _ if figure.met => "met",
                _ => "not met",
            };
            [&*figure.what, figure.kubernetes, &figure.here, figure.target, met]
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&headings]).map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    println!();
    for row in [headings].iter().chain(&rows) {
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
