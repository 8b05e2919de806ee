//! Tables in the style of `kubectl`: aligned columns, no lines.

use std::fmt::Write;

use evenkeel_model::harmless;

use crate::printer::HEADING;

/// Rows of cells below a heading. Columns are as wide as their widest cell.
#[derive(Debug, Default)]
pub(crate) struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&'static str]) -> Self {
        Table { heading: heading.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let harmless = |cell: String| harmless(&cell).into_owned();
        self.rows.push(cells.into_iter().map(harmless).collect());
    }

    /// Every line begins with `indent`; none ends with spaces.
    pub(crate) fn render(&self, indent: &str) -> String {
        let width = |column: usize, name: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0).max(name.len())
        };
        let widths: Vec<usize> =
            self.heading.iter().enumerate().map(|(i, name)| width(i, name)).collect();
        let heading: Vec<String> = self.heading.iter().map(ToString::to_string).collect();
        let mut text = format!("{indent}{HEADING}{}{HEADING:#}\n", line(&heading, &widths));
        for row in &self.rows {
            let _ = writeln!(text, "{indent}{}", line(row, &widths));
        }
        text
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, &width) in cells.iter().zip(widths) {
        let _ = write!(line, "{cell:<width$}   ");
    }
    line.trim_end().to_owned()
}

/// 0.333 as `33.3 %`, 1 as `100 %`.
pub(crate) fn percent(ratio: f64) -> String {
    let value = (ratio * 1000.0).round() / 10.0;
    format!("{value} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_clean() {
        let mut table = Table::new(&["A", "LONG"]);
        table.row(["wide cell".to_owned(), String::new()]);
        table.row(["x".to_owned(), "y".to_owned()]);
        let plain = anstream::adapter::strip_str(&table.render("  ")).to_string();
        assert_eq!(plain, "  A           LONG\n  wide cell\n  x           y\n");
    }

    #[test]
    fn percents_are_short() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(1.0 / 3.0), "33.3 %");
    }
}
