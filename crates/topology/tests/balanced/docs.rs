//! The table in `docs/balanced.md`: what each policy does with 1 to 12 endpoints.

use std::{env, fmt::Write as _, fs};

use evenkeel_model::Service;
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{
    Settings,
    balanced::{Figures, Tuning, decide},
};

use crate::support::{demand_of, ready};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/balanced.md");
const ZONES: [&str; 3] = ["a", "b", "c"];

/// Endpoints in each zone as a scheduler with `maxSkew: 1` places them, one zone after the other.
fn spread(n: usize) -> [usize; 3] {
    [0, 1, 2].map(|zone| (n + 2 - zone) / 3)
}

fn cluster(cores: [u64; 3]) -> Cluster {
    let nodes: Vec<(&str, u64)> = ZONES.into_iter().zip(cores).collect();
    Cluster::of(&nodes)
}

/// In-zone traffic and worst load by the hints that are planned, as consumers follow them.
fn by_hints(cores: [u64; 3], n: usize, service: Service) -> Figures {
    let spread = spread(n);
    let pods: Vec<(&str, usize)> = ZONES.into_iter().zip(spread).collect();
    let mut world = World::new(cluster(cores), service, Settings::default()).with_pods(&pods);
    world.sync();
    let total = cores.iter().sum::<u64>() as f64;
    let (mut in_zone, mut worst) = (0.0, 0.0);
    let mut loads = std::collections::BTreeMap::<String, f64>::new();
    for (zone, cores) in ZONES.into_iter().zip(cores) {
        let reached = world.select_from(&format!("node-{zone}1")).cluster.unwrap();
        let part = cores as f64 / total / reached.pods.len() as f64;
        for pod in reached.pods {
            in_zone += if pod.starts_with(&format!("pod-{zone}")) { part } else { 0.0 };
            let load = loads.entry(pod).or_default();
            *load += part;
            worst = f64::max(worst, *load * n as f64);
        }
    }
    Figures { in_zone, in_region: 1.0, worst, worst_zone: None }
}

fn balanced(cores: [u64; 3], n: usize, allowance: f64) -> Figures {
    let mut cluster = cluster(cores);
    let spread = spread(n).map(|n| u32::try_from(n).unwrap());
    let counts: Vec<(&str, u32)> = ZONES.into_iter().zip(spread).collect();
    let ready = ready(&mut cluster, &counts);
    let tuning = Tuning { allowance, ..Tuning::default() };
    decide(&demand_of(&cluster), &ready, None, false, &tuning).figures
}

fn table(cores: [u64; 3]) -> String {
    let mut text =
        "| endpoints | none | Auto | PreferSameZone | Balanced | Balanced, 20 % |\n".to_owned();
    text.push_str("|---|---|---|---|---|---|\n");
    for n in 1..=12 {
        let policies = [
            by_hints(cores, n, service("web")),
            by_hints(cores, n, service("web").auto()),
            by_hints(cores, n, service("web").distribution("PreferSameZone")),
            balanced(cores, n, 0.0),
            balanced(cores, n, 0.2),
        ];
        write!(text, "| {n}: {} |", spread(n).map(|n| n.to_string()).join("/")).unwrap();
        for Figures { in_zone, worst, .. } in policies {
            write!(text, " {:.0} %, {worst:.2} |", in_zone * 100.0).unwrap();
        }
        text.push('\n');
    }
    text
}

/// `text` with what is between the marks of `name` replaced.
fn replaced(text: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->\n"));
    let (before, rest) = text.split_once(&begin).expect("the mark is there");
    let (_, after) = rest.split_once(&end).expect("the mark is there");
    format!("{before}{begin}{table}{end}{after}")
}

#[test]
fn the_table_in_the_docs_is_what_the_policies_do() {
    let listed = fs::read_to_string(FILE).unwrap();
    let with_equal = replaced(&listed, "equal zones", &table([4, 4, 4]));
    let expected = replaced(&with_equal, "unequal zones", &table([50, 33, 17]));
    if env::var_os("EVENKEEL_UPDATE").is_some() {
        fs::write(FILE, &expected).unwrap();
    }
    let listed = fs::read_to_string(FILE).unwrap();
    assert_eq!(listed, expected, "set EVENKEEL_UPDATE=1 to write {FILE} again");
}

#[test]
fn balanced_keeps_as_much_in_zone_as_auto_does_with_the_same_overload() {
    for cores in [[4, 4, 4], [50, 33, 17]] {
        for n in 1..=12 {
            let (none, exact) = (by_hints(cores, n, service("web")), balanced(cores, n, 0.0));
            assert!(exact.worst < 1.003, "{cores:?}, {n}: {exact:?}");
            assert!(exact.in_zone > none.in_zone - 1e-3, "{cores:?}, {n}: {exact:?}");
            let (auto, like_auto) =
                (by_hints(cores, n, service("web").auto()), balanced(cores, n, 0.2));
            assert!(like_auto.worst < 1.203, "{cores:?}, {n}: {like_auto:?}");
            assert!(like_auto.in_zone > auto.in_zone - 1e-3, "{cores:?}, {n}: {like_auto:?}");
        }
    }
}
