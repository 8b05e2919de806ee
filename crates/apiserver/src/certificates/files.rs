//! Files that are whole or not there, and secret from the moment they are.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use super::CertificateError;

/// Writes a file that only its owner may read, in place of one that may be there.
pub(crate) fn write_secret(path: &Path, text: &str) -> Result<(), CertificateError> {
    write(path, text, 0o600)
}

pub(super) fn write_public(path: &Path, text: &str) -> Result<(), CertificateError> {
    write(path, text, 0o644)
}

/// The text of a file, or `None` if there is none. A key that others could read is closed.
pub(super) fn read(path: &Path) -> Result<Option<String>, CertificateError> {
    let failed = |source| CertificateError::Read { path: path.to_owned(), source };
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode();
    if path.extension().is_some_and(|kind| kind == "key") && mode & 0o077 != 0 {
        tracing::warn!(file = %path.display(), "key file was readable by others, permissions fixed");
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    }
    // What is no text is found out when it is parsed.
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Makes a folder for its owner alone, if it is not there.
pub(super) fn folder(path: &Path) -> Result<PathBuf, CertificateError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| CertificateError::Write { path: path.to_owned(), source })?;
    Ok(path.to_owned())
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertificateError> {
    replace(path, text, mode)
        .map_err(|source| CertificateError::Write { path: path.to_owned(), source })
}

/// A new file beside it, synced and renamed: at no time is there a part of it, nor a file with
/// wider rights than asked for.
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
