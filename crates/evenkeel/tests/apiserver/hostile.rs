//! Misbehaving peers, over real TLS, each alongside well-behaved ones.

mod answers;
mod bodies;
mod connections;
mod formats;
mod frames;
pub(crate) mod h2;
mod housekeeping;
mod lists;
mod long_lists;
mod nesting;
mod paths;
pub(crate) mod raw;
mod resets;
mod strangers;
mod stuck;
mod unread;
