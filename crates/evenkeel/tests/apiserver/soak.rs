//! `evenkeel up` for minutes, under everything at once: churn, hostile clients, kills, full disks.
//!
//! A test is a sequence of runs on one data folder. Each but the last ends with a kill or a stop at
//! a random moment; the last is the longest, and its memory is measured. A prober checks health all
//! the time. After each run: acknowledged writes exist, and no address is held twice.
//! `EVENKEEL_SOAK_SECONDS` sets the duration, `EVENKEEL_SEED` the seed; `cargo xtask load soak`
//! runs ten minutes of a release build.

mod churn;
mod client;
mod cluster;
mod faults;
mod health;
mod memory;
mod services;
mod strangers;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use std::sync::Mutex;

use self::{churn::ConfigMaps, cluster::Cluster, memory::Samples, services::Addresses};
use crate::{
    disk::SmallDisk,
    kill::{model::Chance, setting},
};

const DISK: &str = "192m";

/// Shared by all actors of one run.
struct Life {
    cluster: Cluster,
    /// Set before the server is ended: from then on failures are expected.
    over: AtomicBool,
    disk: health::Disk,
    totals: Totals,
    problems: Mutex<Vec<String>>,
}

/// Counts for the report.
#[derive(Debug, Default)]
struct Totals {
    writes: AtomicU64,
    refused_for_space: AtomicU64,
    resets: AtomicU64,
    attacks: AtomicU64,
    probes: AtomicU64,
    full_disks: AtomicU64,
}

impl Life {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Reports something that must not happen while the server runs.
    fn problem(&self, what: String) {
        if !self.is_over() {
            self.problems.lock().unwrap().push(what);
        }
    }
}

impl Totals {
    fn add(&mut self, other: &Totals) {
        let Totals { writes, refused_for_space, resets, attacks, probes, full_disks } = self;
        let pairs = [
            (writes, &other.writes),
            (refused_for_space, &other.refused_for_space),
            (resets, &other.resets),
            (attacks, &other.attacks),
            (probes, &other.probes),
            (full_disks, &other.full_disks),
        ];
        for (sum, more) in pairs {
            *sum.get_mut() += more.load(Ordering::Relaxed);
        }
    }
}

/// The duration of each run: the last gets half of the time.
fn lives(total: Duration, chance: &mut Chance) -> Vec<Duration> {
    let last = total / 2;
    let mut left = total - last;
    let (least, most) = (total / 20, total / 5);
    let mut lives = Vec::new();
    while left > least {
        let span = u64::try_from((most - least).as_millis()).unwrap_or(u64::MAX).max(1);
        let life = (least + Duration::from_millis(chance.below(span))).min(left);
        left -= life;
        lives.push(life);
    }
    lives.push(last + left);
    lives
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_at_once_loses_nothing_leaks_nothing_and_health_tells_the_truth() {
    let seed = setting("EVENKEEL_SEED", u64::from(std::process::id()));
    let total = Duration::from_secs(setting("EVENKEEL_SOAK_SECONDS", 24));
    println!("EVENKEEL_SEED={seed} EVENKEEL_SOAK_SECONDS={}", total.as_secs());
    let mut chance = Chance(seed);
    let disk = SmallDisk::mount("soak", DISK);
    let lives = lives(total, &mut chance);
    let n_lives = lives.len();
    let mut kept = (ConfigMaps::default(), Addresses::default());
    let (mut total, mut samples, mut ends) = (Totals::default(), Samples::default(), Vec::new());
    for (number, length) in lives.into_iter().enumerate() {
        let is_last = number + 1 == n_lives;
        let end = match () {
            () if is_last => faults::End::Stop,
            () if chance.one_in(4) => faults::End::Stop,
            () => faults::End::Kill,
        };
        ends.push(end);
        let life = begin(&disk).await;
        check(&life, &mut kept).await;
        samples = run(&life, &mut kept, length, Chance(chance.next())).await;
        check(&life, &mut kept).await;
        kept.1.check_free(&life).await;
        life.over.store(true, Ordering::SeqCst);
        let life = Arc::into_inner(life).expect("all actors have ended");
        total.add(&life.totals);
        report(number, &life);
        faults::end(life, end);
    }
    let life = begin(&disk).await;
    check(&life, &mut kept).await;
    report(n_lives, &life);
    faults::end(Arc::into_inner(life).expect("nobody else has it"), faults::End::Stop);
    println!("{n_lives} lives, ended by {ends:?}; {total:?}; {samples}");
    samples.check();
}

async fn begin(disk: &SmallDisk) -> Arc<Life> {
    Arc::new(Life {
        cluster: Cluster::start(&disk.0).await,
        over: AtomicBool::new(false),
        disk: health::Disk::default(),
        totals: Totals::default(),
        problems: Mutex::default(),
    })
}

async fn check(life: &Life, (config_maps, addresses): &mut (ConfigMaps, Addresses)) {
    config_maps.check(life).await;
    addresses.check(life).await;
}

/// All actors, until the time is over.
async fn run(
    life: &Arc<Life>,
    (config_maps, addresses): &mut (ConfigMaps, Addresses),
    length: Duration,
    mut chance: Chance,
) -> Samples {
    let until = Instant::now() + length;
    let mut next = || Chance(chance.next());
    tokio::join!(
        config_maps.churn(life, until, next()),
        addresses.churn(life, until, next()),
        services::scale_deployments(life, until, next()),
        strangers::attack(life, until, next()),
        faults::fill_the_disk(life, until, next()),
        health::probe(life, until),
        memory::sample(&life.cluster, until),
    )
    .6
}

fn report(number: usize, life: &Life) {
    let mut problems = life.problems.lock().unwrap().clone();
    problems.extend(life.cluster.panics());
    problems.truncate(20);
    assert!(problems.is_empty(), "life {number}:\n{}", problems.join("\n"));
}
