//! A proxy for this many Services with this many endpoints each: its start, its restart, changes, and
//! what it takes.

use std::{thread, time::Duration};

use evenkeel_testkit::netns::Network;

use crate::{
    changes::{self, Changes, Percentiles},
    cluster::{NODE, create_services},
    kernel::{Contents, contents, delete_tables, memory},
    load::{
        Failure,
        server::runtime,
        table::{Figure, grouped},
    },
    process::{Kind, Proxy, kube_proxy},
    station::{Station, inside},
};

/// How often it is started.
const STARTS: usize = 5;
const CHANGES: usize = 400;
const LISTINGS: usize = 5;
/// Those of kube-proxy take long.
const CHANGES_OF_KUBERNETES: usize = 40;

pub(crate) struct Size {
    pub(crate) services: usize,
    pub(crate) endpoints: usize,
    pub(crate) goals: Goals,
    /// Whether kube-proxy does the same in tolerable time.
    pub(crate) is_compared: bool,
}

/// The most, as number and text.
type Goal = Option<(f64, &'static str)>;

pub(crate) struct Goals {
    pub(crate) cold: Goal,
    pub(crate) warm: Goal,
    pub(crate) memory: Goal,
}

pub(crate) struct Found {
    pub(crate) figures: Vec<Figure>,
    pub(crate) cost: Cost,
}

/// What a cold start took for its elements.
pub(crate) struct Cost {
    elements: usize,
    seconds: f64,
}

/// What was measured of one proxy.
struct Measured {
    cold: Vec<f64>,
    changes: Changes,
    /// In megabytes: of the process at most and at the end, and of the kernel.
    peak: f64,
    rss: f64,
    kernel: f64,
}

/// What was measured of Evenkeel's only.
struct Warm {
    seconds: Vec<f64>,
    /// In megabytes.
    peak: f64,
    commits: f64,
    rules: usize,
    elements: usize,
}

// === impl Goals ===

impl Goals {
    pub(crate) const NONE: Goals = Goals { cold: None, warm: None, memory: None };
}

// === impl Size ===

impl Size {
    pub(crate) fn name(&self) -> String {
        format!("{}x{}", self.services, self.endpoints)
    }
}

pub(crate) fn run(size: &Size, is_quick: bool) -> Result<Found, Failure> {
    let network = Network::new(&[(NODE, "zone-0")]);
    let host = network.host(NODE);
    let (ours, warm, theirs) = inside(host, || {
        let station = Station::start(host, &size.name())?;
        let filled = create_services(&station.server, size.services, size.endpoints);
        runtime().block_on(filled)?;
        let (starts, changes) = if is_quick { (1, CHANGES / 2) } else { (STARTS, CHANGES) };
        let (ours, warm) = evenkeel(&station, size, starts, changes)?;
        let is_compared = size.is_compared && !is_quick && kube_proxy().is_some();
        let theirs = is_compared.then(|| kubernetes(&station, size)).transpose()?;
        Ok((ours, warm, theirs))
    })?;
    let cost = Cost { elements: warm.elements, seconds: median(&ours.cold) };
    Ok(Found { figures: figures(size, &ours, &warm, theirs.as_ref()), cost })
}

/// The cost of an element must not grow with their number.
pub(crate) fn growth(costs: &[Cost]) -> Option<Figure> {
    // What a start takes with nothing to do would count too much in a small one.
    let large = costs.iter().filter(|cost| cost.elements > 50_000);
    let costs: Vec<f64> = large.map(|cost| cost.seconds * 1e6 / cost.elements as f64).collect();
    let (least, most) = costs.iter().fold((f64::MAX, 0.0_f64), |(a, b), c| (a.min(*c), b.max(*c)));
    (costs.len() > 1).then(|| Figure {
        what: "cold start per element, least and most of all sizes".into(),
        here: format!("{least:.1}, {most:.1} µs"),
        target: "2 times",
        kubernetes: "",
        met: most <= least * 2.0,
    })
}

fn evenkeel(
    station: &Station,
    size: &Size,
    starts: usize,
    changes: usize,
) -> Result<(Measured, Warm), Failure> {
    let Station { server, folder } = station;
    let start = || Proxy::start(Kind::Evenkeel, folder);
    let mut cold = Vec::new();
    for _ in 1..starts {
        cold.push(start()?.ready.as_secs_f64());
        delete_tables()?;
    }
    let proxy = start()?;
    cold.push(proxy.ready.as_secs_f64());
    let there = all_contents(size.services * (size.endpoints + 2))?;
    let changes = changes::run(server, &proxy, (size.services, size.endpoints), 0..changes)?;
    let usage = proxy.usage()?;
    drop(proxy);
    let mut warm = Warm {
        seconds: Vec::new(),
        peak: 0.0,
        commits: 0.0,
        rules: there.rules,
        elements: there.elements,
    };
    for _ in 0..starts {
        let proxy = start()?;
        warm.seconds.push(proxy.ready.as_secs_f64());
        warm.peak = warm.peak.max(proxy.usage()?.peak);
        warm.commits += proxy.metric("evenkeel_proxy_commits_total")?;
    }
    let kernel = kernel_memory()?;
    Ok((Measured { cold, changes, peak: usage.peak, rss: usage.memory, kernel }, warm))
}

/// What is in the kernel, which must be all. While a large hash table grows in the background, a listing
/// may miss some elements.
fn all_contents(least: usize) -> Result<Contents, Failure> {
    for _ in 0..LISTINGS {
        let there = contents()?;
        if there.elements >= least {
            return Ok(there);
        }
        println!("listed {} of {least} elements, listing again", there.elements);
        thread::sleep(Duration::from_millis(500));
    }
    Err("the proxy was ready before all elements were there".into())
}

fn kubernetes(station: &Station, size: &Size) -> Result<Measured, Failure> {
    let proxy = Proxy::start(Kind::Kubernetes, &station.folder)?;
    let cold = vec![proxy.ready.as_secs_f64()];
    let of = (size.services, size.endpoints);
    let rounds = CHANGES..CHANGES + CHANGES_OF_KUBERNETES;
    let changes = changes::run(&station.server, &proxy, of, rounds)?;
    let usage = proxy.usage()?;
    drop(proxy);
    Ok(Measured { cold, changes, peak: usage.peak, rss: usage.memory, kernel: kernel_memory()? })
}

/// What becomes free when the tables are deleted.
fn kernel_memory() -> Result<f64, Failure> {
    let before = memory()?;
    delete_tables()?;
    // The kernel frees them in the background.
    thread::sleep(Duration::from_millis(1500));
    Ok(before - memory()?)
}

fn figures(size: &Size, ours: &Measured, warm: &Warm, theirs: Option<&Measured>) -> Vec<Figure> {
    let n = format!("{} x {}", grouped(size.services as f64), size.endpoints);
    let row = |what: &str, here: String, theirs: Option<String>, (met, target)| Figure {
        what: format!("{n}, {what}"),
        here,
        target,
        // Printed once, at the end of the process.
        kubernetes: theirs.map_or("", |theirs| theirs.leak()),
        met,
    };
    let goal =
        |value: f64, goal: Goal| goal.map_or((true, ""), |(most, target)| (value <= most, target));
    let Goals { cold, warm: of_warm, memory } = size.goals;
    let both = |p: Percentiles| format!("{:.2} / {:.2} ms", p.p50, p.p99);
    let in_force = ours.changes.inside;
    let is_fast = in_force.is_some_and(|p| p.p50 <= 1.0 && p.p99 <= 5.0);
    let per = |number: usize| number as f64 / size.services as f64;
    vec![
        row(
            "cold start, median (best)",
            seconds(&ours.cold),
            theirs.map(|theirs| seconds(&theirs.cold)),
            goal(median(&ours.cold), cold),
        ),
        row(
            "warm restart, median (best)",
            seconds(&warm.seconds),
            None,
            goal(median(&warm.seconds), of_warm),
        ),
        row(
            "warm restart, commits",
            format!("{:.0}", warm.commits),
            None,
            (warm.commits == 0.0, "0"),
        ),
        row(
            "one change, received to in force, p50 / p99",
            in_force.map_or("unknown".into(), both),
            None,
            (is_fast, "1 / 5 ms"),
        ),
        row(
            "one change, API write to kernel, p50 / p99",
            both(ours.changes.end_to_end),
            theirs.map(|theirs| both(theirs.changes.end_to_end)),
            (true, ""),
        ),
        row(
            "memory at most (after changes)",
            megabytes(ours),
            theirs.map(megabytes),
            goal(ours.peak, memory),
        ),
        row(
            "memory at most after a warm restart",
            format!("{:.1} MB", warm.peak),
            None,
            goal(warm.peak, memory),
        ),
        row(
            "memory of the kernel",
            format!("{:.1} MB", ours.kernel),
            theirs.map(|theirs| format!("{:.1} MB", theirs.kernel)),
            (true, ""),
        ),
        row(
            "rules in all; elements per Service",
            format!("{}; {:.1}", warm.rules, per(warm.elements)),
            None,
            (true, ""),
        ),
    ]
}

fn megabytes(measured: &Measured) -> String {
    format!("{:.1} MB ({:.1} MB)", measured.peak, measured.rss)
}

fn seconds(times: &[f64]) -> String {
    let best = times.iter().copied().fold(f64::MAX, f64::min);
    format!("{:.2} s ({best:.2} s)", median(times))
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
