//! Processes that tests start, read and end.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

/// More than anything takes on a machine with other work to do.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait before something is looked at again.
const PAUSE: Duration = Duration::from_millis(20);

/// It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    /// What it has said so far.
    said: String,
    log: PathBuf,
}

// === impl Process ===

impl Process {
    /// What it says on stderr goes to the end of the file `log`, so that nobody waits for a reader.
    pub fn start(command: &mut Command, log: &Path) -> Process {
        let file = fs::File::options().append(true).create(true).open(log);
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", log.display()));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let lines = lines(child.stdout.take().expect("its output is piped"));
        Process { child, lines, said: String::new(), log: log.to_owned() }
    }

    /// Waits for a line that begins so, and gives the rest of it.
    pub fn after(&mut self, prefix: &str) -> String {
        let begun = Instant::now();
        while let Some(left) = PATIENCE.checked_sub(begun.elapsed()) {
            let Ok(line) = self.lines.recv_timeout(left) else { break };
            self.said += &line;
            if let Some(rest) = line.strip_prefix(prefix) {
                return rest.trim_end().to_owned();
            }
        }
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        panic!("no line {prefix:?} came: {}\n{log}", self.said);
    }

    /// As `kill` has it, for example `-TERM`.
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{signal} was not sent");
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// At once, whatever it is doing.
    pub fn kill(mut self) {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
    }

    /// Waits for it to end by itself.
    pub fn code(&mut self) -> Option<i32> {
        let ended = until("the process ends", || self.child.try_wait().expect("it is our child"));
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
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    eventually(&format!("until {what}, there"), || look().ok_or_else(|| "nothing".to_owned()))
}

/// Looks again and again, up to a deadline, and fails with what was seen last.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) => assert!(begun.elapsed() < PATIENCE, "{what} stayed {seen}"),
        }
        thread::sleep(PAUSE);
    }
}

/// With their ends. They are read to the end, so that nobody waits for a reader.
pub fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
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
