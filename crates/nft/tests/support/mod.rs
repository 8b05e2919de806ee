//! What the tests of the evaluator share: Services written by hand, and a small network of
//! namespaces that they are tried in.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "all of it is a test")]

pub mod agree;
pub mod case;
pub mod network;
pub mod random;
pub mod service;
