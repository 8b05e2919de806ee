//! `cargo xtask reference`: writes `docs/reference/` from the code. A test compares what is there, so
//! that a code, annotation or metric without its line fails the build.

mod pages;
mod scan;

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Failure, program};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compare instead of writing; fails where a page is out of date
    #[arg(long)]
    check: bool,
}

/// A page and what makes it.
struct Page {
    file: &'static str,
    text: fn(&Path) -> Result<String, String>,
}

/// Pages made from sources. `commands.md` comes from the binary, which knows its own flags.
const PAGES: &[Page] = &[
    Page { file: "codes.md", text: pages::codes },
    Page { file: "annotations.md", text: pages::annotations },
    Page { file: "metrics.md", text: pages::metrics },
    Page { file: "conditions.md", text: pages::conditions },
    Page { file: "configuration.md", text: pages::configuration },
];

const COMMANDS: &str = "commands.md";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let root = program::root();
    let stale = stale(&root)?;
    if args.check {
        let names: Vec<_> = stale.iter().map(|(file, _)| file.display().to_string()).collect();
        return if names.is_empty() {
            Ok(())
        } else {
            Err(Failure::Reference(out_of_date(&names)))
        };
    }
    for (file, text) in stale {
        write(&file, &text)?;
    }
    let mut cargo = program::program("cargo");
    cargo.args(["run", "--quiet", "--locked", "--package", "evenkeel", "--", "reference"]);
    let text = program::output(cargo)?;
    write(&folder(&root).join(COMMANDS), &text)
}

/// The pages whose text on the disk is not what the code gives, with what it gives.
fn stale(root: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
    let mut stale = Vec::new();
    for page in PAGES {
        let text = (page.text)(root).map_err(Failure::Reference)?;
        let file = folder(root).join(page.file);
        if fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        stale.push((file, text));
    }
    Ok(stale)
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::Reference(format!("{}: {error}", file.display()));
    fs::create_dir_all(file.parent().unwrap_or(file)).map_err(failed)?;
    fs::write(file, text).map_err(failed)?;
    eprintln!("wrote {}", file.display());
    Ok(())
}

fn out_of_date(names: &[String]) -> String {
    format!("out of date: {}; run `cargo xtask reference`", names.join(", "))
}

fn folder(root: &Path) -> PathBuf {
    root.join("docs/reference")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_up_to_date() {
        let stale = stale(&program::root()).unwrap();
        let names: Vec<_> = stale.iter().map(|(file, _)| file.display().to_string()).collect();
        assert!(names.is_empty(), "{}", out_of_date(&names));
    }
}
