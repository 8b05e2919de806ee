//! `evenkeel apiserver` as clients see it: killed, on a full disk, among hostile peers, all of that
//! at once, and with the unmodified `kube` client, for its own kinds and custom resources.

#![expect(clippy::unwrap_used, reason = "tests")]

mod custom;
mod disk;
mod hostile;
mod kill;
mod kube_client;
mod logs;
mod process;
mod soak;
