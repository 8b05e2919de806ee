//! The API server with its sandbox and the controller as two processes, walked through with the
//! real kubectl: the examples of the proposals, versions that differ, and processes that die.

#![expect(clippy::unwrap_used, reason = "tests")]

mod balanced;
mod cluster;
mod controller;
mod kep_4444;
mod kill;
mod leaders;
mod logs;
mod process;
mod skew;
mod slices;
mod stop;
