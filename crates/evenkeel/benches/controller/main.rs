//! The EndpointSlice controller at work: `cargo xtask bench controller`.
//!
//! API server and controller run as they do in the field, each as a process of its own: TLS, a
//! kubeconfig, a journal that is synced before a write is answered. Clusters are made of Nodes,
//! Pods and Services over the API; what the controller writes is seen by a watch. CPU and memory
//! are the controller's own process, from its start on. Everything is bounded in number or time; a
//! run takes some minutes, most of them to create the 100,000 Pods of `10000x10`.
//!
//! A word as argument runs only the part of that name: `cargo xtask bench controller -- 1000x10`.
//! `EVENKEEL_DATA` names the disk to use, by a folder; `EVENKEEL_BINARY` another build to compare
//! with.

#![expect(clippy::print_stdout, reason = "a program that prints its figures")]

mod churn;
mod cluster;
mod controller;
mod first_sync;
#[path = "../load/mod.rs"]
mod load;
mod many_services;
mod one_service;
mod requests;
mod restart;
mod usage;
mod watch;

use tokio::task::LocalSet;

use crate::{
    load::{
        Failure, load_of_machine,
        server::{Folder, Server, runtime},
        table::{self, Figure, grouped},
    },
    many_services::Goals,
};

/// A part, with server and data of its own.
#[derive(Clone, Copy)]
enum Part {
    /// So many Services with ten Pods each.
    Many { services: usize, goals: &'static Goals },
    /// One Service over so many Pods.
    One { pods: usize, milliseconds: Option<f64> },
}

const PARTS: &[(&str, Part)] = &[
    ("100x10", Part::Many { services: 100, goals: &Goals::NONE }),
    ("1000x10", Part::Many { services: 1_000, goals: &Goals::THOUSAND }),
    ("10000x10", Part::Many { services: 10_000, goals: &Goals::TEN_THOUSAND }),
    ("1x1000", Part::One { pods: 1_000, milliseconds: Some(20.0) }),
    ("1x5000", Part::One { pods: 5_000, milliseconds: None }),
];

/// What a part found.
#[derive(Default)]
struct Found {
    figures: Vec<Figure>,
    /// CPU of the controller for one Pod's change, in milliseconds, by the number of Services.
    costs: Vec<(usize, f64)>,
}

fn main() -> Result<(), Failure> {
    // Cargo adds `--bench`.
    let words: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let before = load_of_machine();
    let mut all = Found::default();
    for (name, part) in PARTS.iter().filter(|(name, _)| wanted(name)) {
        println!("{name} …");
        let Found { figures, costs } = run(name, *part)?;
        all.figures.extend(figures);
        all.costs.extend(costs);
    }
    all.figures.extend(growth(&all.costs));
    table::print("kube-controller-manager", &all.figures);
    println!("\nload of the machine: {before} before, {} after", load_of_machine());
    Ok(())
}

fn run(name: &str, part: Part) -> Result<Found, Failure> {
    let folder = Folder::new(name)?;
    let server = Server::start(&folder)?;
    LocalSet::new().block_on(&runtime(), async {
        match part {
            Part::Many { services, goals } => {
                many_services::run(&server, &folder, services, goals).await
            }
            Part::One { pods, milliseconds } => {
                one_service::run(&server, &folder, pods, milliseconds).await
            }
        }
    })
}

/// How the cost of a change grows from the smallest to the largest cluster of the run.
fn growth(costs: &[(usize, f64)]) -> Option<Figure> {
    let (few, least) = costs.first()?;
    let (many, most) = costs.last().filter(|(many, _)| many > few)?;
    let ratio = most / least;
    Some(Figure {
        what: format!(
            "CPU for one Pod's change, {} Services against {}",
            grouped(*many as f64),
            grouped(*few as f64)
        ),
        here: format!("{ratio:.2} times"),
        target: "1.5 times",
        kubernetes: "",
        met: ratio <= 1.5,
    })
}
