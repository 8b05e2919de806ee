//! Clusters of many Services with ten Pods each.

use crate::{
    Found,
    churn::{self, Churn},
    cluster::{create_nodes, create_pods, create_services},
    first_sync::{self, FirstSync},
    load::{
        Failure,
        connection::Connection,
        server::{Folder, Server},
        table::{Figure, grouped},
    },
    restart::{self, Restart},
    watch::OURS,
};

const PODS: usize = 10;

/// What is asked of a cluster, as text and number, and what kube-controller-manager does.
pub(crate) struct Goals {
    cpu: Goal,
    memory: Goal,
    wall_of_kubernetes: &'static str,
}

struct Goal {
    most: f64,
    target: &'static str,
    kubernetes: &'static str,
}

impl Goals {
    pub(crate) const NONE: Goals =
        Goals { cpu: Goal::NONE, memory: Goal::NONE, wall_of_kubernetes: "" };

    pub(crate) const THOUSAND: Goals = Goals {
        cpu: Goal { most: 0.5, target: "0.5 s", kubernetes: "2.5-3.2 s" },
        memory: Goal { most: 40.0, target: "40 MB", kubernetes: "163 MB" },
        wall_of_kubernetes: "2.7-4.0 s (49.5 s by default)",
    };

    pub(crate) const TEN_THOUSAND: Goals =
        Goals { memory: Goal { most: 250.0, target: "250 MB", kubernetes: "" }, ..Goals::NONE };
}

impl Goal {
    const NONE: Goal = Goal { most: f64::INFINITY, target: "", kubernetes: "" };
}

pub(crate) async fn run(
    server: &Server,
    folder: &Folder,
    n_services: usize,
    goals: &Goals,
) -> Result<Found, Failure> {
    create_nodes(server).await?;
    create_pods(server, n_services * PODS, |pod| pod % n_services).await?;
    create_services(server, n_services).await?;
    let first = first_sync::run(server, folder, n_services, false).await?;
    let churn = churn::run(server, &first.controller, n_services * PODS).await?;
    let name = grouped(n_services as f64);
    let costs = vec![(n_services, churn.cost)];
    let mut figures = first_figures(&name, &first, goals);
    drop(first.controller);
    figures.extend(churn_figures(&name, &churn));
    figures.extend(restart_figures(&name, &restart::run(server, folder, false).await?));
    forget_slices(&mut server.connect().await?).await?;
    let told = first_sync::run(server, folder, n_services, true).await?;
    figures.push(told_figure(&name, &told));
    Ok(Found { figures, costs })
}

async fn forget_slices(connection: &mut Connection) -> Result<(), Failure> {
    let path = format!("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?{OURS}");
    let request = crate::load::connection::request("DELETE", &path, "application/json", "");
    connection.answer(&request).await.map(drop)
}

fn first_figures(n: &str, first: &FirstSync, goals: &Goals) -> Vec<Figure> {
    let FirstSync { slices, quiet, usage, server, .. } = first;
    vec![
        Figure {
            what: format!("{n} x 10, first sync: all slices (quiet)"),
            here: format!("{slices:.2} s ({quiet:.2} s)"),
            target: "",
            kubernetes: goals.wall_of_kubernetes,
            met: true,
        },
        Figure {
            what: format!("{n} x 10, first sync: CPU (of the API server)"),
            here: format!("{:.2} s ({server:.2} s)", usage.cpu),
            target: goals.cpu.target,
            kubernetes: goals.cpu.kubernetes,
            met: usage.cpu <= goals.cpu.most,
        },
        Figure {
            what: format!("{n} x 10, first sync: memory at most (after it)"),
            here: format!("{:.1} MB ({:.1} MB)", usage.peak, usage.memory),
            target: goals.memory.target,
            kubernetes: goals.memory.kubernetes,
            met: usage.peak <= goals.memory.most,
        },
    ]
}

fn told_figure(n: &str, told: &FirstSync) -> Figure {
    let FirstSync { quiet, usage, conditions, .. } = told;
    let (cpu, peak) = (usage.cpu, usage.peak);
    Figure {
        what: format!("{n} x 10, first sync with {conditions} conditions' writes"),
        here: format!("{quiet:.2} s, CPU {cpu:.2} s, {peak:.1} MB"),
        target: "",
        kubernetes: "",
        met: true,
    }
}

fn churn_figures(n: &str, churn: &Churn) -> [Figure; 2] {
    let Churn { median, late, cost } = churn;
    [
        Figure {
            what: format!("{n} x 10, 100 Pods/s: Pod written to slice seen, p50 (p99)"),
            here: format!("{median:.1} ms ({late:.1} ms)"),
            target: "",
            kubernetes: "",
            met: true,
        },
        Figure {
            what: format!("{n} x 10, 100 Pods/s: CPU for one Pod's change"),
            here: format!("{cost:.3} ms"),
            target: "",
            kubernetes: "",
            met: true,
        },
    ]
}

fn restart_figures(n: &str, restart: &Restart) -> [Figure; 2] {
    let Restart { ready, writes } = restart;
    [
        Figure {
            what: format!("{n} x 10, started again: writes"),
            here: writes.to_string(),
            target: "0",
            kubernetes: "",
            met: *writes == 0,
        },
        Figure {
            what: format!("{n} x 10, started again: ready"),
            here: format!("{:.0} ms", ready.as_secs_f64() * 1e3),
            target: "",
            kubernetes: "",
            met: true,
        },
    ]
}
