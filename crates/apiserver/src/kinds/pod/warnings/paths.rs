//! Conflicting files in one volume.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    invalid::quoted,
    kinds::read::{list, text},
    warnings::Warnings,
};

/// The path of a file, and its origin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    path: String,
    source: String,
}

pub(super) fn overlaps(warnings: &mut Warnings, spec: &Value) {
    for volume in list(spec, &["volumes"]) {
        let name = quoted(text(volume, &["name"]));
        for (kind, shown, field) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let title = match field {
                "" => shown.to_owned(),
                field => format!("{shown} {}", quoted(text(volume, &[kind, field]))),
            };
            collide(warnings, &name, &title, targets(&volume[kind], ""));
        }
        projected(warnings, volume, &name);
    }
}

fn projected(warnings: &mut Warnings, volume: &Value, name: &str) {
    let mut all = Vec::new();
    for source in list(volume, &["projected", "sources"]) {
        if source.as_object().is_none_or(serde_json::Map::is_empty) {
            warnings.push(format!("volume {name} (Projected) has no sources provided"));
            continue;
        }
        for (kind, shown) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
            let title = format!("{shown} {}", quoted(text(source, &[kind, "name"])));
            all.extend(targets(&source[kind], &title));
        }
        all.extend(targets(&source["downwardAPI"], "DownwardAPI"));
        let path = text(source, &["serviceAccountToken", "path"]).to_owned();
        if source["serviceAccountToken"].is_object() {
            all.push(Target { path, source: "ServiceAccountToken".to_owned() });
        }
    }
    collide(warnings, name, "Projected", all);
}

fn targets(source: &Value, title: &str) -> Vec<Target> {
    let target =
        |item: &Value| Target { path: text(item, &["path"]).to_owned(), source: title.to_owned() };
    list(source, &["items"]).iter().map(target).collect()
}

/// Two files conflict if they have the same path, or one is inside the other.
fn collide(warnings: &mut Warnings, volume: &str, title: &str, targets: Vec<Target>) {
    let mut seen = Seen::default();
    for target in targets {
        let target = Target { path: target.path.trim_end_matches('/').to_owned(), ..target };
        if target.path.is_empty() {
            continue;
        }
        for other in seen.add(&target) {
            let (one, other) = (shown(&target), shown(&seen.targets[other]));
            let words = "overlapping paths";
            warnings.push(format!("volume {volume} ({title}): {words}: {one} with {other}"));
            if warnings.is_full() {
                return;
            }
        }
    }
}

/// The targets so far, without duplicates, and a tree of directories to find them in.
#[derive(Debug, Default)]
struct Seen {
    targets: Vec<Target>,
    /// The index of a target, and how many targets it has been compared with.
    compared: BTreeMap<Target, (usize, usize)>,
    /// By parent directory and name; 0 is the root.
    children: BTreeMap<(usize, String), usize>,
    directories: Vec<Directory>,
}

/// Indices of targets, in order.
#[derive(Debug, Default)]
struct Directory {
    /// Targets at exactly this path.
    here: Vec<usize>,
    /// Targets at this path or inside.
    inside: Vec<usize>,
}

impl Seen {
    /// Adds a target, and returns the conflicting ones that it was not compared with yet.
    fn add(&mut self, target: &Target) -> Vec<usize> {
        let way = self.way(&target.path);
        let known = self.compared.get(target).copied();
        let (at, from) = known.unwrap_or((self.targets.len(), 0));
        let mut found = Vec::new();
        for (depth, directory) in way.iter().enumerate() {
            let Directory { here, inside } = &self.directories[*directory];
            let colliding = if depth + 1 == way.len() { inside } else { here };
            let new = colliding.partition_point(|other| *other < from);
            found.extend_from_slice(&colliding[new..]);
        }
        found.sort_unstable();
        self.compared.insert(target.clone(), (at, self.targets.len()));
        if known.is_none() {
            self.targets.push(target.clone());
            for directory in &way {
                self.directories[*directory].inside.push(at);
            }
            way.last().into_iter().for_each(|last| self.directories[*last].here.push(at));
        }
        found
    }

    /// The directories on the path, ending with the path itself.
    fn way(&mut self, path: &str) -> Vec<usize> {
        let mut way = Vec::new();
        let mut parent = 0;
        for name in path.split('/') {
            let next = self.directories.len();
            let found = *self.children.entry((parent, name.to_owned())).or_insert(next + 1);
            if found == next + 1 {
                self.directories.push(Directory::default());
            }
            way.push(found - 1);
            parent = found;
        }
        way
    }
}

fn shown(target: &Target) -> String {
    match target.source.as_str() {
        "" => quoted(&target.path),
        source => format!("{} ({source})", quoted(&target.path)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn files_in_each_others_way_are_named() {
        let items = json!([{"path": "a/b"}, {"path": "a"}, {"path": "ab"}]);
        for (volume, expected) in [
            (
                json!({"name": "v", "configMap": {"name": "m", "items": items}}),
                vec!["volume \"v\" (ConfigMap \"m\"): overlapping paths: \"a\" with \"a/b\""],
            ),
            (
                json!({"name": "v", "projected": {"sources": [{}, {"secret": {"name": "s", "items": [{"path": "t"}]}}, {"serviceAccountToken": {"path": "t"}}]}}),
                vec![
                    "volume \"v\" (Projected) has no sources provided",
                    "volume \"v\" (Projected): overlapping paths: \"t\" (ServiceAccountToken) with \"t\" (Secret \"s\")",
                ],
            ),
        ] {
            let mut warnings = Warnings::default();
            overlaps(&mut warnings, &json!({"volumes": [volume]}));
            assert_eq!(warnings.into_texts(), expected);
        }
    }

    /// Compares every pair.
    fn pairs(paths: &[String]) -> Vec<String> {
        let inside = |one: &str, other: &str| format!("{one}/").starts_with(&format!("{other}/"));
        let mut texts = Vec::new();
        for (i, path) in paths.iter().enumerate() {
            for other in &paths[..i] {
                let text = format!("{path} with {other}");
                if (inside(path, other) || inside(other, path)) && !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        texts
    }

    proptest! {
        #[test]
        fn the_tree_finds_the_pairs_that_collide(
            paths in prop::collection::vec("[ab](/[abc]?){0,3}[ab]", 0..12),
        ) {
            let mut seen = Seen::default();
            let mut texts = Vec::new();
            for path in &paths {
                let target = Target { path: path.clone(), source: String::new() };
                for other in seen.add(&target) {
                    texts.push(format!("{path} with {}", seen.targets[other].path));
                }
            }
            prop_assert_eq!(texts, pairs(&paths));
        }
    }
}
