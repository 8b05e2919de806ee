//! The form of manifests: where they are and what they inherit.

use crate::workspace::{Crate, Finding, Source};

pub(crate) fn check(krate: &Crate) -> Vec<Finding> {
    let mut findings = Vec::new();
    let sections = sections(&krate.manifest);
    let inherits = |(header, body): &(&str, Vec<&str>)| *header == "lints" && says_workspace(body);
    if !sections.iter().any(inherits) {
        let advice = "add `[lints]` with `workspace = true`";
        findings.push(krate.finding("lints-are-shared", advice.into()));
    }
    for name in sections.iter().flat_map(own_versions) {
        let advice = format!(
            "put the version of {name} into the root's [workspace.dependencies] and write `workspace = true` here"
        );
        findings.push(krate.finding("versions-once", advice));
    }
    findings
}

/// Every manifest is the root's or one level below `crates/`.
pub(crate) fn check_place(manifest: &Source) -> Option<Finding> {
    let parts: Vec<_> = manifest.path.split('/').collect();
    if matches!(parts[..], ["Cargo.toml"] | ["crates", _, "Cargo.toml"]) {
        return None;
    }
    Some(Finding {
        file: manifest.path.clone(),
        rule: "crates-are-flat",
        advice: "move the crate to crates/NAME".into(),
    })
}

/// Each `[header]` with the lines below it.
fn sections(manifest: &str) -> Vec<(&str, Vec<&str>)> {
    let mut sections = vec![("", Vec::new())];
    for line in manifest.lines() {
        if line.starts_with('[') {
            sections.push((line.trim_matches(['[', ']']), Vec::new()));
        } else if let Some((_, body)) = sections.last_mut() {
            body.push(line);
        }
    }
    sections
}

fn says_workspace(body: &[&str]) -> bool {
    body.contains(&"workspace = true")
}

/// The dependencies of a section that are not taken from the workspace's table.
fn own_versions<'a>((header, body): &(&'a str, Vec<&'a str>)) -> Vec<&'a str> {
    if let Some((_, name)) = header.split_once("dependencies.") {
        return if says_workspace(body) { vec![] } else { vec![name] };
    }
    if !header.ends_with("dependencies") {
        return vec![];
    }
    let entries = body.iter().filter_map(|line| line.split_once('='));
    // What is indented continues the list of features above.
    let entries = entries.filter(|(key, _)| !key.starts_with([' ', '#']));
    let own = entries.filter(|(key, value)| {
        !key.trim_end().ends_with(".workspace") && !value.contains("workspace = true")
    });
    own.map(|(key, _)| key.trim_end()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(manifest: &str) -> Vec<String> {
        let krate =
            Crate { folder: "topology".into(), manifest: manifest.into(), dependencies: vec![] };
        check(&krate).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lints_must_be_inherited() {
        let missing =
            "crates/topology/Cargo.toml: lints-are-shared: add `[lints]` with `workspace = true`";
        assert_eq!(advice("[package]\nname = \"x\"\n"), [missing]);
        assert_eq!(advice("[lints.rust]\nunsafe_code = \"deny\"\n"), [missing]);
        assert!(advice("[lints]\nworkspace = true\n").is_empty());
    }

    #[test]
    fn versions_must_come_from_the_workspace() {
        let own = |rest: &str| advice(&format!("[lints]\nworkspace = true\n\n{rest}")).len();
        assert_eq!(own("[dependencies]\na = \"1\"\nb = { version = \"1\" }\n"), 2);
        assert_eq!(own("[dev-dependencies]\na = { path = \"../a\" }\n"), 1);
        assert_eq!(own("[target.'cfg(unix)'.dependencies]\na = \"1\"\n"), 1);
        assert_eq!(own("[dependencies.a]\nversion = \"1\"\n"), 1);
        assert_eq!(own("[dependencies.a]\nworkspace = true\n"), 0);
        assert_eq!(own("[dependencies]\na.workspace = true\n# b = 1\n"), 0);
        assert_eq!(
            own("[dependencies]\na = { workspace = true, features = [\n  \"x=y\",\n] }\n"),
            0
        );
    }

    #[test]
    fn crates_lie_one_level_below_crates() {
        let misplaced = |path: &str| {
            let text = String::new();
            let path = path.into();
            check_place(&Source { path, text }).is_some()
        };
        assert!(!misplaced("Cargo.toml") && !misplaced("crates/nft/Cargo.toml"));
        assert!(misplaced("nft/Cargo.toml") && misplaced("crates/nft/fuzz/Cargo.toml"));
    }
}
