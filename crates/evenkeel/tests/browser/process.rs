//! The binary, as it runs in the field.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use crate::{api::Api, driver::Killed};

/// `evenkeel up`, the address of its dashboard and its kubeconfig, once the sample has grown.
pub(crate) fn up(flags: &[&str]) -> (Killed, String, String) {
    let ports = ["--listen", "--controller-listen", "--dashboard-listen"];
    let ports = ports.iter().flat_map(|flag| [*flag, "127.0.0.1:0"]);
    let args = ["up", "--ephemeral"].into_iter().chain(flags.iter().copied()).chain(ports);
    let args: Vec<&str> = args.collect();
    let (child, [url, kubeconfig, _]) = start(&args, ["dashboard:", "kubeconfig:", "WHAT TO DO"]);
    (child, url, kubeconfig)
}

/// `evenkeel dashboard` of an API, and its address with the token.
pub(crate) fn dashboard(api: &Api, folder: &str) -> (Killed, String) {
    let kubeconfig = api.kubeconfig(folder).display().to_string();
    let args = ["dashboard", "--kubeconfig", &kubeconfig];
    let (child, [url]) = start(&args, ["dashboard:"]);
    (child, url)
}

/// What follows each of these words, which come in this order.
fn start<const N: usize>(args: &[&str], words: [&str; N]) -> (Killed, [String; N]) {
    let mut child = evenkeel(args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let child = Killed(child);
    let found = words.map(|word| {
        let found = lines.find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()));
        found.unwrap_or_else(|| panic!("no line {word:?} came"))
    });
    // What is said later is read too, so that it never waits for a reader.
    thread::spawn(move || lines.count());
    (child, found)
}

/// Cut off from any cluster of this machine.
pub(crate) fn evenkeel(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(args).env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    command
}

/// An empty folder for one test.
pub(crate) fn folder(test: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder.display().to_string()
}
