//! `evenkeel apiserver` as clients meet it: killed, on a full disk, among hostile peers, and under
//! the unmodified code of `kube`.

#![expect(clippy::unwrap_used, reason = "tests")]

mod disk;
mod hostile;
mod kill;
mod kube_client;
mod logs;
mod process;
