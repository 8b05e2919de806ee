//! Runs every command that the documentation shows, as it is printed, in one shell for each page.
//!
//! Commands come from fences marked `sh`. `prelude.sh` stands in for what a test can't do: servers go to
//! the background on free ports, `cargo run` is the binary that is there, `cargo xtask` is asked
//! whether it knows the command. What can't be run at all is in [`NOT_RUN`], with its reason.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

const PRELUDE: &str = include_str!("prelude.sh");

/// Parts of commands that no test can run.
const NOT_RUN: &[(&str, &str)] = &[
    ("port-forward", "the embedded API has no kubelet to forward to"),
    ("http://127.0.0.1:10271", "this is what port-forward makes reachable"),
    ("component=kube-controller-manager", "the embedded API has no such Pod"),
    ("-n evenkeel-system", "the Pods of the embedded API run nothing"),
    ("-n evenkeel-proxy", "the Pods of the embedded API run nothing"),
    ("-n evenkeel-mesh", "the Pods of the embedded API run nothing"),
    ("http://127.0.0.1:5680", "this is what port-forward makes reachable"),
    ("kube-proxy", "the embedded API has no such DaemonSet"),
    ("cluster-info", "kubeadm writes it"),
    ("monitoring.coreos.com", "the Prometheus operator is not there"),
    ("delete endpoints", "the embedded API does not serve Endpoints"),
];

/// What a page takes for granted: a cluster, and the files that it shows before it uses them.
const GRANTED: &[(&str, &str)] = &[(
    "deploy/README.md",
    "server up --ephemeral
kubectl config set-context --current --namespace=shop
printf 'resources: [deploy/overlays/opt-in]' >kustomization.yaml
kubectl -n shop wait deployment --all --for=condition=Available --timeout=60s",
)];

/// Files and folders that commands name.
const NAMED: &[&str] = &["examples", "deploy", "crates", "docs", "LICENSE"];

/// Held by a page that creates network namespaces.
static NETWORK: Mutex<()> = Mutex::new(());

#[test]
fn every_command_of_the_readme_runs() {
    run("README.md");
}

#[test]
fn every_command_of_the_instructions_for_clusters_runs() {
    run("deploy/README.md");
}

#[test]
fn every_command_of_the_other_pages_runs() {
    let docs = root().join("docs");
    let pages = fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path());
    for page in pages.filter(|page| page.extension().is_some_and(|ending| ending == "md")) {
        let page = page.strip_prefix(root()).unwrap().to_owned();
        run(page.to_str().unwrap());
    }
}

#[test]
fn the_reference_of_commands_is_up_to_date() {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel")).arg("reference").output().unwrap();
    let page = fs::read_to_string(root().join("docs/reference/commands.md")).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(page == text, "docs/reference/commands.md is out of date; run `cargo xtask reference`");
}

/// A page without commands is fine; one with a command that fails is not.
fn run(page: &str) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let commands = commands(&text);
    if commands.is_empty() {
        return;
    }
    // The pages name namespaces of the first `up --proxy` of a host.
    let _alone = commands
        .contains("up --proxy")
        .then(|| NETWORK.lock().unwrap_or_else(PoisonError::into_inner));
    let folder = folder(page);
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut shell = Command::new("timeout");
    shell.args(["--kill-after=5", "240", "bash", "-c"]);
    let granted = GRANTED.iter().find(|(of, _)| *of == page).map_or("", |(_, lines)| lines);
    shell.arg(format!("{PRELUDE}\n{granted}\n{commands}\n"));
    shell.current_dir(&folder).stdin(Stdio::null());
    shell.stdout(log.try_clone().unwrap()).stderr(log);
    shell.env("EVENKEEL", env!("CARGO_BIN_EXE_evenkeel"));
    // kubectl keeps a cache at home, and there is no other cluster to find there.
    shell.env("HOME", &folder).env_remove("KUBECONFIG");
    let status = shell.status().unwrap();
    let said = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let tail: Vec<&str> = said.lines().rev().take(40).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    assert!(status.success(), "{page}: {status}\n{}\n\n{commands}", tail.join("\n"));
    fs::remove_dir_all(folder).unwrap();
}

/// The lines of all fences marked `sh`, but for those that can't be run.
fn commands(text: &str) -> String {
    let mut commands = String::new();
    let mut inside = false;
    // A command may go on at the next line.
    for line in text.replace("\\\n", " ").lines() {
        match line.trim() {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside && !NOT_RUN.iter().any(|(part, _)| line.contains(part)) => {
                commands.push_str(line);
                commands.push('\n');
            }
            _ => {}
        }
    }
    commands
}

/// A folder of its own that looks like the repository.
fn folder(page: &str) -> PathBuf {
    let name = format!("docs-{}-{}", page.replace(['/', '.'], "-"), std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for name in NAMED {
        symlink(root().join(name), folder.join(name)).unwrap();
    }
    folder
}

fn root() -> PathBuf {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap());
    here.ancestors().nth(2).unwrap().to_owned()
}

#[test]
fn commands_are_those_in_fences_for_the_shell() {
    let text = "```sh\na b\n```\n\n```yaml\nc: d\n```\n\n   ```sh\n   e \\\n     f\n   kubectl port-forward x\n   ```\n";
    assert_eq!(commands(text), "a b\ne       f\n");
}
