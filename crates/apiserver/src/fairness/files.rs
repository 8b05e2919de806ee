//! The configuration in files: a folder with objects of the proposal's dialect.
//!
//! The folder is looked at twice a second. Files are read if their metadata changed, or changed so
//! recently that another change may not show. A change is applied when two looks in a row find the
//! same contents, so that files which are being written are not applied half, nor is a mix of two
//! versions of a mounted ConfigMap. While there is a problem with any file, the last configuration
//! without problems stays in force.
//!
//! Files are those that end in `.yaml`, `.yml` or `.json`. Names that begin with a dot are not read:
//! editors and mounted ConfigMaps (`..data`) have them. Symbolic links are followed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use evenkeel_fairness::{
    config::Config,
    dialect::{Compiled, Condition, Severity, compile_files},
};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::api::Api;

const PERIOD: Duration = Duration::from_millis(500);
/// Two changes within the resolution of a filesystem's clock have the same time.
const RECENT: Duration = Duration::from_secs(2);
const MAX_FILES: usize = 1000;
/// Of files of any name.
const MAX_ENTRIES: usize = 10_000;
/// Of all files together.
const MAX_BYTES: u64 = 8 << 20;
/// The most conditions of one configuration that are logged.
const MAX_LOGGED: usize = 20;

/// The configuration from a folder.
#[derive(Debug)]
pub(super) struct Files {
    /// Locked while the folder is read, which may take long.
    looks: Arc<Mutex<Looks>>,
    in_force: Mutex<InForce>,
}

/// Why files can't be the configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    #[error("{}: can't be read: {problem}; give a folder that the server can read", path.display())]
    Folder { path: PathBuf, problem: String },
    #[error("{}: can't be read: {problem}; remove it, or let the server read it", path.display())]
    File { path: PathBuf, problem: String },
    #[error("{}: more than {limit} {what}; use a folder of its own for the configuration", path.display())]
    TooMany { path: PathBuf, limit: usize, what: &'static str },
    #[error("{}: more than {limit} bytes with the files before it; make the configuration smaller", path.display())]
    TooLong { path: PathBuf, limit: u64 },
    #[error("{}: byte {at} is not UTF-8; save the file in that encoding", path.display())]
    NotUtf8 { path: PathBuf, at: usize },
    #[error("{first}{}; `evenkeel fairness lint -f {}` checks all files", and_more(*.more), folder.display())]
    Invalid { folder: PathBuf, first: String, more: usize },
    /// Valid, but not for this server.
    #[error("the flow control configuration can't be used: {0}")]
    Unusable(String),
}

/// What is known of the folder.
#[derive(Debug)]
struct Looks {
    folder: PathBuf,
    /// The files as they were read last; none: a change since may not show.
    stamps: Option<Vec<Stamp>>,
    /// What was last put in force, or refused.
    examined: Digest,
    /// What the last look found, if it was something else.
    pending: Option<Digest>,
}

/// Changes with every change of a file, save for those at nearly the same time.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Stamp {
    name: OsString,
    inode: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

#[derive(Debug)]
struct InForce {
    compiled: Compiled,
    /// Why newer files are not in force.
    error: Option<String>,
    /// What operators were told.
    logged: BTreeSet<Told>,
}

/// A condition that is true, without its position in the file.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Told {
    object: String,
    file: Arc<str>,
    r#type: &'static str,
    reason: &'static str,
    message: String,
    is_info: bool,
}

/// By the paths of the files.
type Texts = BTreeMap<PathBuf, String>;
type Digest = [u8; 32];
type Outcome = Result<Compiled, FileError>;

// === impl Files ===

impl Files {
    /// An empty folder is a configuration of backstops.
    pub(super) fn open(folder: PathBuf) -> Result<Files, FileError> {
        let (looks, compiled) = Looks::open(folder, SystemTime::now())?;
        let in_force = InForce { compiled, error: None, logged: BTreeSet::new() };
        Ok(Files { looks: Arc::new(Mutex::new(looks)), in_force: Mutex::new(in_force) })
    }

    pub(super) fn config(&self) -> Config {
        self.in_force.lock().compiled.config.clone()
    }

    /// Of the objects that are in force now.
    #[cfg(test)]
    pub(super) fn conditions(&self) -> Vec<Condition> {
        self.in_force.lock().compiled.conditions.clone()
    }

