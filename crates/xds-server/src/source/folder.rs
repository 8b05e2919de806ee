//! A folder of YAML or JSON files, several documents each, read again whenever it changes (universal mode).
//!
//! Changes are found by looking at each file's identity, size and times (`stat`), twice a second and at once when the
//! kernel reports something in the folder (`wake`). Links are followed, so that a ConfigMap volume, which exchanges
//! a link to a folder, is one change. What was written just now and may still be written is left for the next
//! look, unless the kernel said that the writer has closed it.
//!
//! A document that is invalid keeps its last good form, a file that cannot be read all of its own; it is tried again
//! at each look. Of a resource that several files hold, the first file in the order of names counts. A look costs one
//! `stat` for each file; a change costs its own file.

mod read;
mod wake;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use evenkeel_locality::{
    Compat,
    resource::{Key, Resource, Strings},
};
use evenkeel_model::harmless;

use self::read::{Read, Unread};
pub(crate) use self::wake::watch;
use super::Problem;
use crate::engine::Update;

/// A file that is younger may still be written.
const SETTLED: Duration = Duration::from_millis(100);
/// After so many looks a file is read even if it is written all the time.
const PATIENCE: u8 = 20;

/// What is known of the files.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    compat: Compat,
    files: BTreeMap<OsString, File>,
    /// The files that hold a resource, in order; a list, since there is one in general.
    holders: BTreeMap<Key, Vec<OsString>>,
    strings: Strings,
}

#[derive(Debug, Default)]
struct File {
    stamp: Option<Stamp>,
    /// Looks at which it was too young.
    deferred: u8,
    /// It was not there when it was looked at last.
    is_missing: bool,
    good: BTreeMap<Key, Arc<Resource>>,
    problems: Vec<Problem>,
}

/// Equal stamps mean equal content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What a look at the folder found.
#[derive(Debug, Default)]
pub struct Scan {
    pub updates: Vec<Update>,
    /// Problems were added or are gone.
    pub problems_changed: bool,
    /// Files are too young to be read; look again soon.
    pub is_unsettled: bool,
}

/// Reads a folder once: what is in it, and what of it is invalid.
pub fn resources(path: &Path, compat: Compat) -> io::Result<(Vec<Resource>, Vec<Problem>)> {
    let mut folder = Folder::new(path.to_owned(), compat);
    // Nobody looks again, so that no file is left for later.
    let settled = SystemTime::now() + Duration::from_secs(1 << 32);
    for _ in 0..=PATIENCE {
        if !folder.scan(settled, &BTreeSet::new())?.is_unsettled {
            break;
        }
    }
    Ok((folder.in_force().cloned().collect(), folder.problems()))
}

// === impl Folder ===

impl Folder {
    pub fn new(path: PathBuf, compat: Compat) -> Self {
        let (files, holders) = (BTreeMap::new(), BTreeMap::new());
        Self { path, compat, files, holders, strings: Strings::default() }
    }

    /// Compares the folder with what is known. `now` is compared with the times of files, and
    /// `closed` are files that nobody writes any more. An error leaves everything in force.
    pub fn scan(&mut self, now: SystemTime, closed: &BTreeSet<OsString>) -> io::Result<Scan> {
        let names = names(&self.path)?;
        let mut scan = Scan::default();
        let mut touched = BTreeSet::new();
        let gone: Vec<OsString> =
            self.files.keys().filter(|name| !names.contains(*name)).cloned().collect();
        for name in gone {
            if let Some(file) = self.files.remove(&name) {
                scan.problems_changed |= !file.problems.is_empty();
                touched.extend(file.good.into_keys().map(|key| (key, name.clone())));
            }
        }
        for name in names {
            let is_closed = closed.contains(&name);
            self.look(&name, now, is_closed, &mut scan, &mut touched);
        }
        self.resolve(touched, &mut scan);
        Ok(scan)
    }

