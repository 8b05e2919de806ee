//! A network namespace for one test, removed at its end.

use std::{
    fs::File,
    os::fd::AsFd,
    process::{Command, Stdio, id},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, capabilities, move_into_link_name_space, set_capabilities,
};

pub(crate) struct Namespace {
    name: String,
}

impl Namespace {
    /// A namespace with its loopback up.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("ekn-{}-{}", id(), COUNT.fetch_add(1, Ordering::Relaxed));
        run(Command::new("ip").args(["netns", "add", &name]));
        let namespace = Self { name };
        namespace.exec("ip link set lo up");
        namespace
    }

    /// Runs `act` on a thread in the namespace.
    pub(crate) fn enter<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let path = format!("/run/netns/{}", self.name);
        thread::scope(|scope| {
            let thread = scope.spawn(move || {
                let file = File::open(path).unwrap();
                let network = Some(LinkNameSpaceType::Network);
                move_into_link_name_space(file.as_fd(), network).unwrap();
                act()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs a program in the namespace, its arguments split at blanks; returns its output.
    pub(crate) fn exec(&self, line: &str) -> String {
        run(self.command(line))
    }

    /// As `exec`, with what the program reads.
    pub(crate) fn exec_with_input(&self, line: &str, input: &str) -> String {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = thread::scope(|scope| {
            scope.spawn(move || std::io::Write::write_all(&mut stdin, input.as_bytes()));
            child.wait_with_output().unwrap()
        });
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Whether a program that may fail succeeds.
    pub(crate) fn succeeds(&self, line: &str) -> bool {
        self.command(line).output().unwrap().status.success()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).args(line.split(' '));
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).output();
    }
}

/// For the calling thread alone.
pub(crate) fn drop_net_admin() {
    let mut sets = capabilities(None).unwrap();
    sets.effective.remove(CapabilitySet::NET_ADMIN);
    set_capabilities(None, sets).unwrap();
}

fn run(mut command: impl std::borrow::BorrowMut<Command>) -> String {
    let command = command.borrow_mut();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
