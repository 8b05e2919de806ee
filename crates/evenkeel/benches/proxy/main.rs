//! The node's Service proxy at work: `cargo xtask bench proxy`.
//!
//! API server and proxy run as they do in the field, each as a process of its own, in network
//! namespaces: TLS, a kubeconfig, a journal. Services and EndpointSlices are written over the API.
//! What is in the kernel is seen by its own notifications and listings. CPU and memory are those of
//! the proxy's process. Everything is bounded in number or time, and removed at the end.
//!
//! A word as argument runs only the part of that name: `cargo xtask bench proxy -- 10000x5`; `quick`
//! runs a short form of all. `EVENKEEL_BINARY` names another build to compare with, and
//! `EVENKEEL_TEST_KUBE_PROXY` a kube-proxy, which then runs the same beside it. Needs root.

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]

mod changes;
mod cluster;
mod connections;
mod kernel;
#[expect(dead_code, reason = "the other benchmarks need more of it")]
#[path = "../load/mod.rs"]
mod load;
mod process;
mod size;
mod station;
#[expect(dead_code, reason = "the other benchmarks need more of it")]
#[path = "../controller/usage.rs"]
mod usage;

use crate::{
    load::{Failure, load_of_machine, table},
    size::{Goals, Size},
};

const SIZES: &[Size] = &[
    Size { services: 1_000, endpoints: 10, goals: Goals::NONE, is_compared: true },
    Size {
        services: 10_000,
        endpoints: 5,
        goals: Goals {
            cold: Some((1.0, "1 s")),
            warm: Some((1.0, "1 s")),
            memory: Some((60.0, "60 MB")),
        },
        is_compared: true,
    },
    Size {
        services: 44_000,
        endpoints: 1,
        goals: Goals { cold: Some((3.0, "3 s")), ..Goals::NONE },
        is_compared: false,
    },
    Size {
        services: 5_000,
        endpoints: 50,
        goals: Goals { cold: Some((3.0, "3 s")), ..Goals::NONE },
        is_compared: false,
    },
];

fn main() -> Result<(), Failure> {
    // Cargo adds `--bench`.
    let mut words: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let is_quick = words.iter().any(|word| word == "quick");
    words.retain(|word| word != "quick");
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let before = load_of_machine();
    let (mut figures, mut costs) = (Vec::new(), Vec::new());
    for size in SIZES.iter().filter(|size| wanted(&size.name())) {
        println!("{} …", size.name());
        let found = size::run(size, is_quick)?;
        figures.extend(found.figures);
        costs.push(found.cost);
    }
    figures.extend(size::growth(&costs));
    if wanted("connections") {
        println!("connections …");
        figures.extend(connections::run(is_quick)?);
    }
    table::print("kube-proxy", &figures);
    println!("\nload of the machine: {before} before, {} after", load_of_machine());
    Ok(())
}