    /// Applies changes until the server stops.
    pub(super) async fn follow(&self, api: &Arc<Api>) {
        self.run(&api.stop, |compiled| api.fairness.configure(compiled)).await;
    }

    async fn run(&self, stop: &CancellationToken, configure: impl Fn(&Compiled)) {
        self.in_force.lock().log_conditions();
        let mut tick = tokio::time::interval(PERIOD);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut poll = async || {
            tick.tick().await;
            let looks = self.looks.clone();
            tokio::task::spawn_blocking(move || looks.lock().poll(SystemTime::now())).await
        };
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                polled = poll() => match polled {
                    Ok(Some(outcome)) => self.take(outcome, &configure),
                    Ok(None) => {}
                    Err(error) => tracing::error!(%error, "reading flow control files failed, retrying"),
                },
            }
        }
    }

    fn take(&self, outcome: Outcome, configure: impl FnOnce(&Compiled)) {
        let mut in_force = self.in_force.lock();
        match outcome {
            Ok(compiled) => {
                configure(&compiled);
                let (levels, schemas) =
                    (compiled.config.levels.len(), compiled.config.schemas.len());
                tracing::info!(levels, schemas, "flow control configuration changed");
                in_force.compiled = compiled;
                in_force.error = None;
                in_force.log_conditions();
            }
            Err(error) => {
                let error = error.to_string();
                if in_force.error.as_ref() != Some(&error) {
                    tracing::warn!(
                        error,
                        "ignoring invalid flow control files, keeping the last configuration"
                    );
                }
                in_force.error = Some(error);
            }
        }
    }
}

// === impl InForce ===

impl InForce {
    /// Logs what is new and what is gone.
    fn log_conditions(&mut self) {
        let now: BTreeSet<Told> = self.compiled.conditions.iter().filter_map(Told::of).collect();
        let new: Vec<&Told> = now.difference(&self.logged).collect();
        for told in new.iter().take(MAX_LOGGED) {
            told.log();
        }
        if let Some(more) = new.len().checked_sub(MAX_LOGGED).filter(|more| *more > 0) {
            tracing::warn!(more, "flow control objects have further conditions");
        }
        for Told { object, r#type, .. } in self.logged.difference(&now).take(MAX_LOGGED) {
            tracing::info!(object, r#type, "condition of a flow control object resolved");
        }
        self.logged = now;
    }
}

impl Told {
    fn of(condition: &Condition) -> Option<Told> {
        let severity = condition.severity()?;
        let (object, file) = match &condition.object {
            Some(object) => (format!("{} {}", object.kind, object.name), object.file.clone()),
            None => ("implied".to_owned(), Arc::from("")),
        };
        Some(Told {
            object,
            file,
            r#type: condition.r#type().code(),
            reason: condition.reason.code(),
            message: condition.reason.to_string(),
            is_info: severity == Severity::Info,
        })
    }

    fn log(&self) {
        // `message` is the field of the event's own text.
        let Told { object, file, r#type, reason, message: detail, is_info } = self;
        let file = &**file;
        match is_info {
            true => tracing::info!(
                object,
                file,
                r#type,
                reason,
                detail,
                "flow control object has a condition"
            ),
            false => {
                tracing::warn!(
                    object,
                    file,
                    r#type,
                    reason,
                    detail,
                    "flow control object has a condition"
                );
            }
        }
    }
}

// === impl Looks ===

impl Looks {
    fn open(folder: PathBuf, now: SystemTime) -> Result<(Looks, Compiled), FileError> {
        let mut looks = Looks { folder, stamps: None, examined: Digest::default(), pending: None };
        let look = looks.look(now).unwrap_or_else(|| Ok(Texts::new()));
        looks.examined = digest(&look);
        let compiled = compile(&looks.folder, &look?)?;
        Ok((looks, compiled))
    }

    /// A change, if there is one that two looks agree on.
    fn poll(&mut self, now: SystemTime) -> Option<Outcome> {
        let look = self.look(now)?;
        let digest = digest(&look);
        if digest == self.examined {
            self.pending = None;
            return None;
        }
        if self.pending.replace(digest) != Some(digest) {
            return None;
        }
        self.pending = None;
        self.examined = digest;
        Some(look.and_then(|texts| compile(&self.folder, &texts)))
    }

