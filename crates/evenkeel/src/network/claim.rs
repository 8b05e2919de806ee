//! A prefix of names that belongs to this process, and all namespaces below it.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{Record, ip::ip_anyway};

/// Where `ip netns` keeps names.
const NAMED: &str = "/run/netns";

/// Names below this prefix. Dropped, it removes its namespaces and itself.
#[derive(Debug)]
pub(crate) struct Claim {
    prefix: String,
    folder: PathBuf,
    record: Record,
    /// Held until the end of the process, however it ends.
    _lock: File,
}

impl Claim {
    /// Removes what processes left that no longer run, and takes the first prefix that is free:
    /// `base`, `base2`, ….
    pub(crate) fn take(folder: &Path, base: &str, api: &str, cluster: &str) -> io::Result<Claim> {
        fs::create_dir_all(folder)?;
        remove_leftovers(folder)?;
        for number in 1.. {
            let prefix = prefix(base, number);
            if is_in_use(&prefix) {
                continue;
            }
            let Some(lock) = lock(&lock_of(folder, &prefix))? else { continue };
            let bridge = format!("{prefix}_bridge");
            let (api, cluster) = (api.to_owned(), cluster.to_owned());
            let record = Record { api, cluster, bridge, ..Record::default() };
            let claim = Claim { prefix, folder: folder.to_owned(), record, _lock: lock };
            claim.write()?;
            return Ok(claim);
        }
        unreachable!("one of all numbers is free")
    }

    pub(crate) fn bridge(&self) -> &str {
        &self.record.bridge
    }

    /// The name that the namespace of a Node has or would have.
    pub(crate) fn name(&self, node: &str) -> String {
        format!("{}-{node}", self.prefix)
    }

    /// Records the namespace of a Node, which is then to be created.
    pub(crate) fn add(&mut self, node: &str) -> io::Result<String> {
        let name = self.name(node);
        self.record.nodes.insert(node.to_owned(), name.clone());
        self.write()?;
        Ok(name)
    }

    /// Removes the namespace of a Node.
    pub(crate) fn remove(&mut self, node: &str) {
        let Some(name) = self.record.nodes.remove(node) else { return };
        ip_anyway(None, &format!("netns del {name}\n"));
        if let Err(error) = self.write() {
            tracing::warn!(%error, "recording network namespaces failed");
        }
    }

    fn write(&self) -> io::Result<()> {
        self.record.write(&record_of(&self.folder, &self.prefix))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        remove(&self.folder, &self.prefix, &self.record);
    }
}

/// What is recorded under a lock that nobody holds.
fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(prefix) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        if path.extension().is_none_or(|ending| ending != "lock") {
            continue;
        }
        if let Some(_lock) = lock(&path)? {
            let record = Record::read(&record_of(folder, prefix)).unwrap_or_default();
            remove(folder, prefix, &record);
        }
    }
    Ok(())
}

/// With the lock held. The lock's file goes last: nobody finds it before the rest is gone.
fn remove(folder: &Path, prefix: &str, record: &Record) {
    let exists = |name: &&str| Path::new(NAMED).join(name).exists();
    let names = record.namespaces().filter(|name| !name.is_empty()).filter(exists);
    let lines: String = names.map(|name| format!("netns del {name}\n")).collect();
    if !lines.is_empty() {
        ip_anyway(None, &lines);
    }
    let drill = folder.join(&record.bridge).with_extension("drill");
    for path in [drill, record_of(folder, prefix), lock_of(folder, prefix)] {
        let _ = fs::remove_file(path);
    }
}

/// Whether another process holds it. Looking does not keep anyone from taking it for longer than that.
pub(super) fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// `None` if another process holds it, or has just removed it.
pub(crate) fn lock(path: &Path) -> io::Result<Option<File>> {
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let is_same = fs::metadata(path).is_ok_and(|now| {
        file.metadata().is_ok_and(|mine| (mine.dev(), mine.ino()) == (now.dev(), now.ino()))
    });
    Ok(is_same.then_some(file))
}

fn prefix(base: &str, number: u32) -> String {
    if number == 1 { base.to_owned() } else { format!("{base}{number}") }
}

/// Whether there are namespaces with this prefix, whoever created them.
fn is_in_use(prefix: &str) -> bool {
    let Ok(entries) = fs::read_dir(NAMED) else { return false };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let of_prefix = |name: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('-') || rest == "_bridge")
    };
    names.into_iter().any(|name| of_prefix(&name))
}

fn lock_of(folder: &Path, prefix: &str) -> PathBuf {
    folder.join(prefix).with_extension("lock")
}

fn record_of(folder: &Path, prefix: &str) -> PathBuf {
    folder.join(prefix).with_extension("json")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder, and a base of names, that nobody else has.
    fn own() -> (PathBuf, String) {
        let base = format!("ek-claim-{:016x}", rand::random::<u64>());
        (std::env::temp_dir().join(&base), base)
    }

    #[test]
    fn two_processes_have_different_names_and_the_record_tells_them_apart() {
        let (folder, base) = own();
        let mut first = Claim::take(&folder, &base, "https://one", "1").unwrap();
        let second = Claim::take(&folder, &base, "https://two", "2").unwrap();
        assert_ne!(first.name("node-a1"), second.name("node-a1"));
        assert_ne!(first.bridge(), second.bridge());
        let name = first.add("node-a1").unwrap();
        assert_eq!(name, first.name("node-a1"));
        let found = |api| Record::of_cluster(&folder, api);
        assert_eq!(found("https://one").unwrap().nodes["node-a1"], name);
        assert!(found("https://two").unwrap().nodes.is_empty());
        let running = |api, cluster| Record::of_running(&folder, api, cluster).is_some();
        assert!(running("https://one", "1") && running("https://two", "2"));
        assert!(!running("https://one", "2") && !running("https://three", "1"));
        first.remove("node-a1");
        assert!(found("https://one").unwrap().nodes.is_empty());
        drop((first, second));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let (folder, base) = own();
        let mut killed = Claim::take(&folder, &base, "https://one", "1").unwrap();
        killed.add("node-a1").unwrap();
        // As the kernel does when the process ends.
        killed._lock.unlock().unwrap();
        std::mem::forget(killed);
        assert!(Record::of_cluster(&folder, "https://one").is_some());
        assert_eq!(Record::of_running(&folder, "https://one", "1"), None);
        let next = Claim::take(&folder, &base, "https://two", "2").unwrap();
        assert_eq!(Record::of_cluster(&folder, "https://one"), None);
        drop(next);
        fs::remove_dir(&folder).unwrap();
    }
}
