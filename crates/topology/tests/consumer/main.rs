//! The view of consumers: merging, changes, and selection that is kept up to date.

mod cost;
mod everywhere;
mod generate;
mod merging;
mod oracle;
mod replay;
mod same_as_from_scratch;
mod shares;
mod watching;
mod world;
