//! A folder of YAML or JSON files, several documents each, read again whenever it changes (universal mode).
//!
//! Changes are found by looking at each file's identity, size and times (`stat`), twice a second and at once when the
//! kernel reports something in the folder (`wake`). Links are followed, so that a ConfigMap volume, which exchanges
//! a link to a folder, is one change. What was written just now and may still be written is left for the next
//! look, unless the kernel said that the writer has closed it.
//!
//! A document that is invalid keeps its last good form, a file that cannot be read all of its own. Of a resource that
//! several files hold, the first file in the order of names counts. A look costs one `stat` for each file; a change
//! costs its own file.

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
    Compat, FieldError,
    resource::{Form, Key, Resource, parse},
};
use evenkeel_model::harmless;

pub(crate) use self::wake::watch;
use super::{Problem, yaml};
use crate::engine::Update;

/// A file that is younger may still be written.
const SETTLED: Duration = Duration::from_millis(100);
/// After so many looks a file is read even if it is written all the time.
const PATIENCE: u8 = 20;
/// Larger files are refused.
const LARGEST: u64 = 64 << 20;

/// What is known of the files.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    compat: Compat,
    files: BTreeMap<OsString, File>,
    /// The files that hold a resource, in order; a list, since there is one in general.
    holders: BTreeMap<Key, Vec<OsString>>,
}

#[derive(Debug, Default)]
struct File {
    stamp: Option<Stamp>,
    /// Looks at which it was too young.
    deferred: u8,
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
    let updates = folder.scan(settled, &BTreeSet::new())?.updates.into_iter();
    let resources = updates.filter_map(|update| match update {
        Update::Apply(resource) => Some(*resource),
        Update::Delete(_) | Update::Plain { .. } => None,
    });
    Ok((resources.collect(), folder.problems()))
}

// === impl Folder ===

impl Folder {
    pub fn new(path: PathBuf, compat: Compat) -> Self {
        Self { path, compat, files: BTreeMap::new(), holders: BTreeMap::new() }
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

    fn look(
        &mut self,
        name: &OsString,
        now: SystemTime,
        is_closed: bool,
        scan: &mut Scan,
        touched: &mut BTreeSet<(Key, OsString)>,
    ) {
        let path = self.path.join(name);
        // A file that is exchanged at this moment is there at the next look.
        let Ok(metadata) = fs::metadata(&path) else { return };
        let stamp = Stamp::of(&metadata);
        let origin = self.origin(name);
        let file = self.files.entry(name.clone()).or_default();
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
        let before = std::mem::take(&mut file.problems);
        match read(&path, &metadata) {
            Ok(text) => {
                let read = Read::of(&text, &origin, &file.good, self.compat);
                file.problems = read.problems;
                let old = std::mem::replace(&mut file.good, read.good);
                let new = &file.good;
                let differs = |key: &&Key| old.get(*key) != new.get(*key);
                let keys = old.keys().chain(new.keys()).filter(differs);
                touched.extend(keys.map(|key| (key.clone(), name.clone())));
            }
            Err(message) => file.problems = vec![file.problem(origin, None, message)],
        }
        scan.problems_changed |= before != file.problems;
        for problem in &file.problems {
            let Problem { origin, document, field, message, .. } = problem;
            tracing::warn!(file = %origin, document, field, "ignoring invalid object: {message}");
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

fn read(path: &Path, metadata: &fs::Metadata) -> Result<String, String> {
    if !metadata.is_file() {
        return Err("not a file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("larger than {LARGEST} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())
}

/// What the text of a file says.
struct Read {
    good: BTreeMap<Key, Arc<Resource>>,
    problems: Vec<Problem>,
}

// === impl Read ===

impl Read {
    fn of(
        text: &str,
        origin: &Arc<str>,
        last_good: &BTreeMap<Key, Arc<Resource>>,
        compat: Compat,
    ) -> Self {
        let (mut good, mut problems) = (BTreeMap::new(), Vec::new());
        let problem = |document, resource, field: Option<String>, message| Problem {
            origin: Arc::clone(origin),
            document,
            resource,
            field: field.filter(|field| !field.is_empty()),
            message,
            last_good_in_force: false,
        };
        let documents = yaml::documents(text).unwrap_or_else(|message| {
            problems.push(problem(None, None, None, message));
            Vec::new()
        });
        for (index, value) in documents.iter().enumerate().filter(|(_, value)| !value.is_null()) {
            let document = Some(index + 1);
            match parse(value, Form::File, compat) {
                Ok(resource) if good.contains_key(&resource.key) => {
                    let message = "is twice in this file; the first one counts".to_owned();
                    problems.push(problem(document, Some(resource.key), None, message));
                }
                Ok(resource) => {
                    good.insert(resource.key.clone(), Arc::new(resource));
                }
                Err(errors) => problems.extend(errors.into_iter().map(|error| {
                    let FieldError { path, message } = error;
                    problem(document, None, Some(path), message)
                })),
            }
        }
        if !problems.is_empty() {
            // Which of the earlier ones the invalid documents were is not known: all that are missing stay.
            let missing = last_good.iter().filter(|(key, _)| !good.contains_key(*key));
            let missing: Vec<_> = missing.map(|(k, r)| (k.clone(), Arc::clone(r))).collect();
            let keeps = !missing.is_empty();
            good.extend(missing);
            problems.iter_mut().for_each(|problem| problem.last_good_in_force = keeps);
        }
        Self { good, problems }
    }
}

// === impl File ===

impl File {
    fn problem(&self, origin: Arc<str>, document: Option<usize>, message: String) -> Problem {
        let last_good_in_force = !self.good.is_empty();
        Problem { origin, document, resource: None, field: None, message, last_good_in_force }
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
