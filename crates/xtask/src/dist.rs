//! `cargo xtask dist`: one archive that runs on any Linux of this architecture.
//!
//! The C library is linked in: musl where its target is installed, else glibc, which looks up names
//! in files and DNS only. The archive holds the binary, its completions and the licence; beside it
//! lies its SHA-256 checksum.

use std::{env::consts::ARCH, fs, path::Path};

use crate::{
    Failure,
    program::{output, program, root, status, succeeds},
};

const SHELLS: &[(&str, &str)] =
    &[("bash", "evenkeel.bash"), ("zsh", "_evenkeel"), ("fish", "evenkeel.fish")];

pub(crate) fn run() -> Result<(), Failure> {
    let target = target();
    let mut cargo = program("cargo");
    cargo.args(["build", "--release", "--locked", "--package", "evenkeel", "--target", &target]);
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    run_or(cargo, "build")?;
    let binary = root().join("target").join(&target).join("release/evenkeel");
    let name = format!("evenkeel-{}-{ARCH}-linux", env!("CARGO_PKG_VERSION"));
    let dist = root().join("target/dist");
    let folder = dist.join(&name);
    fill(&folder, &binary)?;
    let archive = format!("{name}.tar.gz");
    let mut tar = program("tar");
    tar.current_dir(&dist).args(["--owner=0", "--group=0", "--sort=name", "-czf", &archive, &name]);
    run_or(tar, "tar")?;
    let mut sum = program("sha256sum");
    sum.current_dir(&dist).arg(&archive);
    write(&dist.join(format!("{archive}.sha256")), &output(sum)?)?;
    let size = fs::metadata(folder.join("evenkeel")).map_err(|e| failed(&binary, &e))?.len();
    eprintln!("{}: binary of {} kB", dist.join(archive).display(), size / 1000);
    Ok(())
}

/// Binary, completions, licence.
fn fill(folder: &Path, binary: &Path) -> Result<(), Failure> {
    let completions = folder.join("completions");
    fs::create_dir_all(&completions).map_err(|e| failed(&completions, &e))?;
    copy(binary, &folder.join("evenkeel"))?;
    copy(&root().join("LICENSE"), &folder.join("LICENSE"))?;
    for (shell, file) in SHELLS {
        let mut evenkeel = program(&folder.join("evenkeel").to_string_lossy());
        evenkeel.args(["completion", shell]);
        write(&completions.join(file), &output(evenkeel)?)?;
    }
    Ok(())
}

fn target() -> String {
    let musl = format!("{ARCH}-unknown-linux-musl");
    let mut rustc = program("rustc");
    let libraries = output({
        rustc.args(["--print", "target-libdir", "--target", &musl]);
        rustc
    });
    let is_there = libraries.is_ok_and(|folder| Path::new(folder.trim()).is_dir());
    if is_there && succeeds(&["musl-gcc", "--version"]) {
        return musl;
    }
    format!("{ARCH}-unknown-linux-gnu")
}

fn run_or(command: std::process::Command, name: &str) -> Result<(), Failure> {
    if status(command)?.success() {
        return Ok(());
    }
    Err(Failure::Dist(format!("{name} failed")))
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(drop).map_err(|e| failed(from, &e))
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|e| failed(file, &e))
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Dist(format!("{}: {error}", path.display()))
}
