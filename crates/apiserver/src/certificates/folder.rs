//! The data folder of a server: accessible only to its owner, used by one server at a time.

use std::{
    env,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::{fs::FlockOperation, io::Errno};
use thiserror::Error;

/// The folder, locked until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The lock is released with the last handle of this file, also when the process is killed.
    _lock: File,
    is_temporary: bool,
}

/// Why a folder can't be used for a server's data.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FolderError {
    #[error("{}: can't be used as data folder: {source}", path.display())]
    Unusable { path: PathBuf, source: io::Error },
    #[error("{}: another server runs on this data; stop it, or give another folder", path.display())]
    Taken { path: PathBuf },
    #[error(
        "{}: the folder is accessible to other users and contains files of another program; \
         choose a new folder, or restrict this one: chmod 700 {}",
        path.display(), path.display()
    )]
    Open { path: PathBuf },
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Folder, FolderError> {
        let unusable = |source| FolderError::Unusable { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        let mode = fs::metadata(path).map_err(unusable)?.permissions().mode();
        if mode & 0o077 != 0 {
            // Never change the permissions of a folder used for something else.
            if !is_ours(path).map_err(unusable)? {
                return Err(FolderError::Open { path: path.to_owned() });
            }
            fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(unusable)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(path.join("lock")).map_err(unusable)?;
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Folder { path: path.to_owned(), _lock: lock, is_temporary: false }),
            Err(Errno::WOULDBLOCK) => Err(FolderError::Taken { path: path.to_owned() }),
            Err(error) => Err(unusable(error.into())),
        }
    }

    /// A new temporary folder, removed on drop.
    pub(crate) fn temporary() -> Result<Folder, FolderError> {
        let path = env::temp_dir().join(format!("evenkeel-{:016x}", rand::random::<u64>()));
        // Must not exist: another user could have created it.
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|source| FolderError::Unusable { path: path.clone(), source })?;
        let mut folder = Folder::open(&path)?;
        folder.is_temporary = true;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_temporary {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn is_ours(path: &Path) -> io::Result<bool> {
    Ok(path.join("pki").is_dir() || fs::read_dir(path)?.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::testing::scratch;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_folder_serves_one_server_at_a_time() {
        let (_scratch, path) = scratch();
        let first = Folder::open(&path).unwrap();
        assert!(matches!(Folder::open(&path), Err(FolderError::Taken { .. })));
        drop(first);
        assert!(Folder::open(&path).is_ok());
    }

    #[test]
    fn an_empty_folder_is_closed_but_one_in_use_is_left_alone() {
        let (_scratch, path) = scratch();
        let (empty, used) = (path.join("empty"), path.join("used"));
        for folder in [&empty, &used] {
            fs::create_dir(folder).unwrap();
            fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(used.join("notes.txt"), "").unwrap();
        drop(Folder::open(&empty).unwrap());
        assert_eq!(mode(&empty), 0o700);
        assert!(matches!(Folder::open(&used), Err(FolderError::Open { .. })));
        assert_eq!(mode(&used), 0o755);
    }

    #[test]
    fn a_temporary_folder_is_private_and_removed() {
        let folder = Folder::temporary().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(mode(&path), 0o700);
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let (_scratch, path) = scratch();
        let file = path.join("file");
        fs::write(&file, "").unwrap();
        let error = Folder::open(&file).unwrap_err().to_string();
        assert!(error.contains("file: can't be used as data folder"), "{error}");
    }
}
