//! Rows of a dump, as `apf_controller_debug.go` of Kubernetes writes them: cells end in a comma and are
//! padded, and nothing is quoted.
//!
//! One column can hold any text, also commas: the flow distinguisher, which comes from requests. What is
//! before and after it cannot, so a row is read from both ends. A row that does not have the cells that the
//! head names is not guessed at but counted.

/// More rows are not read.
const MOST_ROWS: usize = 20_000;
/// A longer row is not read.
const LONGEST: usize = 16 * 1024;

/// The wanted cells of every row.
#[derive(Debug)]
pub(super) struct Rows<'t, const N: usize> {
    pub rows: Vec<[&'t str; N]>,
    /// Rows that were malformed or beyond the bounds.
    pub unread: usize,
}

/// The cells of `wanted` columns, in that order; `free` is the name of the one that can hold any text.
/// `None` if the head lacks one of them.
pub(super) fn rows<'t, const N: usize>(
    text: &'t str,
    wanted: [&str; N],
    free: &str,
) -> Option<Rows<'t, N>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next()?.split(',').map(str::trim).collect();
    let place = |name: &str| head.iter().position(|found| *found == name);
    let free = place(free);
    let mut places = [0; N];
    for (to, name) in places.iter_mut().zip(wanted) {
        *to = place(name)?;
    }
    let mut read = Rows { rows: Vec::new(), unread: 0 };
    for line in lines {
        match cells(line, head.len(), free) {
            Some(cells) if read.rows.len() < MOST_ROWS => {
                read.rows.push(places.map(|place| cells[place]));
            }
            _ => read.unread += 1,
        }
    }
    Some(read)
}

/// As many cells as there are columns.
fn cells(line: &str, columns: usize, free: Option<usize>) -> Option<Vec<&str>> {
    if line.len() > LONGEST {
        return None;
    }
    let Some(free) = free else {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        return (cells.len() == columns).then_some(cells);
    };
    let mut cells: Vec<&str> = line.splitn(free + 1, ',').collect();
    let rest = cells.pop()?;
    let mut behind: Vec<&str> = rest.rsplitn(columns - free, ',').collect();
    behind.reverse();
    cells.append(&mut behind);
    (cells.len() == columns).then(|| cells.into_iter().map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_commas_stays_in_its_cell() {
        let text = "Level, Flow,       Seats\n\
                    a,     x, 7, y,    1\n\
                    a,     ,           2\n\
                    a,     plain,      3\n";
        let read = rows(text, ["Level", "Flow", "Seats"], "Flow").unwrap();
        assert_eq!(read.rows, [["a", "x, 7, y", "1"], ["a", "", "2"], ["a", "plain", "3"]]);
        assert_eq!(read.unread, 0);
    }

    #[test]
    fn malformed_rows_are_counted_and_not_guessed_at() {
        let long = format!("a, {}, 1", "x".repeat(LONGEST));
        let text = format!("Level, Flow, Seats\n{long}\n\na\na, b\nnot,   a, row, 1\n");
        let read = rows(&text, ["Level", "Seats"], "Flow").unwrap();
        assert_eq!((read.rows, read.unread), (vec![["not", "1"]], 4));
        let read = rows("A, B\n1, 2\n1, 2, 3\n", ["B"], "Flow").unwrap();
        assert_eq!((read.rows, read.unread), (vec![["2"]], 1));
    }

    #[test]
    fn another_head_is_no_dump() {
        for text in ["", "\n", "<html>", "{\"kind\": \"Status\"}", "Level; Flow\n"] {
            assert!(rows(text, ["Level"], "Flow").is_none(), "{text}");
        }
    }

    #[test]
    fn rows_beyond_the_bound_are_counted() {
        let text = format!("Level\n{}", "a\n".repeat(MOST_ROWS + 5));
        let read = rows(&text, ["Level"], "Flow").unwrap();
        assert_eq!((read.rows.len(), read.unread), (MOST_ROWS, 5));
    }
}