    /// In the order of files.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> =
            self.files.values().flat_map(|file| file.problems.iter().cloned()).collect();
        for (key, files) in self.holders.iter().filter(|(_, files)| files.len() > 1) {
            let mut files = files.iter().map(|name| self.origin(name));
            let first = files.next().unwrap_or_default();
            problems.extend(files.map(|origin| Problem {
                origin,
                document: None,
                resource: Some(key.clone()),
                field: None,
                message: format!("also in {first}, which counts"),
                last_good_in_force: false,
            }));
        }
        problems
    }

    fn in_force(&self) -> impl Iterator<Item = &Resource> {
        let holders = self.holders.iter();
        holders.filter_map(|(key, names)| {
            self.files.get(names.first()?)?.good.get(key).map(|resource| &**resource)
        })
    }

    fn look(
        &mut self,
        name: &OsString,
        now: SystemTime,
        is_closed: bool,
        scan: &mut Scan,
        touched: &mut BTreeSet<(Key, OsString)>,
    ) {
        let path = self.path.join(name);
        let origin = self.origin(name);
        let file = self.files.entry(name.clone()).or_default();
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            // One that is exchanged at this moment is there at the next look.
            Err(_) if !std::mem::replace(&mut file.is_missing, true) => {
                scan.is_unsettled = true;
                return;
            }
            Err(error) => {
                scan.problems_changed |= file.unread(&origin, &Unread::from(error));
                return;
            }
        };
        file.is_missing = false;
        let stamp = Stamp::of(&metadata);
        if file.stamp == Some(stamp) {
            return;
        }
        let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
        let is_young = age.is_none_or(|age| age < SETTLED);
        if is_young && !is_closed && file.deferred < PATIENCE {
            file.deferred += 1;
            scan.is_unsettled = true;
            return;
        }
        file.deferred = 0;
        file.stamp = Some(stamp);
        match read::text(&path, &metadata) {
            Ok(text) => {
                let read = Read::of(&text, &origin, &file.good, self.compat, &mut self.strings);
                scan.problems_changed |= file.report(read.problems);
                let old = std::mem::replace(&mut file.good, read.good);
                let new = &file.good;
                let differs = |key: &&Key| old.get(*key) != new.get(*key);
                let keys = old.keys().chain(new.keys()).filter(differs);
                touched.extend(keys.map(|key| (key.clone(), name.clone())));
            }
            Err(unread) => scan.problems_changed |= file.unread(&origin, &unread),
        }
    }

    /// What the touched resources are now, whichever file holds them.
    fn resolve(&mut self, touched: BTreeSet<(Key, OsString)>, scan: &mut Scan) {
        let mut keys = BTreeSet::new();
        for (key, name) in touched {
            let holds = self.files.get(&name).is_some_and(|file| file.good.contains_key(&key));
            let holders = self.holders.entry(key.clone()).or_default();
            let before = holders.len();
            match (holds, holders.binary_search(&name)) {
                (true, Err(at)) => {
                    holders.reserve_exact(1);
                    holders.insert(at, name);
                }
                (false, Ok(at)) => drop(holders.remove(at)),
                (true, Ok(_)) | (false, Err(_)) => {}
            }
            scan.problems_changed |= before.max(holders.len()) > 1;
            keys.insert(key);
        }
        for key in keys {
            let first = self.holders.get(&key).and_then(|names| names.first());
            let good = first.and_then(|name| self.files.get(name)?.good.get(&key));
            scan.updates.push(match good {
                Some(resource) => Update::Apply(Box::new((**resource).clone())),
                None => {
                    self.holders.remove(&key);
                    Update::Delete(key)
                }
            });
        }
    }

    fn origin(&self, name: &OsString) -> Arc<str> {
        harmless(&self.path.join(name).to_string_lossy()).into()
    }
}

fn names(path: &Path) -> io::Result<BTreeSet<OsString>> {
    let is_one = |name: &OsString| {
        let path = Path::new(name);
        let is_hidden = name.to_string_lossy().starts_with('.');
        let extension = path.extension().and_then(|extension| extension.to_str());
        !is_hidden && matches!(extension, Some("yaml" | "yml" | "json"))
    };
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if is_one(&name) {
            names.insert(name);
        }
    }
    Ok(names)
}

// === impl File ===

impl File {
    /// It has no text that could be taken: all that it held stays. Returns whether that is news.
    fn unread(&mut self, origin: &Arc<str>, why: &Unread) -> bool {
        if why.is_of_the_moment() {
            self.stamp = None;
        }
        self.report(vec![Problem {
            origin: Arc::clone(origin),
            document: None,
            resource: None,
            field: None,
            message: why.to_string(),
            last_good_in_force: !self.good.is_empty(),
        }])
    }

    /// These are all its problems. Returns whether they differ from those before.
    fn report(&mut self, problems: Vec<Problem>) -> bool {
        if self.problems == problems {
            return false;
        }
        for Problem { origin, document, field, message, .. } in &problems {
            tracing::warn!(file = %origin, document, field, "ignoring invalid object: {message}");
        }
        self.problems = problems;
        true
    }
}

// === impl Stamp ===

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The next attempt may find more file descriptors than this one.
    #[test]
    fn a_file_that_cannot_be_read_is_opened_again_at_the_next_look() {
        let path = std::env::temp_dir().join(format!("evenkeel-again-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        // A file of which no byte can be read, whoever reads.
        symlink("/proc/self/mem", path.join("a.yaml")).unwrap();
        let mut folder = Folder::new(path.clone(), Compat::Record);
        let settled = SystemTime::now() + Duration::from_secs(60);
        for _ in 0..3 {
            folder.scan(settled, &BTreeSet::new()).unwrap();
            let file = folder.files.values().next().unwrap();
            assert!(file.problems[0].message.contains("cannot be read: "), "{:?}", file.problems);
            assert_eq!(file.stamp, None);
        }
        fs::remove_dir_all(&path).unwrap();
    }
}
