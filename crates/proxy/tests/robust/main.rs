//! The proxy on the real kernel, under traffic and against everything that goes wrong: endpoints that
//! roll over, others' changes of the tables, an API server that is away, and objects that make no
//! sense. Needs root, and the commands `ip` and `nft`.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]
#![expect(clippy::print_stdout, reason = "what was measured is of interest")]

mod affinity;
mod bad_input;
mod foreign;
mod hostile;
mod many;
mod objects;
mod outage;
mod proxy;
mod rolling;
mod storm;
mod world;
