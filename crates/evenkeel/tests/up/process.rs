//! The process, and commands beside it.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::Receiver,
    thread,
    time::{Duration, Instant},
};

use evenkeel_testkit::process::lines;
use serde_json::Value;

/// More than anything takes on a machine with other work to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// It is killed when this is dropped.
pub(crate) struct Up {
    child: Child,
    lines: Receiver<String>,
    errors: Option<thread::JoinHandle<String>>,
    /// What it has said so far.
    pub(crate) said: String,
    pub(crate) kubeconfig: PathBuf,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Up {
    /// Starts it on free ports, and waits until it says that it is up.
    pub(crate) fn start(args: &[&str]) -> Up {
        Up::spawn("up", args)
    }

    pub(crate) fn in_folder(data: &Path, args: &[&str]) -> Up {
        Up::start(&[&["--data", data.to_str().unwrap()], args].concat())
    }

    /// Only the API server.
    pub(crate) fn apiserver(args: &[&str]) -> Up {
        Up::spawn("apiserver", args)
    }

    fn spawn(command: &str, args: &[&str]) -> Up {
        let ports: &[&str] = match command {
            "up" => &[
                "--listen",
                "127.0.0.1:0",
                "--controller-listen",
                "127.0.0.1:0",
                "--dashboard-listen",
                "127.0.0.1:0",
            ],
            _ => &["--listen", "127.0.0.1:0"],
        };
        let mut child = evenkeel(&[&[command], ports, args].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = lines(child.stdout.take().unwrap());
        let mut errors = child.stderr.take().unwrap();
        let errors = Some(thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        }));
        let kubeconfig = PathBuf::new();
        let mut up = Up { child, lines, errors, said: String::new(), kubeconfig };
        up.kubeconfig = up.after("kubeconfig: ").into();
        up
    }

    /// Waits for a line that begins so, and gives the rest of it.
    pub(crate) fn after(&mut self, prefix: &str) -> String {
        let begun = Instant::now();
        while let Some(left) = PATIENCE.checked_sub(begun.elapsed()) {
            let Ok(line) = self.lines.recv_timeout(left) else { break };
            self.said += &line;
            if let Some(rest) = line.strip_prefix(prefix) {
                return rest.trim_end().to_owned();
            }
        }
        let _ = self.child.kill();
        let errors = self.errors.take().map(|errors| errors.join().unwrap());
        panic!("no line {prefix:?} came: {}\n{}", self.said, errors.unwrap_or_default());
    }

    /// Waits until the sample has grown and is explained.
    pub(crate) fn explained(&mut self) -> &str {
        self.after("WHAT TO DO");
        &self.said
    }

    pub(crate) fn kubectl(&self, args: &[&str]) -> Ran {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(args);
        // kubectl keeps a cache at home.
        ran(command.env("HOME", env!("CARGO_TARGET_TMPDIR")))
    }

    /// What `kubectl get` says, as JSON.
    pub(crate) fn get(&self, args: &[&str]) -> Value {
        let ran = self.kubectl(&[&["get", "-o", "json"], args].concat());
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Asks again and again until `is_so`.
    pub(crate) fn eventually(&self, args: &[&str], is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let seen = self.get(args);
            if is_so(&seen) {
                return seen;
            }
            assert!(begun.elapsed() < PATIENCE, "{args:?} stayed {seen:#}");
        }
    }

    /// Another command on this cluster.
    pub(crate) fn evenkeel(&self, args: &[&str]) -> Ran {
        ran(evenkeel(args).env("KUBECONFIG", &self.kubeconfig))
    }

    /// Sends a signal and gives the exit code, and what was said on stderr.
    pub(crate) fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let errors = self.errors.take().unwrap().join().unwrap();
        (self.child.wait().unwrap().code(), errors)
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell, cut off from any cluster of this machine.
pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    // kubectl keeps a cache at home.
    command.args(["-ec", script]).env("HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    command
}

/// `evenkeel`, cut off from any cluster of this machine and not as `cargo run` starts it.
pub(crate) fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(args).env("HOME", "/nonexistent").env_remove("KUBECONFIG");
    command.env_remove("KUBERNETES_SERVICE_HOST").env_remove("CARGO");
    command
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A place for data that is not there yet.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("up").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.parent().unwrap()).unwrap();
    folder
}
