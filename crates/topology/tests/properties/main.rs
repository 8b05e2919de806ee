//! What holds for every input: selection, Auto hints, slices.
//!
//! `spec` describes a small world by names and numbers, and `generate` draws such descriptions.
//! There are two oracles: `brute_force` for hints with the fewest changes, `by_the_book` for
//! selection.

mod auto;
mod brute_force;
mod by_the_book;
mod determinism;
mod generate;
mod kubernetes;
mod least_change;
mod moves;
mod packing;
mod selection;
mod settling;
mod spec;
