//! What `docs/reference` is made from, kept beside the code by tests.

use std::{env, fs};

/// Compares the descriptions in a scrape that has every metric with `file`; with `EVENKEEL_UPDATE` set,
/// writes them first.
///
/// # Panics
/// If they differ, or the file can't be read or written.
pub fn check_metrics(scrape: &str, file: &str) {
    let is_description = |line: &&str| line.starts_with("# HELP") || line.starts_with("# TYPE");
    let lines = scrape.lines().filter(is_description);
    let described: String = lines.flat_map(|line| [line, "\n"]).collect();
    if env::var_os("EVENKEEL_UPDATE").is_some() {
        fs::write(file, &described).expect("the file can be written");
    }
    let listed = fs::read_to_string(file).expect("the file can be read");
    assert_eq!(listed, described, "set EVENKEEL_UPDATE=1 to write {file} again");
}
