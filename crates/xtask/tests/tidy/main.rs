//! Reads the manifests and sources of the workspace and fails where they break its rules.
//!
//! The rules are tables in `rules.rs`. Each is checked by a function that sees one crate or one
//! file, and has its own test there on made-up input, so that a rule which can no longer fail is
//! noticed.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod edges;
mod manifests;
mod rules;
mod sources;
mod words;
mod workspace;

use crate::workspace::{crates, files};

#[test]
fn the_workspace_is_tidy() {
    let crates = crates();
    let mut findings: Vec<_> = crates.iter().flat_map(edges::check).collect();
    findings.extend(crates.iter().flat_map(manifests::check));
    findings.extend(files("Cargo.toml").iter().filter_map(manifests::check_place));
    findings.extend(files(".rs").iter().flat_map(sources::check));
    for ending in [".rs", ".md", ".yaml"] {
        findings.extend(files(ending).iter().flat_map(words::check));
    }
    let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n\n{}\n", lines.join("\n"));
}

#[test]
fn the_workspace_is_seen() {
    let folders: Vec<_> = crates().into_iter().map(|krate| krate.folder).collect();
    assert!(folders.contains(&"model".to_owned()) && folders.contains(&"xtask".to_owned()));
    let model = "crates/model/src/lib.rs";
    assert!(files(".rs").iter().any(|source| source.path == model));
}
