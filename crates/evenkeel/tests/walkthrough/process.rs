//! Processes, and commands that are waited for.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

/// More than anything takes on a machine with other work to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait before something is looked at again.
const PAUSE: Duration = Duration::from_millis(20);

/// It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    lines: Receiver<String>,
    /// What it has said so far.
    said: String,
}

/// What a command said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Process {
    /// What it says on stderr goes to the file `log`, so that nobody waits for a reader.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Process {
        let log = fs::File::options().append(true).create(true).open(log).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        Process { child, lines, said: String::new() }
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
        panic!("no line {prefix:?} came: {}", self.said);
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// At once, whatever it is doing.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for it to end by itself.
    pub(crate) fn code(&mut self) -> Option<i32> {
        let ended = until("the process ends", || self.child.try_wait().unwrap());
        ended.code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until there is something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(PAUSE);
    }
}

/// `evenkeel`, cut off from any cluster of this machine.
pub(crate) fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(args).env("HOME", "/nonexistent").env_remove("KUBECONFIG");
    command.env_remove("KUBERNETES_SERVICE_HOST");
    command
}

pub(crate) fn ran(command: &mut Command, stdin: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("kubectl is installed by `cargo xtask test`");
    let mut input = child.stdin.take().unwrap();
    let stdin = stdin.to_owned();
    // A command that does not read its input may be gone by now.
    let writer = thread::spawn(move || drop(input.write_all(stdin.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        code: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(from);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|n| n > 0) {
            let _ = sender.send(std::mem::take(&mut line));
        }
    });
    lines
}
