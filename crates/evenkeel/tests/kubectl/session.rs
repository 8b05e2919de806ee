//! A kubectl with its own server, namespace and folder.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    child::{self, Ran, Running},
    pattern::matches,
    server::Server,
    step::{Step, run},
};

const NAMESPACE: &str = "demo";

/// Longer than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Session {
    kubectl: String,
    name: String,
    dir: PathBuf,
    /// It runs as long as the session lasts.
    server: Option<Server>,
    flags: Vec<String>,
    saved: BTreeMap<String, String>,
    /// Of kubectl.
    minor: u32,
    /// The commands run, and their results.
    report: String,
}

impl Session {
    pub(crate) fn start(name: &str, kubectl: &str, flags: &[&str]) -> Session {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubectl").join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("home")).unwrap();
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let saved = BTreeMap::from([("ns".to_owned(), NAMESPACE.to_owned())]);
        let (kubectl, name, report) = (kubectl.to_owned(), name.to_owned(), String::new());
        let server = None;
        let mut session = Session { kubectl, name, dir, server, flags, saved, minor: 0, report };
        session.restart();
        let version = session.must("version --client -o json");
        let version: serde_json::Value = serde_json::from_str(&version).unwrap();
        let version = version["clientVersion"]["gitVersion"].as_str().unwrap_or_default();
        session.minor = minor(version);
        session.report = format!("{}: kubectl {version}\n", session.name);
        assert_eq!(session.must("create namespace demo"), "namespace/demo created\n");
        session.until("get sa/default cm/kube-root-ca.crt -n demo");
        session
    }

    /// Ends the server, if it runs, and starts it on the same data. It has another address then, so the
    /// kubeconfig is that of the administrator again.
    pub(crate) fn restart(&mut self) {
        // Only one at a time can have the folder.
        drop(self.server.take());
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        let server = Server::start(&self.dir.join("data"), &flags);
        fs::copy(&server.kubeconfig, self.dir.join("kubeconfig")).unwrap();
        self.server = Some(server);
        self.must("config set-context --current --namespace demo");
    }

    /// Returns the differences from the table.
    pub(crate) fn run(&mut self, steps: &[Step]) -> Vec<String> {
        let mut failures = Vec::new();
        for step in steps {
            let failure = if step.since > self.minor { None } else { self.step(step) };
            let went = match failure {
                _ if step.since > self.minor => "too new",
                Some(_) => "FAILED",
                None => "ok",
            };
            for command in step.commands() {
                writeln!(self.report, "{went:8}kubectl {}", self.fill(command)).unwrap();
            }
            failures.extend(failure);
        }
        print!("{}", self.report);
        let report = self.dir.with_file_name(format!("{}.txt", self.name));
        fs::write(report, &self.report).unwrap();
        failures
    }

    fn step(&mut self, step: &Step) -> Option<String> {
        for (name, text) in &step.files {
            fs::write(self.dir.join(name), self.fill(text)).unwrap();
        }
        let running = self.kubectl(step);
        if !step.then.is_empty() {
            return self.follow(running, step);
        }
        let others: Vec<_> = step.meanwhile.iter().map(|other| self.kubectl(other)).collect();
        let failure = self.judge(step, &running.finish());
        let others = step.meanwhile.iter().zip(others);
        let mut failures = others.filter_map(|(other, ran)| self.judge(other, &ran.finish()));
        failure.or_else(|| failures.next())
    }

    fn judge(&mut self, step: &Step, ran: &Ran) -> Option<String> {
        if let Some(name) = step.saved_as {
            self.saved.insert(name.to_owned(), ran.out.trim().to_owned());
        }
        let (out, err) = (self.fill(step.out), self.fill(step.err));
        let is_well =
            ran.code == Some(step.code) && matches(&out, &ran.out) && matches(&err, &ran.err);
        (!is_well).then(|| self.difference(step, &out, &err, ran))
    }

    /// A watch, and its output while other commands run.
    fn follow(&mut self, mut watch: Running, step: &Step) -> Option<String> {
        let mut expected = self.fill(step.out);
        let mut printed = watch.next_lines(expected.lines().count());
        for (other, out) in &step.then {
            if !matches(&expected, &printed) {
                break;
            }
            if let Some(failure) = self.step(other) {
                return Some(failure);
            }
            let out = self.fill(out);
            printed += &watch.next_lines(out.lines().count());
            expected = format!("{}\n{out}", expected.trim_end()).trim_start().to_owned();
        }
        let is_well = matches(&expected, &printed);
        let ran = Ran { code: None, out: printed, err: String::new() };
        (!is_well).then(|| self.difference(step, &expected, "", &ran))
    }

    fn difference(&self, step: &Step, out: &str, err: &str, ran: &Ran) -> String {
        let command = self.fill(step.command);
        let Session { name, .. } = self;
        let Step { code, .. } = step;
        format!(
            "{name}: kubectl {command}\nexit code {} for {code}\n--- expected\n{out}\n{err}\n\
             --- stdout\n{}\n--- stderr\n{}",
            ran.code.map_or_else(|| "none".to_owned(), |code| code.to_string()),
            ran.out,
            ran.err,
        )
    }

    /// The text with saved values in place of `$NAME`.
    fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.saved {
            filled = filled.replace(&format!("${name}"), value);
        }
        filled
    }

    /// The output of a command that has to succeed.
    fn must(&self, command: &'static str) -> String {
        let ran = self.kubectl(&run(command, "")).finish();
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
        ran.out
    }

    /// Repeats a command until it succeeds: what controllers create in a new namespace comes soon.
    fn until(&self, command: &'static str) {
        let begun = Instant::now();
        while self.kubectl(&run(command, "")).finish().code != Some(0) {
            assert!(begun.elapsed() < PATIENCE, "{command}");
        }
    }

    fn kubectl(&self, step: &Step) -> Running {
        let mut command = Command::new(&self.kubectl);
        command.args(words(&self.fill(step.command)));
        command.env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
        command.env("HOME", self.dir.join("home")).env("KUBECONFIG", self.dir.join("kubeconfig"));
        // `edit` leaves files behind.
        command.env("TMPDIR", self.dir.join("home"));
        command.env("LC_ALL", "C").env("TZ", "UTC").current_dir(&self.dir);
        if let Some(script) = step.editor {
            command.env("EDITOR", format!("sed -i '{script}'"));
        }
        child::start(command, &self.fill(step.stdin))
    }
}

/// The minor version; a build without one is newer than all.
fn minor(version: &str) -> u32 {
    let numbers = version.trim_start_matches('v').split('.').collect::<Vec<_>>();
    match numbers.as_slice() {
        ["1", minor, ..] => minor.parse().unwrap_or(u32::MAX),
        _ => u32::MAX,
    }
}

/// The words of a command line; single quotes keep blanks.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (i, part) in line.split('\'').enumerate() {
        if i % 2 == 1 {
            words.last_mut().unwrap().push_str(part);
            continue;
        }
        for (j, word) in part.split(' ').enumerate() {
            if j > 0 {
                words.push(String::new());
            }
            words.last_mut().unwrap().push_str(word);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn quoted_words_stay_together() {
    assert_eq!(words("get cm -o 'a b' x"), ["get", "cm", "-o", "a b", "x"]);
    assert_eq!(words("-o=jsonpath='{.a b}'"), ["-o=jsonpath={.a b}"]);
}
