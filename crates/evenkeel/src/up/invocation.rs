//! The command line that runs this program again, for lines that people copy.

use std::{
    env,
    ffi::OsStr,
    path::{Path, absolute},
};

use crate::apiserver::shell_quoted;

/// How this process was started.
pub(super) fn of_process() -> String {
    let program = env::args_os().next().unwrap_or_default();
    let is_cargo = env::var_os("CARGO").is_some()
        && env::var_os("CARGO_PKG_NAME").is_some_and(|name| name == "evenkeel");
    command(&program, is_cargo)
}

/// `program`: the first argument of the process; `is_cargo`: `cargo run` started it.
fn command(program: &OsStr, is_cargo: bool) -> String {
    let path = Path::new(program);
    if is_cargo {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let release = if folder == "release" { " --release" } else { "" };
        return format!("cargo run{release} -p evenkeel --");
    }
    match path.components().count() {
        // Found on PATH, or unknown.
        0 => "evenkeel".to_owned(),
        1 => shell_quoted(path),
        // Other shells have other current folders.
        _ => shell_quoted(&absolute(path).unwrap_or_else(|_| path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_named_as_it_was_started() {
        let here = absolute("target/debug/evenkeel").unwrap();
        let cases = [
            ("", false, "evenkeel"),
            ("evenkeel", false, "evenkeel"),
            ("/usr/local/bin/evenkeel", false, "/usr/local/bin/evenkeel"),
            ("/opt/even keel/evenkeel", false, "'/opt/even keel/evenkeel'"),
            ("target/debug/evenkeel", false, here.to_str().unwrap()),
            ("target/debug/evenkeel", true, "cargo run -p evenkeel --"),
            ("target/release/evenkeel", true, "cargo run --release -p evenkeel --"),
        ];
        for (program, is_cargo, expected) in cases {
            assert_eq!(command(OsStr::new(program), is_cargo), expected, "{program}");
        }
    }
}
