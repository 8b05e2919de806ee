//! The control plane of a mesh with thousands of proxies: `cargo xtask bench xds`.
//!
//! `evenkeel xds` runs as it does in the field, on a folder of files. Its proxies are another process: this
//! program, started again as `clients`, with a connection of its own for each proxy. They decode what they must to
//! answer, and acknowledge at once. Control plane and clients share the machine, so that beside each time
//! the CPU time of the control plane is told. Both processes read the wall clock, which must not be set meanwhile.
//!
//! A word as argument runs only the part of that name: `cargo xtask bench xds -- 2000`.
//! `EVENKEEL_BINARY` names another build to compare with. A run takes some minutes.

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]

mod clients;
mod engine;
mod fleet;
#[path = "../load/mod.rs"]
#[expect(dead_code, reason = "there is no API server here")]
mod load;
mod mesh;
mod plane;
mod quantile;
mod scale;
mod stalled;
#[path = "../controller/usage.rs"]
#[expect(dead_code, reason = "hundredths of seconds are fine enough")]
mod usage;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{
    load::{
        Failure, load_of_machine,
        table::{self, Figure},
    },
    mesh::Mesh,
    scale::Goals,
};

/// A part, with a control plane of its own.
#[derive(Clone, Copy)]
enum Part {
    Scale(&'static Mesh, &'static Goals),
    /// Proxies that never read, among others.
    Stalled,
    /// The record's own experiment, in this process.
    Record,
    /// Computing for more and more proxies in the same places, in this process.
    Growth,
}

const PARTS: &[(&str, Part)] = &[
    ("2000", Part::Scale(&mesh::TWO_THOUSAND, &Goals::TWO_THOUSAND)),
    ("10000", Part::Scale(&mesh::TEN_THOUSAND, &Goals::TEN_THOUSAND)),
    ("stalled", Part::Stalled),
    ("record", Part::Record),
    ("growth", Part::Growth),
];

fn main() -> Result<(), Failure> {
    // Cargo adds `--bench`.
    let words: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if words.first().is_some_and(|word| word == clients::WORD) {
        return clients::run(&words[1..]);
    }
    raise_file_limit();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let before = load_of_machine();
    let mut figures: Vec<Figure> = Vec::new();
    for (name, part) in PARTS.iter().filter(|(name, _)| wanted(name)) {
        println!("{name} …");
        figures.extend(match part {
            Part::Scale(mesh, goals) => scale::run(name, mesh, goals)?,
            Part::Stalled => stalled::run(name)?,
            Part::Record => engine::record(name)?,
            Part::Growth => engine::growth(name)?,
        });
    }
    table::print("", &figures);
    println!("\nload of the machine: {before} before, {} after", load_of_machine());
    Ok(())
}

/// Each proxy is a file in both processes, which inherit the limit.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}
