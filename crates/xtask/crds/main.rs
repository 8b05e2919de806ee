//! `deploy/crds`, from the types of `evenkeel-k8s`: one file for each definition, and a
//! kustomization that lists them. Those of `kuma.io` have a kustomization of their own,
//! `deploy/crds/mesh`: where Kuma is installed, they must not be applied.
//!
//! An example and not part of `cargo xtask`, which starts without building the workspace.

#![expect(clippy::print_stderr, reason = "a command line tool")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use evenkeel_k8s::custom::{definitions, mesh};
use serde_json::Value;

const GENERATED: &str = "# Written by `cargo xtask crds` from crates/k8s/src/custom. Change the types \
                         instead.\n";

fn main() -> ExitCode {
    let check = env::args().any(|argument| argument == "--check");
    let stale = stale(&folder());
    if check && !stale.is_empty() {
        eprintln!("{}", out_of_date(&stale));
        return ExitCode::FAILURE;
    }
    let written = stale.iter().try_for_each(|(path, text)| write(path, text.as_deref()));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error}", folder().display());
            ExitCode::FAILURE
        }
    }
}

/// A folder in `deploy/crds`, with what it defines.
type Folder = (&'static str, fn() -> Vec<Value>);

const FOLDERS: [Folder; 2] = [("", definitions), ("mesh", mesh::definitions)];

/// The files of a folder by their names, with their texts.
fn files(definitions: &[Value]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for definition in definitions {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let text =
            serde_saphyr::to_string(definition).expect("a definition can be written as YAML");
        files.insert(format!("{name}.yaml"), format!("{GENERATED}{text}"));
    }
    let resources: String = files.keys().map(|file| format!("  - {file}\n")).collect();
    let kustomization = format!(
        "{GENERATED}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\
         resources:\n{resources}"
    );
    files.insert("kustomization.yaml".to_owned(), kustomization);
    files
}

/// Files that are not what the types give, with what they give; none: no type gives it.
fn stale(root: &Path) -> Vec<(PathBuf, Option<String>)> {
    let of = |(folder, definitions): Folder| stale_in(&root.join(folder), files(&definitions()));
    FOLDERS.into_iter().flat_map(of).collect()
}

fn stale_in(folder: &Path, files: BTreeMap<String, String>) -> Vec<(PathBuf, Option<String>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let there = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_dir()));
    let there: BTreeSet<String> =
        there.map(|entry| entry.file_name().to_string_lossy().into()).collect();
    let gone = there.into_iter().filter(|name| !files.contains_key(name)).map(|name| (name, None));
    let gone: Vec<_> = gone.collect();
    let differs = |name: &str, text: &str| {
        fs::read_to_string(folder.join(name)).map_or(true, |found| found != text)
    };
    let changed = files.into_iter().filter(|(name, text)| differs(name, text));
    let all = changed.map(|(name, text)| (name, Some(text))).chain(gone);
    all.map(|(name, text)| (folder.join(name), text)).collect()
}

fn write(path: &Path, text: Option<&str>) -> io::Result<()> {
    let Some(text) = text else {
        eprintln!("deleted {}", path.display());
        return fs::remove_file(path);
    };
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

fn out_of_date(stale: &[(PathBuf, Option<String>)]) -> String {
    let names: Vec<_> = stale.iter().map(|(path, _)| path.display().to_string()).collect();
    format!("out of date: {}; run `cargo xtask crds`", names.join(", "))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_in_deploy_are_up_to_date() {
        let stale = stale(&folder());
        assert!(stale.is_empty(), "{}", out_of_date(&stale));
    }

    #[test]
    fn files_that_differ_or_belong_to_no_type_are_stale() {
        let folder = env::temp_dir().join(format!("evenkeel-crds-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (path, text) in stale(&folder) {
            write(&path, text.as_deref()).unwrap();
        }
        assert_eq!(stale(&folder), []);
        let changed = folder.join("kustomization.yaml");
        fs::write(&changed, "resources: []\n").unwrap();
        let others = ["other.yaml", "mesh/other.yaml"].map(|name| folder.join(name));
        others.iter().for_each(|other| fs::write(other, "").unwrap());
        let stale = stale(&folder);
        fs::remove_dir_all(&folder).unwrap();
        let names: Vec<_> =
            stale.iter().map(|(path, text)| (path.clone(), text.is_some())).collect();
        let [other, other_of_mesh] = others;
        assert_eq!(names, [(changed, true), (other, false), (other_of_mesh, false)]);
    }
}
