//! One rule for the kubeconfig in all commands, and what is printed about it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    apiserver::{Server, folder},
    run::Ran,
};

/// A folder to run commands in, with an API server of its own in `.evenkeel`, and a home.
struct Place {
    server: Server,
    here: PathBuf,
    home: PathBuf,
}

/// What a command is given besides its arguments.
#[derive(Clone, Copy, Default)]
struct Given<'a> {
    flag: Option<&'a Path>,
    context: bool,
    variable: Option<&'a Path>,
    home: bool,
}

impl Place {
    fn new(test: &str) -> Place {
        let here = folder(test);
        let server = Server::in_folder(&here.join(".evenkeel"), &[]);
        let home = here.join("home");
        fs::create_dir_all(home.join(".kube")).unwrap();
        fs::copy(&server.kubeconfig, home.join(".kube/config")).unwrap();
        Place { server, here, home }
    }

    fn run(&self, args: &[&str], given: Given<'_>) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(args).current_dir(&self.here).stdin(Stdio::null());
        command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
        let nowhere = Path::new("/nonexistent");
        command.env("HOME", if given.home { &self.home } else { nowhere });
        if let Some(path) = given.flag {
            command.arg("--kubeconfig").arg(path);
        }
        if given.context {
            command.args(["--context", "evenkeel"]);
        }
        if let Some(path) = given.variable {
            command.env("KUBECONFIG", path);
        }
        let output = command.output().unwrap();
        Ran {
            code: output.status.code().expect("not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[test]
fn every_command_uses_the_same_kubeconfig_and_prints_it() {
    let place = Place::new("kubeconfig-rule");
    let other = place.here.join("other");
    fs::copy(&place.server.kubeconfig, &other).unwrap();
    let at_home = place.home.join(".kube/config");
    let (other_name, home_name) = (other.display(), at_home.display());
    let flag = Given { flag: Some(&other), home: true, ..Given::default() };
    let all = Given { variable: Some(&at_home), ..flag };
    let cases = [
        (all, format!("{other_name} (--kubeconfig)")),
        (Given { flag: None, ..all }, format!("{home_name} ($KUBECONFIG)")),
        (
            Given { home: true, ..Given::default() },
            ".evenkeel/kubeconfig (`evenkeel up` in this folder)".to_owned(),
        ),
        (
            Given { home: true, context: true, ..Given::default() },
            format!("{home_name} (default), context evenkeel"),
        ),
    ];
    for (given, expected) in cases {
        let line = format!("kubeconfig: {expected}\n");
        let status = place.run(&["status"], given);
        assert!(status.stdout.starts_with(&line), "{expected}: {}", status.stdout);
        for args in [&["explain", "kubernetes"][..], &["plan", "-A"], &["controller", "release"]] {
            let ran = place.run(args, given);
            assert!(ran.stderr.contains(&format!("note: {line}")), "{args:?}: {}", ran.stderr);
            assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        }
    }
    fs::remove_dir_all(place.home).unwrap();
    fs::remove_dir_all(place.here.join(".evenkeel")).unwrap();
}

/// The cluster that the home names is alive, and must not be used instead.
#[test]
fn a_local_server_that_is_not_running_is_an_error() {
    let place = Place::new("kubeconfig-dead");
    let alive = Server::in_folder(&place.here.join("alive"), &[]);
    fs::copy(&alive.kubeconfig, place.home.join(".kube/config")).unwrap();
    let dead = place.here.join("dead");
    fs::create_dir_all(dead.join(".evenkeel")).unwrap();
    let stopped = Server::in_folder(&dead.join("stopped"), &[]);
    fs::copy(&stopped.kubeconfig, dead.join(".evenkeel/kubeconfig")).unwrap();
    drop(stopped);
    let place = Place { here: dead, ..place };
    let given = Given { home: true, ..Given::default() };
    for args in [&["explain", "kubernetes"][..], &["plan", "-A"], &["controller"]] {
        let ran = place.run(args, given);
        assert_eq!(ran.code, 3, "{args:?}: {}", ran.stderr);
        for part in [
            "cannot reach the API server at https://127.0.0.1:",
            "of .evenkeel/kubeconfig",
            "start `evenkeel up` in this folder",
        ] {
            assert!(ran.stderr.contains(part), "{args:?}: {part:?} is not in {}", ran.stderr);
        }
    }
    let status = place.run(&["status", "-o", "json"], given);
    let report: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!((status.code, &report["kubeconfig"]), (3, &".evenkeel/kubeconfig".into()));
    assert_eq!(report["checks"][0]["code"], "ApiServerUnreachable");
    let elsewhere = place.run(&["explain", "kubernetes"], Given { context: true, ..given });
    assert_eq!(elsewhere.code, 0, "{}", elsewhere.stderr);
}
