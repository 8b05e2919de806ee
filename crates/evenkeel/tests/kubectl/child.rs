//! A kubectl that runs, and what it prints.

use std::{
    io::{BufRead, BufReader, Read, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// More than any command takes on a machine with other work to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// Line by line; each ends when the output does.
    out: Receiver<String>,
    err: Receiver<String>,
}

/// What a command said. Without a code it did not end in time.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn start(mut command: Command, stdin: &str) -> Running {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("kubectl is installed by `cargo xtask test`");
    // A command that does not read its input may be gone by now.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let out = lines(child.stdout.take().unwrap());
    let err = lines(child.stderr.take().unwrap());
    Running { child, out, err }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut reader = BufReader::new(from);
        loop {
            let mut line = Vec::new();
            let is_end = matches!(reader.read_until(b'\n', &mut line), Ok(0) | Err(_));
            if is_end || sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    lines
}

impl Running {
    /// The next lines of the output, as many as come in time.
    pub(crate) fn next_lines(&mut self, n: usize) -> String {
        (0..n).map_while(|_| self.out.recv_timeout(PATIENCE).ok()).collect()
    }

    /// All that is printed, until the command ends.
    pub(crate) fn finish(mut self) -> Ran {
        let (out, out_ended) = rest(&self.out);
        let (err, err_ended) = rest(&self.err);
        let ended = out_ended && err_ended;
        let code = ended.then(|| self.child.wait().unwrap().code()).flatten();
        Ran { code, out, err }
    }
}

/// What is left, and whether it ended in time.
fn rest(lines: &Receiver<String>) -> (String, bool) {
    let mut text = String::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => text.push_str(&line),
            Err(error) => return (text, error == mpsc::RecvTimeoutError::Disconnected),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
