//! What the benchmarks of whole processes share: the API server as a process of its own, a client
//! that costs little, and the table of figures.

pub(crate) mod connection;
pub(crate) mod server;
pub(crate) mod table;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// Runnable tasks, averaged over the last minute: what else ran spoils the figures.
pub(crate) fn load_of_machine() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}
