//! Computing alone, in this process: what does a proxy cost, and what a change?

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use evenkeel_locality::{
    Compat,
    resource::Resource,
    view::{ProxyKey, Settings, View},
};
use evenkeel_xds::encode;
use evenkeel_xds_server::{
    engine::{Engine, Update},
    source::folder,
};

use crate::{
    load::{Failure, server::Folder, table::Figure},
    mesh::{self, Mesh},
    quantile::{bounded, plain, quantile},
};

/// So many changes of which the median is taken.
const CHANGES: usize = 400;

/// The record's experiment: the time to compute what one proxy is sent, with assignments that are shared
/// and with assignments of its own.
pub(crate) fn record(name: &str) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for (alike, calls) in [(false, "three services each"), (true, "the same three services")] {
        let mesh = Mesh { alike, ..mesh::RECORD };
        for (shared, cache) in [(true, "with"), (false, "without")] {
            let World { mut engine, .. } = World::new(name, &mesh)?;
            let mut times: Vec<f64> =
                (0..mesh.proxies).map(|n| micros(generate(&mut engine, n, shared))).collect();
            let quantiles = [50, 90, 99].map(|percent| quantile(&mut times, percent));
            let [p50, p90, p99] = quantiles;
            let all: f64 = times.iter().sum::<f64>() / 1e3;
            figures.push(plain(
                format!("record, {calls}: one proxy, {cache} cache"),
                format!("p50 {p50:.0}, p90 {p90:.0}, p99 {p99:.0} µs; all {all:.0} ms"),
            ));
        }
    }
    let mesh = Mesh { alike: true, ..mesh::RECORD };
    let mut world = World::new(name, &mesh)?;
    (0..mesh.proxies).for_each(|n| drop(world.engine.connect(&key(n))));
    let mut with: Vec<f64> = (0..CHANGES).map(|n| micros(world.change(n))).collect();
    let mut without: Vec<f64> =
        (0..CHANGES / 20).map(|_| micros(assign_each(&mut world.engine, &mesh))).collect();
    let what = "record: one change for all 2,000 proxies";
    figures
        .push(plain(format!("{what}, with cache"), format!("{:.0} µs", quantile(&mut with, 50))));
    let here = format!("{:.0} µs", quantile(&mut without, 50));
    figures.push(plain(format!("{what}, without cache"), here));
    Ok(figures)
}

/// More and more proxies in the same places.
pub(crate) fn growth(name: &str) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    let mut least = None;
    for proxies in [100, 1_000, 10_000] {
        let mesh = Mesh { services: 1_000, instances: 10, proxies, calls: 3, alike: true };
        let mut world = World::new(name, &mesh)?;
        (0..proxies).for_each(|n| drop(world.engine.connect(&key(n))));
        let mut times: Vec<f64> = (0..CHANGES).map(|n| micros(world.change(n))).collect();
        let median = quantile(&mut times, 50);
        let ratio = median / *least.get_or_insert(median);
        let what = format!("{proxies} proxies in 60 places: one change computed");
        let here = format!("{median:.0} µs, {ratio:.2} times");
        figures.push(bounded(what, here, ratio, ("1.5 times", 1.5)));
    }
    Ok(figures)
}

struct World {
    engine: Engine,
    /// The endpoint that changes, ready and not.
    states: [Resource; 2],
}

// === impl World ===

impl World {
    fn new(name: &str, mesh: &Mesh) -> Result<World, Failure> {
        let folder = Folder::new(name)?;
        let (all, one) = (folder.path().join("mesh"), folder.path().join("changing"));
        fs::create_dir_all(&all)?;
        fs::create_dir_all(&one)?;
        mesh.write(&all)?;
        let mut engine = Engine::new(View::new(Settings::default()));
        engine.apply(resources(&all)?.into_iter().map(apply).collect());
        let state = |is_ready| -> Result<Resource, Failure> {
            mesh::change(&one, is_ready)?;
            Ok(resources(&one)?.pop().ok_or("no resource")?)
        };
        Ok(World { engine, states: [state(true)?, state(false)?] })
    }

    fn change(&mut self, n: usize) -> Duration {
        let update = apply(self.states[(n + 1) % 2].clone());
        let begun = Instant::now();
        let pushes = self.engine.apply(vec![update]);
        let took = begun.elapsed();
        assert!(!pushes.is_empty(), "nobody is told of the change");
        took
    }
}

fn resources(folder: &Path) -> Result<Vec<Resource>, Failure> {
    let (resources, problems) = folder::resources(folder, Compat::Record)?;
    match problems.first() {
        Some(problem) => Err(problem.message.clone().into()),
        None => Ok(resources),
    }
}

fn apply(resource: Resource) -> Update {
    Update::Apply(Box::new(resource))
}

/// Computes and encodes all that one proxy is sent. What nobody uses is dropped, so that a proxy that
/// leaves at once shares nothing with the next one.
fn generate(engine: &mut Engine, n: usize, shared: bool) -> Duration {
    let key = key(n);
    let begun = Instant::now();
    let slot = engine.connect(&key);
    let took = begun.elapsed();
    drop(slot);
    if !shared {
        engine.disconnect(&key);
    }
    took
}

/// The assignment of the service that changed, for one proxy after the other.
fn assign_each(engine: &mut Engine, mesh: &Mesh) -> Duration {
    let plans: Vec<_> = (0..mesh.proxies).filter_map(|n| engine.view().proxy(&key(n))).collect();
    let changed = |plan: &evenkeel_locality::view::ProxyPlan| {
        let found = plan.assignments().iter().find(|(name, _)| **name == *mesh::CHANGED);
        found.cloned()
    };
    let changed: Vec<_> = plans.iter().filter_map(changed).collect();
    assert_eq!(changed.len(), mesh.proxies, "each proxy calls the service that changes");
    let view = engine.view();
    let begun = Instant::now();
    for (name, key) in &changed {
        let assigned = view.assignment(key);
        std::hint::black_box(encode::load_assignment(name, &assigned.assignment));
    }
    begun.elapsed()
}

fn key(n: usize) -> ProxyKey {
    ProxyKey::new("default", &Mesh::name(n))
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
