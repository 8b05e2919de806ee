//! The tests of this program take turns: each measures times under a load of its own.

use std::{fs::File, path::Path};

/// Until it is dropped.
pub(crate) struct Turn(#[expect(dead_code, reason = "it is locked")] File);

/// By a file: some runners give each test a process of its own.
pub(crate) async fn turn() -> Turn {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("overload.lock");
    let file = File::create(path).unwrap();
    let lock = move || file.lock().map(|()| Turn(file));
    tokio::task::spawn_blocking(lock).await.unwrap().unwrap()
}
