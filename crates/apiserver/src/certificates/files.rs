//! Atomic file writes, with restricted permissions from the start.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::CertificateError;

/// Writes or replaces a file that only its owner may read.
pub(crate) fn write_secret(path: &Path, text: &str) -> Result<(), CertificateError> {
    write(path, text, 0o600)
}

pub(super) fn write_public(path: &Path, text: &str) -> Result<(), CertificateError> {
    write(path, text, 0o644)
}

/// The text of a file, or `None` if it does not exist. Restricts the permissions of a key that
/// others could read.
pub(crate) fn read(path: &Path) -> Result<Option<String>, CertificateError> {
    let failed = |source| CertificateError::Read { path: path.to_owned(), source };
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    let is_key = path.extension().is_some_and(|kind| kind == "key" || kind == "json");
    if is_key && mode & 0o077 != 0 {
        tracing::warn!(file = %path.display(), "key file was readable by others, permissions fixed");
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    }
    // Invalid text is detected by the parser.
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Creates a folder accessible only to its owner, if it does not exist.
pub(super) fn folder(path: &Path) -> Result<PathBuf, CertificateError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| CertificateError::Write { path: path.to_owned(), source })?;
    Ok(path.to_owned())
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertificateError> {
    replace(path, text, mode)
        .map_err(|source| CertificateError::Write { path: path.to_owned(), source })
}

/// Writes a new file beside it, syncs and renames it: the file is never incomplete and never has
/// wider permissions than requested.
fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let fresh = folder.join(format!(".{name}.new"));
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    File::open(folder)?.sync_all()
}
