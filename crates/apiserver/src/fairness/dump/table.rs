//! Columns of text, as Go's `tabwriter` aligns them for these dumps.

/// Least width of a column.
const LEAST: usize = 8;

/// Rows of cells; the first are the names of the columns.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n str>) -> Table {
        Table { rows: vec![names.map(str::to_owned).collect()] }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(printable).collect());
    }

    /// Every cell but the last of a row ends in a comma and is padded.
    pub(super) fn text(&self) -> String {
        let n = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count() + 2).max().unwrap_or_default().max(LEAST)
        };
        let widths: Vec<usize> = (0..n).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                text.push_str(cell);
                if column + 1 < n {
                    text.push(',');
                    let padding = widths[column].saturating_sub(cell.chars().count() + 1);
                    text.extend(std::iter::repeat_n(' ', padding));
                }
            }
            text.push('\n');
        }
        text
    }
}

/// Names come from requests: none of them may begin a line or steer a terminal.
fn printable(cell: String) -> String {
    match cell.chars().any(char::is_control) {
        true => cell.escape_debug().to_string(),
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned_and_names_stay_in_their_cells() {
        let mut table = Table::new(["Name", "Index", "Last"].into_iter());
        table.row(["a-long-name", "1", "x"].map(str::to_owned));
        table.row(["b\nc", "22", ""].map(str::to_owned));
        let expected = "\
Name,        Index,  Last
a-long-name, 1,      x
b\\nc,        22,     
";
        assert_eq!(table.text(), expected);
    }
}
