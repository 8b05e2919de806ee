//! Files of one volume that get in each other's way.

use serde_json::Value;

use crate::{
    invalid::quoted,
    kinds::read::{list, text},
};

/// A path of a file, and what it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    path: String,
    source: String,
}

pub(super) fn overlaps(warnings: &mut Vec<String>, spec: &Value) {
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

fn projected(warnings: &mut Vec<String>, volume: &Value, name: &str) {
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

/// Two files collide when one is the other, or is in the directory that the other would have to be.
fn collide(warnings: &mut Vec<String>, volume: &str, title: &str, targets: Vec<Target>) {
    let mut seen: Vec<Target> = Vec::new();
    for target in targets {
        let target = Target { path: target.path.trim_end_matches('/').to_owned(), ..target };
        let inside = |one: &str, other: &str| format!("{one}/").starts_with(&format!("{other}/"));
        for other in seen.iter().filter(|other| !other.path.is_empty() && !target.path.is_empty()) {
            if inside(&other.path, &target.path) || inside(&target.path, &other.path) {
                warnings.push(format!(
                    "volume {volume} ({title}): overlapping paths: {} with {}",
                    shown(&target),
                    shown(other)
                ));
            }
        }
        seen.push(target);
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
            let mut warnings = Vec::new();
            overlaps(&mut warnings, &json!({"volumes": [volume]}));
            assert_eq!(warnings, expected);
        }
    }
}
