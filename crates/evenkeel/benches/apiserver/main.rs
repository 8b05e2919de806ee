//! The whole API server under load: `cargo xtask bench apiserver`.
//!
//! The binary runs as it does in the field: TLS, tokens, metrics, and a journal that is synced
//! before a write is answered. The load comes from the same machine over loopback: from `wrk` where
//! it is the rate that counts, from a client here where single answers are looked at. Everything is
//! bounded in number or time; a run takes about a minute.
//!
//! `EVENKEEL_DATA` names the disk to measure, by a folder; `EVENKEEL_BINARY` another build to compare
//! with. A word as argument runs only the parts whose names have it.

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]

mod config_maps;
mod creates;
mod custom;
#[path = "../load/mod.rs"]
mod load;
mod memory;
mod paging;
mod reads;
mod watchers;
mod wrk;

use crate::load::{
    Failure, load_of_machine,
    table::{self, Figure},
};

type Part = (&'static str, fn() -> Result<Vec<Figure>, Failure>);

/// Each with servers and data of its own.
const PARTS: &[Part] = &[
    ("creates", creates::run),
    ("reads", reads::run),
    ("memory", memory::run),
    ("custom", custom::run),
    ("paging", paging::run),
    ("watchers", watchers::run),
];

fn main() -> Result<(), Failure> {
    // Cargo adds `--bench`.
    let words: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let before = load_of_machine();
    let mut figures = Vec::new();
    for (name, run) in PARTS.iter().filter(|(name, _)| wanted(name)) {
        println!("{name} …");
        figures.extend(run()?);
    }
    table::print("kube-apiserver", &figures);
    println!("\nload of the machine: {before} before, {} after", load_of_machine());
    Ok(())
}
