//! The file system operations that the journal needs: a directory of files, written at offsets.
//!
//! Nothing is durable until requested: contents with [`File::sync`], names with
//! [`Files::sync_names`]. The tests have a second implementation that loses everything else.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use evenkeel_store::journal::JournalError;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;

/// A directory, used by one journal at a time.
pub(crate) trait Files: Send + Sync + 'static {
    type File: File;

    fn names(&self) -> io::Result<Vec<String>>;
    /// Creates an empty file, or truncates an existing one.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    fn open(&self, name: &str) -> io::Result<Self::File>;
    /// Replaces an existing file of that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals durable.
    fn sync_names(&self) -> io::Result<()>;
    /// An unpredictable number.
    fn nonce(&self) -> u64;
    /// For error messages.
    fn path(&self, name: &str) -> String;
}

/// A file, read and written at offsets.
pub(crate) trait File: Send + 'static {
    fn size(&self) -> io::Result<u64>;
    /// Reads as much as there is, up to the buffer's length.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn truncate(&self, size: u64) -> io::Result<()>;
    /// Allocates space for a file of this size and sets its size. Its contents are unspecified.
    fn allocate(&self, size: u64) -> io::Result<()>;
    /// Makes contents and size durable.
    fn sync(&self) -> io::Result<()>;
}

/// A real directory, locked while this lives.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    handle: fs::File,
    _lock: fs::File,
}

/// An error with the path it concerns.
pub(super) fn failed(path: String) -> impl FnOnce(io::Error) -> JournalError {
    move |error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => JournalError::Full { path },
        _ => JournalError::Io { path, problem: error.to_string() },
    }
}

// === impl Directory ===

impl Directory {
    /// Creates the directory if it does not exist. Only one process at a time may use it.
    pub(crate) fn open(path: &Path) -> Result<Directory, JournalError> {
        let shown = || path.display().to_string();
        fs::create_dir_all(path).map_err(failed(shown()))?;
        let lock = fs::File::create(path.join("lock")).map_err(failed(shown()))?;
        if let Err(errno) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            return Err(match errno {
                Errno::WOULDBLOCK => JournalError::InUse { path: shown() },
                other => failed(shown())(other.into()),
            });
        }
        let handle = fs::File::open(path).map_err(failed(shown()))?;
        if let Some(parent) = path.parent().and_then(|parent| fs::File::open(parent).ok()) {
            parent.sync_all().map_err(failed(shown()))?;
        }
        Ok(Directory { path: path.to_owned(), handle, _lock: lock })
    }
}

impl Files for Directory {
    type File = fs::File;

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(&self.path)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn create(&self, name: &str) -> io::Result<fs::File> {
        let mut options = fs::File::options();
        options.read(true).write(true).create(true).truncate(true).open(self.path.join(name))
    }

    fn open(&self, name: &str) -> io::Result<fs::File> {
        fs::File::options().read(true).write(true).open(self.path.join(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn nonce(&self) -> u64 {
        RandomState::new().hash_one(0)
    }

    fn path(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

// === impl File ===

impl File for fs::File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match FileExt::read_at(self, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        let from = self.size()?;
        let Some(more) = size.checked_sub(from).filter(|more| *more > 0) else {
            return self.set_len(size);
        };
        match fallocate(self, FallocateFlags::empty(), from, more) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                let zeros = vec![0; more.min(1 << 20) as usize];
                let mut at = from;
                while at < size {
                    let n = (size - at).min(zeros.len() as u64);
                    self.write_all_at(&zeros[..n as usize], at)?;
                    at += n;
                }
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// `fdatasync`, which omits timestamps but nothing needed to read the contents back.
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
