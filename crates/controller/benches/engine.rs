//! The engine alone: what one Pod's change costs in clusters of different sizes, and a first sync.

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_controller::engine::{Action, Effect, Engine, Outcome, Settings, Write};
use evenkeel_model::{Node, NodeId, SeenPod, SeenService, SeenSlice, Version, Watched};
use evenkeel_testkit::{ServiceExt, pod, service};

const PODS: usize = 10;
const ZONES: [&str; 3] = ["a", "b", "c"];

/// A cluster of so many Services with ten Pods each, read in full and not yet synced.
fn read(n_services: usize) -> Engine {
    let mut engine = Engine::new(Settings { conditions: false, ..Settings::default() });
    engine.lead(true);
    let nodes = nodes(&mut engine);
    for index in 0..n_services {
        for number in 0..PODS {
            engine.pod(Watched::Applied(seen_pod(
                index,
                number,
                nodes[number % nodes.len()],
                true,
            )));
        }
        let service = service(&format!("svc-{index}")).auto();
        let version =
            Version { uid: service.uid.clone(), resource_version: "1".into(), generation: 0 };
        engine.service(Watched::Applied(SeenService {
            service,
            version,
            created: Some(1),
            conditions: Vec::new(),
            problem: None,
            frontend_problem: None,
        }));
    }
    engine.slice(Watched::Restarted);
    engine.slice(Watched::Complete);
    // A list that lacks what is there would take it away again: everything is marked complete by
    // lists of its own.
    complete(&mut engine, n_services, &nodes);
    engine
}

fn nodes(engine: &mut Engine) -> Vec<NodeId> {
    let mut ids = Vec::new();
    for zone in ZONES {
        let topology = engine.topology_mut();
        let id = topology.nodes.intern(&format!("node-{zone}"));
        let zone = Some(topology.zones.intern(zone));
        let node =
            Node { id, zone, cpu_milli: 4000, ready: true, control_plane: false, region: None };
        engine.node(Watched::Applied(node));
        ids.push(id);
    }
    ids
}

fn complete(engine: &mut Engine, n_services: usize, nodes: &[NodeId]) {
    engine.node(Watched::Restarted);
    for (zone, id) in ZONES.iter().zip(nodes) {
        let zone = Some(engine.topology_mut().zones.intern(zone));
        let node = Node {
            id: *id,
            zone,
            cpu_milli: 4000,
            ready: true,
            control_plane: false,
            region: None,
        };
        engine.node(Watched::Listed(node));
    }
    engine.node(Watched::Complete);
    // Pods and Services carry the number of the list they came in; there was none before.
    engine.pod(Watched::Complete);
    engine.service(Watched::Restarted);
    for index in 0..n_services {
        let service = service(&format!("svc-{index}")).auto();
        let version =
            Version { uid: service.uid.clone(), resource_version: "1".into(), generation: 0 };
        engine.service(Watched::Listed(SeenService {
            service,
            version,
            created: Some(1),
            conditions: Vec::new(),
            problem: None,
            frontend_problem: None,
        }));
    }
    engine.service(Watched::Complete);
}

fn seen_pod(service: usize, number: usize, node: NodeId, ready: bool) -> SeenPod {
    let mut pod = pod(&format!("svc-{service}-{number}"), node, number);
    pod.ready = ready;
    let labels = [
        ("app".to_owned(), format!("svc-{service}")),
        ("app.kubernetes.io/managed-by".to_owned(), "Helm".to_owned()),
    ];
    SeenPod { pod, labels: labels.into(), ready_since: Some(1) }
}

/// Carries out all writes at once.
fn settle(engine: &mut Engine, revision: &mut u64) -> usize {
    let mut writes = 0;
    while let Some(effect) = engine.poll(Duration::ZERO) {
        if let Effect::Write(write) = effect {
            let outcome = answer(&write, revision);
            engine.done(Duration::ZERO, write.ticket, outcome);
            writes += 1;
        }
    }
    writes
}

fn answer(write: &Write, revision: &mut u64) -> Outcome {
    *revision += 1;
    let resource_version = revision.to_string().into();
    let (slice, uid, generation) = match &write.action {
        Action::Create { slice, .. } => (slice, slice.name.clone(), 1),
        Action::Update { slice, version, .. } => {
            (slice, version.uid.clone(), version.generation + 1)
        }
        _ => return Outcome::Gone,
    };
    Outcome::Stored(Box::new(SeenSlice {
        namespace: write.service.namespace.clone(),
        slice: slice.clone(),
        version: Version { uid, resource_version, generation },
        deleting: false,
    }))
}

fn one_pod(c: &mut Criterion) {
    let mut group = c.benchmark_group("engine/one_pod");
    for n in [100, 1_000, 10_000] {
        let mut engine = read(n);
        let mut revision = 10;
        assert_eq!(settle(&mut engine, &mut revision), n);
        let node = engine.topology().nodes.find("node-a").expect("made above");
        let (mut ready, mut turn) = (true, 0);
        group.bench_function(BenchmarkId::from_parameter(n), |b| {
            b.iter(|| {
                // Another Service each time, so that nothing is warm that would not be.
                turn = (turn + 7919) % n;
                ready = !ready;
                for ready in [false, true] {
                    engine.pod(Watched::Applied(seen_pod(turn, 0, node, ready)));
                    assert_eq!(settle(&mut engine, &mut revision), 1);
                }
                black_box(ready)
            });
        });
    }
    group.finish();
}

fn first_sync(c: &mut Criterion) {
    let mut group = c.benchmark_group("engine/first_sync");
    group.sample_size(10);
    for n in [1_000, 10_000] {
        group.throughput(Throughput::Elements(n as u64));
        group.bench_function(BenchmarkId::from_parameter(n), |b| {
            b.iter_with_setup(
                || read(n),
                |mut engine| {
                    let mut revision = 10;
                    assert_eq!(settle(&mut engine, &mut revision), n);
                    engine
                },
            );
        });
    }
    group.finish();
}

criterion_group!(benches, one_pod, first_sync);
criterion_main!(benches);
