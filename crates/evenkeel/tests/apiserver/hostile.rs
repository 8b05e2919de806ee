//! Peers that do everything wrong, over real TLS, each among others that do not.

mod answers;
mod bodies;
mod connections;
mod h2;
mod housekeeping;
mod lists;
mod long_lists;
mod nesting;
mod paths;
mod raw;
mod resets;
mod stuck;
