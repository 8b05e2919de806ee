//! Running the binary and looking at what it said.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What came of one run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `evenkeel` at the root of the project, cut off from any cluster of this machine.
pub(crate) fn evenkeel(args: &[&str], stdin: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(args)
        .current_dir(root())
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A binary that refuses early need not read all of it.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().expect("not killed"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs on the example cluster and expects success.
pub(crate) fn on_example(args: &[&str]) -> String {
    let all = [args, &["-n", "shop", "-f", "examples/three-zones"]].concat();
    let ran = evenkeel(&all, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    ran.stdout
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares with `golden/NAME`; `UPDATE_GOLDEN=1` writes it instead.
pub(crate) fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, got).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap_or_default();
    assert!(got == wanted, "{name} differs (UPDATE_GOLDEN=1 accepts it):\n{got}");
}
