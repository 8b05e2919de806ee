//! The instructions: what they show can be read, and what they name exists.

use crate::{
    alerts,
    rendered::{parse, path, read, text},
};

const README: &str = "README.md";

#[test]
fn every_block_of_yaml_in_the_instructions_is_yaml() {
    let readme = read(README);
    let blocks = readme.split("```yaml\n").skip(1);
    let blocks: Vec<_> = blocks.map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 4, "{}", blocks.len());
    for block in blocks {
        assert!(parse(block).iter().all(|document| !document.is_null()), "{block}");
    }
}

#[test]
fn every_folder_that_the_instructions_name_exists() {
    let readme = read(README);
    let named = readme.split("deploy/").skip(1);
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '.');
    let named = named.map(|rest| rest.split(|c| !is_path(c)).next().unwrap().trim_end_matches('.'));
    let missing: Vec<_> = named.filter(|name| !path(name).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_section_that_an_alert_sends_to_exists() {
    let readme = read(README);
    let mut sent = 0;
    for rule in alerts::rules() {
        let action = text(&rule["annotations"]["action"]);
        for rest in action.split("deploy/README.md, \"").skip(1) {
            let section = rest.split('"').next().unwrap();
            assert!(readme.contains(&format!("\n## {section}\n")), "{section}");
            sent += 1;
        }
    }
    assert!(sent >= 2, "{sent}");
}