    /// None: nothing has changed since the last look.
    fn look(&mut self, now: SystemTime) -> Option<Result<Texts, FileError>> {
        let last = self.stamps.take();
        let stamps = match list(&self.folder) {
            Ok(stamps) => stamps,
            Err(error) => return Some(Err(error)),
        };
        let same = last.as_ref() == Some(&stamps) && self.pending.is_none();
        let texts = (!same).then(|| read(&self.folder, &stamps));
        self.stamps = stamps.iter().all(|stamp| !stamp.is_recent(now)).then_some(stamps);
        texts
    }
}

impl Stamp {
    fn is_recent(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let seconds = u64::try_from(seconds).unwrap_or(0);
        let changed = Duration::new(seconds, u32::try_from(nanoseconds).unwrap_or(0));
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        changed + RECENT > now
    }
}

fn compile(folder: &Path, texts: &Texts) -> Outcome {
    let names: Vec<(String, &String)> =
        texts.iter().map(|(path, text)| (path.display().to_string(), text)).collect();
    compile_files(names.iter().map(|(name, text)| (&**name, text.as_str()))).map_err(|problems| {
        FileError::Invalid {
            folder: folder.to_owned(),
            first: problems.first().map_or_else(String::new, ToString::to_string),
            more: problems.len().saturating_sub(1),
        }
    })
}

fn and_more(n: usize) -> String {
    match n {
        0 => String::new(),
        1 => " (and 1 more problem)".to_owned(),
        n => format!(" (and {n} more problems)"),
    }
}

/// Of the contents, or of the error.
fn digest(look: &Result<Texts, FileError>) -> Digest {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    match look {
        Ok(texts) => {
            for (path, text) in texts {
                part(path.as_os_str().as_encoded_bytes());
                part(text.as_bytes());
            }
        }
        Err(error) => part(error.to_string().as_bytes()),
    }
    hash.finalize().into()
}

// === The folder ===

/// The files of the configuration, by name.
fn list(folder: &Path) -> Result<Vec<Stamp>, FileError> {
    let failed = |error: io::Error| FileError::Folder {
        path: folder.to_owned(),
        problem: error.to_string(),
    };
    let too_many = |limit, what| FileError::TooMany { path: folder.to_owned(), limit, what };
    let mut stamps = Vec::new();
    for (i, entry) in fs::read_dir(folder).map_err(failed)?.enumerate() {
        if i >= MAX_ENTRIES {
            return Err(too_many(MAX_ENTRIES, "entries"));
        }
        let name = entry.map_err(failed)?.file_name();
        if is_ours(&name) {
            stamps.extend(stamp(folder, name)?);
        }
        if stamps.len() > MAX_FILES {
            return Err(too_many(MAX_FILES, "files"));
        }
    }
    stamps.sort();
    Ok(stamps)
}

fn is_ours(name: &OsString) -> bool {
    let extension = Path::new(name).extension();
    let known = ["yaml", "yml", "json"].iter().any(|known| extension.is_some_and(|e| e == *known));
    known && !name.as_encoded_bytes().starts_with(b".")
}

/// None of a folder. Reading a pipe or a device might never end.
fn stamp(folder: &Path, name: OsString) -> Result<Option<Stamp>, FileError> {
    let path = folder.join(&name);
    let failed = |problem: String| FileError::File { path: path.clone(), problem };
    let metadata = fs::metadata(&path).map_err(|error| failed(error.to_string()))?;
    if metadata.is_dir() {
        return Ok(None);
    }
    if !metadata.is_file() {
        return Err(failed("not a regular file".to_owned()));
    }
    Ok(Some(Stamp {
        name,
        inode: (metadata.dev(), metadata.ino()),
        length: metadata.len(),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }))
}

fn read(folder: &Path, stamps: &[Stamp]) -> Result<Texts, FileError> {
    let mut left = MAX_BYTES;
    let mut texts = Texts::new();
    for stamp in stamps {
        let path = folder.join(&stamp.name);
        let failed =
            |error: io::Error| FileError::File { path: path.clone(), problem: error.to_string() };
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(failed)?;
        file.take(left + 1).read_to_end(&mut bytes).map_err(failed)?;
        let Some(rest) = left.checked_sub(bytes.len() as u64) else {
            return Err(FileError::TooLong { path, limit: MAX_BYTES });
        };
        left = rest;
        match String::from_utf8(bytes) {
            Ok(text) => texts.insert(path, text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                return Err(FileError::NotUtf8 { path, at });
            }
        };
    }
    Ok(texts)
}

#[cfg(test)]
mod tests;
