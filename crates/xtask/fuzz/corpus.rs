//! The example clusters, split into single objects.
//!
//! Whole files would be slow inputs, and would never put a Service beside its Nodes.

use std::{fs, io, path::Path};

/// The objects of all `.yaml` files below `folder`, each as an item of a list: `- ` in front,
/// indented by two.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<String>> {
    let mut entries: Vec<_> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    entries.sort();
    let mut objects = Vec::new();
    for path in entries {
        if path.is_dir() {
            objects.extend(read(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            objects.extend(split(&fs::read_to_string(&path)?));
        }
    }
    Ok(objects)
}

fn split(text: &str) -> Vec<String> {
    let says = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
    let documents = text.split("---\n").filter(|text| text.lines().any(says));
    documents.flat_map(items).collect()
}

fn items(document: &str) -> Vec<String> {
    let Some((_, list)) = document.split_once("items:\n") else {
        let lines = document.trim_end().replace('\n', "\n  ");
        return vec![format!("- {lines}\n")];
    };
    let mut items: Vec<String> = Vec::new();
    for line in list.split_inclusive('\n') {
        match items.last_mut() {
            _ if line.starts_with("- ") => items.push(line.to_owned()),
            Some(item) if line.starts_with("  ") => item.push_str(line),
            _ => {}
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_documents_become_items() {
        let list = "apiVersion: v1\nitems:\n- kind: A\n  x: 1\n- kind: B\nkind: List\n";
        assert_eq!(split(list), ["- kind: A\n  x: 1\n", "- kind: B\n"]);
        let documents = "# Two.\n---\nkind: A\nspec:\n  x: 1\n---\nkind: B\n";
        assert_eq!(split(documents), ["- kind: A\n  spec:\n    x: 1\n", "- kind: B\n"]);
    }
}
