//! What the rules look at: crates with their dependencies, and sources.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// A rule broken: where, which, and what to do.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) file: String,
    pub(crate) rule: &'static str,
    pub(crate) advice: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Crate {
    /// Its folder below `crates/`.
    pub(crate) folder: String,
    /// The text of its `Cargo.toml`.
    pub(crate) manifest: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The folder, if the dependency is one of our crates.
    pub(crate) ours: Option<String>,
    /// Used by tests, benches and examples only.
    pub(crate) dev: bool,
}

/// A file, by its path from the root.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// As cargo tells it: what was compiled in may name another checkout with the same target folder.
fn root() -> PathBuf {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    here.ancestors().nth(2).unwrap().to_owned()
}

/// The members of the workspace, as cargo itself understands them.
pub(crate) fn crates() -> Vec<Crate> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .args(["--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {said}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().map(Crate::read).collect()
}

/// All files with this ending, in the order of their paths.
pub(crate) fn files(ending: &str) -> Vec<Source> {
    let mut found = Vec::new();
    let root = root();
    collect(&root, &root, ending, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(root: &Path, folder: &Path, ending: &str, into: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            collect(root, &path, ending, into);
        } else if path.is_file() && name.ends_with(ending) {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root).unwrap();
            let path = path.to_str().unwrap().to_owned();
            into.push(Source { path, text });
        }
    }
}

// === impl Finding ===

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.rule, self.advice)
    }
}

// === impl Crate ===

impl Crate {
    fn read(package: &Value) -> Self {
        let path = Path::new(package["manifest_path"].as_str().unwrap());
        let dependencies = package["dependencies"].as_array().unwrap();
        Crate {
            folder: file_name(path.parent().unwrap()),
            manifest: fs::read_to_string(path).unwrap(),
            dependencies: dependencies.iter().map(Dependency::read).collect(),
        }
    }

    pub(crate) fn finding(&self, rule: &'static str, advice: String) -> Finding {
        Finding { file: format!("crates/{}/Cargo.toml", self.folder), rule, advice }
    }
}

// === impl Dependency ===

impl Dependency {
    fn read(dependency: &Value) -> Self {
        Dependency {
            name: dependency["name"].as_str().unwrap().to_owned(),
            ours: dependency["path"].as_str().map(|path| file_name(Path::new(path))),
            dev: dependency["kind"] == "dev",
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
