//! The journal's files, and which of them are current.
//!
//! `journal-N` are segments, in order. `snapshot-N` replaces everything before `journal-N`. `*.new`
//! files are unfinished; `format-V.*` are backups from before a migration.

use evenkeel_store::journal::JournalError;

use super::files::{Files, failed};

pub(super) const UNFINISHED: &str = ".new";

/// The current files, and the obsolete ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) snapshot: Option<u64>,
    /// Without gaps.
    pub(super) segments: Vec<u64>,
    pub(super) superseded: Vec<String>,
    pub(super) unfinished: Vec<String>,
}

pub(super) fn segment_name(number: u64) -> String {
    format!("journal-{number:010}")
}

pub(super) fn snapshot_name(number: u64) -> String {
    format!("snapshot-{number:010}")
}

impl Layout {
    pub(super) fn read(files: &impl Files) -> Result<Layout, JournalError> {
        let names = files.names().map_err(failed(files.path("")))?;
        Layout::of(names, |name| files.path(name))
    }

    fn of(mut names: Vec<String>, path: impl Fn(&str) -> String) -> Result<Layout, JournalError> {
        names.sort_unstable();
        let numbered = |name: &String, kind| name.strip_prefix(kind)?.parse::<u64>().ok();
        let snapshot = names.iter().filter_map(|name| numbered(name, "snapshot-")).max();
        let first = snapshot.unwrap_or(1);
        let mut layout = Layout { snapshot, ..Layout::default() };
        for name in names {
            let segment = numbered(&name, "journal-");
            let number = segment.or(numbered(&name, "snapshot-"));
            match segment {
                Some(segment) if segment >= first => layout.segments.push(segment),
                _ if number.is_some_and(|number| number < first) => layout.superseded.push(name),
                _ if name.ends_with(UNFINISHED) => layout.unfinished.push(name),
                _ => {}
            }
        }
        match layout.first_gap(first) {
            None => Ok(layout),
            Some(gap) => Err(JournalError::Damaged {
                path: path(&segment_name(gap)),
                offset: 0,
                problem: "it is missing".to_owned(),
            }),
        }
    }

    fn first_gap(&self, first: u64) -> Option<u64> {
        if self.segments.is_empty() {
            return self.snapshot;
        }
        let expected = first..first + self.segments.len() as u64;
        expected
            .zip(&self.segments)
            .find(|(expected, segment)| expected != *segment)
            .map(|(n, _)| n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Result<Layout, JournalError> {
        Layout::of(names.iter().map(|&name| name.to_owned()).collect(), str::to_owned)
    }

    #[test]
    fn the_newest_snapshot_supersedes_what_came_before_it() {
        let layout = of(&[
            "lock",
            "journal-0000000002",
            "journal-0000000003",
            "journal-0000000004",
            "snapshot-0000000002",
            "snapshot-0000000003",
            "snapshot-0000000004.new",
            "format-0.journal-0000000001",
        ])
        .unwrap();
        assert_eq!(layout.snapshot, Some(3));
        assert_eq!(layout.segments, [3, 4]);
        assert_eq!(layout.superseded, ["journal-0000000002", "snapshot-0000000002"]);
        assert_eq!(layout.unfinished, ["snapshot-0000000004.new"]);
    }

    #[test]
    fn a_missing_segment_is_reported_and_never_skipped() {
        for (names, missing) in [
            (&["journal-0000000001", "journal-0000000003"][..], "journal-0000000002"),
            (&["journal-0000000002"], "journal-0000000001"),
            (&["snapshot-0000000002"], "journal-0000000002"),
            (&["snapshot-0000000002", "journal-0000000003"], "journal-0000000002"),
        ] {
            let error = of(names).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{missing} is corrupt")), "{error}");
        }
        assert_eq!(of(&["lock"]).unwrap(), Layout::default());
    }
}
