//! Tests of the runner itself: on the recordings, and against a stub.

mod recordings;
mod stub;
mod wire;
