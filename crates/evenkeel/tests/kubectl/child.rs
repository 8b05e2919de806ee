//! A running kubectl, and its output.

use std::{
    io::{BufRead, BufReader, Read, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// Longer than any command takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Killed on drop.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// Line by line; each ends with the output.
    out: Receiver<String>,
    err: Receiver<String>,
}

/// The output of a command. Without a code it timed out.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn start(mut command: Command, stdin: &str) -> Running {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("kubectl is installed by `cargo xtask test`");
    // A command that does not read its input may have exited by now.
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
    /// The next lines of the output, as many as arrive in time.
    pub(crate) fn next_lines(&mut self, n: usize) -> String {
        (0..n).map_while(|_| self.out.recv_timeout(PATIENCE).ok()).collect()
    }

    /// All output, until the command ends.
    pub(crate) fn finish(mut self) -> Ran {
        let (out, out_ended) = rest(&self.out);
        let (err, err_ended) = rest(&self.err);
        let ended = out_ended && err_ended;
        let code = ended.then(|| self.child.wait().unwrap().code()).flatten();
        Ran { code, out, err }
    }
}

/// The rest, and whether it ended in time.
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
