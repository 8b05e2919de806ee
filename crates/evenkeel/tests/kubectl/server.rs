//! `evenkeel apiserver`, as a child process.

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

/// A running server, stopped on drop.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) kubeconfig: PathBuf,
}

impl Server {
    /// Starts the server on an empty `data` and waits until it prints the path of its kubeconfig.
    pub(crate) fn start(data: &Path, flags: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["apiserver", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = child.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            text
        });
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kubeconfig = lines.by_ref().map_while(Result::ok).find_map(|line| path_in(&line));
        let Some(kubeconfig) = kubeconfig else {
            let _ = child.wait();
            panic!("the server did not say where its kubeconfig is: {}", errors.join().unwrap());
        };
        // Further output is read so that the server never blocks.
        thread::spawn(move || lines.for_each(drop));
        Server { child, kubeconfig }
    }
}

/// The file named in a line.
fn path_in(line: &str) -> Option<PathBuf> {
    let words = line.split_whitespace().map(|word| word.trim_matches(['"', '\'', '`']));
    let words = words.map(|word| word.rsplit_once('=').map_or(word, |(_, value)| value));
    words.map(PathBuf::from).find(|path| path.is_file())
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
