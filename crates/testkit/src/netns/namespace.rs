//! Namespaces with names, and their removal.

use std::{
    fs::{self, File},
    io,
    os::fd::AsFd as _,
    panic::resume_unwind,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::ip::{ip, ip_anyway, run};

const FOLDER: &str = "/run/netns";
/// The id of the process follows, then a number.
const PREFIX: &str = "ek-test-";

/// Values of every namespace: no wait for duplicate addresses, no redirects, no reverse path filter.
/// Addresses are added with `nodad` as well: otherwise the kernel lets them be used a moment later.
const SYSCTLS: &[(&str, &str)] = &[
    ("ipv6/conf/all/accept_dad", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
];

/// A network namespace, shown by `ip netns list`. It is removed with the last clone.
#[derive(Clone, Debug)]
pub struct Namespace(Arc<Owned>);

#[derive(Debug)]
struct Owned {
    name: String,
    file: File,
}

impl Namespace {
    /// Its name for `ip netns exec`.
    pub fn netns(&self) -> &str {
        &self.0.name
    }

    pub fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(self.netns())
    }

    /// Runs `act` on a thread inside. Sockets created there stay there.
    pub fn run<R: Send>(&self, act: impl FnOnce() -> R + Send) -> R {
        let inside = || {
            self.enter().expect("the namespace exists, and tests run as root");
            act()
        };
        thread::scope(|scope| {
            scope.spawn(inside).join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Moves this thread inside, for good.
    pub(super) fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.0.file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// A command to be run inside.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.netns(), program]);
        command
    }

    /// Runs lines of `ip`, such as `route add 203.0.113.0/24 via 172.30.0.1`.
    pub fn ip(&self, batch: &str) {
        ip(Some(self.netns()), batch);
    }

    /// Runs a script of `nft`.
    pub fn nft(&self, script: &str) {
        let mut command = self.command("nft");
        command.args(["-f", "-"]);
        run(command, script).unwrap_or_else(|problem| panic!("nft failed: {problem}\n{script}"));
    }

    /// Sets a value below `net`, such as `ipv4/tcp_max_tw_buckets`.
    pub fn sysctl(&self, key: &str, value: &str) {
        self.sysctls(&[(key, value)]);
    }

    fn sysctls(&self, values: &[(&str, &str)]) {
        self.run(|| {
            for (key, value) in values {
                let written = fs::write(Path::new("/proc/sys/net").join(key), value);
                written.unwrap_or_else(|error| panic!("net/{key} = {value}: {error}"));
            }
        });
    }

    /// A new one for each purpose, with its loopback interface up.
    pub(super) fn new_all<const N: usize>(purposes: [&str; N]) -> [Namespace; N] {
        let all = Self::new_many(&purposes);
        all.try_into().expect("one namespace for each purpose")
    }

    pub(super) fn new_many(purposes: &[&str]) -> Vec<Namespace> {
        let names: Vec<String> = purposes.iter().map(|purpose| unique(purpose)).collect();
        let batch: String = names.iter().map(|name| format!("netns add {name}\n")).collect();
        ip(None, &batch);
        names.into_iter().map(Namespace::opened).collect()
    }

    fn opened(name: String) -> Namespace {
        let file = File::open(Path::new(FOLDER).join(&name)).expect("it was just created");
        let namespace = Namespace(Arc::new(Owned { name, file }));
        namespace.sysctls(SYSCTLS);
        namespace
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        ip_anyway(None, &format!("netns del {}\n", self.name));
    }
}

/// Removes what processes left that no longer exist.
pub(super) fn remove_leftovers() {
    let Ok(entries) = fs::read_dir(FOLDER) else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_left =
        |name: &String| owner(name).is_some_and(|id| !Path::new("/proc").join(id).exists());
    let batch: String = names.filter(is_left).map(|name| format!("netns del {name}\n")).collect();
    if !batch.is_empty() {
        ip_anyway(None, &batch);
    }
}

/// The id of the process that created a namespace of this name.
fn owner(name: &str) -> Option<&str> {
    let (id, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    id.bytes().all(|byte| byte.is_ascii_digit()).then_some(id)
}

fn unique(purpose: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{PREFIX}{}-{}-{purpose}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_process() {
        assert_eq!(owner(&unique("node-a1")), Some(process::id().to_string().as_str()));
        for name in ["ek-test-", "ek-test-x-1-a", "ek-test-12", "node-a1"] {
            assert_eq!(owner(name), None, "{name}");
        }
    }

    #[test]
    fn it_is_removed_with_its_last_clone_and_when_its_process_is_gone() {
        let [namespace] = Namespace::new_all(["removed"]);
        let (path, clone) = (namespace.path(), namespace.clone());
        drop(namespace);
        assert!(path.exists());
        drop(clone);
        assert!(!path.exists());

        // No process has this id: it is above the kernel's limit.
        let left = format!("{PREFIX}99999999-{}-left", process::id());
        ip(None, &format!("netns add {left}\n"));
        remove_leftovers();
        assert!(!Path::new(FOLDER).join(left).exists());
    }
}
