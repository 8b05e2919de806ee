//! What every process has: health, the endpoint for health and metrics, log lines, signals, the
//! supervision of long-lived tasks, the lease by which one of several processes leads, and reading what
//! another process answers.
//!
//! Not here: what a process does, its metrics themselves, and its command line.

pub mod accept;
pub mod endpoint;
pub mod health;
pub mod lease;
pub mod logs;
pub mod scrape;
pub mod signals;
pub mod supervisor;
