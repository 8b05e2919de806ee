//! The tests of this program take turns: each measures times under a load of its own.

use std::sync::LazyLock;

use tokio::sync::{Mutex, MutexGuard};

pub(crate) type Turn = MutexGuard<'static, ()>;

pub(crate) async fn turn() -> Turn {
    static ONE: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);
    ONE.lock().await
}
