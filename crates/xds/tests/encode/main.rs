//! Encoded messages, decoded again.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod assignment;
mod mesh;
mod response;
