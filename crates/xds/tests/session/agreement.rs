//! Random runs: changes, deliveries, acknowledgements and reconnects in any order end in agreement.

use std::collections::VecDeque;

use evenkeel_xds::{Delta, ResourceType, Response, Sotw, session::Protocol, session::SyncState};
use proptest::prelude::*;

use crate::{
    envoy::{BAD, ClientRequest, Envoy},
    world::*,
};

#[derive(Clone, Debug)]
enum Op {
    Change {
        kind: ResourceType,
        index: u8,
        content: Option<u32>,
    },
    /// The route's cluster is replaced by another, as one change.
    Move {
        route: u8,
        cluster: u8,
    },
    Snapshot,
    /// The server takes a request and writes what is due.
    Serve,
    Poll,
    /// The client takes a response.
    Deliver,
    Reconnect,
}

struct Run<P: Protocol> {
    server: Server<P>,
    envoy: Envoy,
    to_server: VecDeque<ClientRequest>,
    to_envoy: VecDeque<Response>,
    convert: fn(&ClientRequest) -> P::Request,
}

fn name(kind: ResourceType, index: u8) -> String {
    let prefix = match kind {
        ResourceType::Cluster | ResourceType::Endpoint => "c",
        ResourceType::Listener => "l",
        ResourceType::Route => "r",
    };
    format!("{prefix}{index}")
}

impl<P: Protocol> Run<P> {
    fn new(convert: fn(&ClientRequest) -> P::Request) -> Self {
        let mut envoy = Envoy::new(P::VARIANT);
        let to_server = envoy.connect().into();
        Self { server: Server::new(&[]), envoy, to_server, to_envoy: VecDeque::new(), convert }
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Change { kind, index, content } => {
                self.server.set(*kind, &name(*kind, *index), *content);
            }
            Op::Move { route, cluster } => self.move_route(*route, *cluster),
            Op::Snapshot => self.server.session.on_snapshot(0),
            Op::Serve => {
                if let Some(request) = self.to_server.pop_front() {
                    self.server.request(&(self.convert)(&request));
                }
                self.write();
            }
            Op::Poll => self.write(),
            Op::Deliver => {
                if let Some(response) = self.to_envoy.pop_front() {
                    self.to_server.extend(self.envoy.receive(&response));
                }
            }
            Op::Reconnect => {
                self.server.session = evenkeel_xds::Session::new(Default::default());
                self.to_envoy.clear();
                self.to_server = self.envoy.connect().into();
            }
        }
    }

    fn write(&mut self) {
        let due = self.server.poll();
        self.to_envoy.extend(due);
    }

    /// What a control plane does: all parts are there before the route, and what nobody uses is gone.
    fn move_route(&mut self, route: u8, cluster: u8) {
        for kind in [CDS, EDS] {
            if !self.server.world.names(kind).contains(&name(kind, cluster).into()) {
                self.server.set(kind, &name(kind, cluster), Some(1));
            }
        }
        self.server.set(LDS, &name(LDS, route), Some(1));
        self.server.set(RDS, &name(RDS, route), Some(10 + u32::from(cluster)));
        let world = &self.server.world;
        let used: Vec<String> = world
            .resources
            .iter()
            .filter(|((kind, _), _)| *kind == RDS)
            .map(|(_, route)| target(route))
            .collect();
        let unused: Vec<_> =
            world.names(CDS).into_iter().filter(|name| !used.contains(&name.to_string())).collect();
        for name in unused {
            self.server.set(CDS, &name, None);
            self.server.set(EDS, &name, None);
        }
    }

    /// Until nobody has anything to say.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            self.step(&Op::Serve);
            self.step(&Op::Deliver);
            if self.to_server.is_empty() && self.to_envoy.is_empty() {
                return;
            }
        }
        panic!("never quiet");
    }

    fn assert_agreement(&mut self) {
        for kind in ResourceType::ALL {
            let held = &self.envoy.types[&kind];
            let expected = self.server.world.names(kind);
            for name in expected {
                if !kind.is_full_state() && !held.subscribed.contains(&*name) {
                    continue;
                }
                let has = held.resources.get(&*name).map(|(version, _)| version.clone());
                let right = self.server.world.resources[&(kind, name.clone())].version();
                assert_eq!(has, Some(right.to_string()), "{kind} {name}");
            }
            if kind.is_full_state() {
                let names: Vec<std::sync::Arc<str>> =
                    held.resources.keys().map(|name| (**name).into()).collect();
                assert_eq!(names, self.server.world.names(kind), "{kind}");
            }
            let state = self.server.session.status(kind).state;
            assert!(matches!(state, SyncState::Synced | SyncState::NotRequested), "{state:?}");
        }
        assert_eq!(self.envoy.needless, Vec::<String>::new());
    }

    /// Nothing that the client uses is missing.
    fn assert_unbroken(&self) {
        let clusters = &self.envoy.types[&CDS].resources;
        for (route, (_, content)) in &self.envoy.types[&RDS].resources {
            let target = name(CDS, u8::try_from(content - 10).unwrap());
            assert!(clusters.contains_key(&target), "{route} uses {target}");
        }
    }
}

fn target(route: &evenkeel_xds::Resource) -> String {
    let candidates = (0..8).map(|cluster| (cluster, 10 + u32::from(cluster)));
    let found = candidates
        .into_iter()
        .find(|(_, content)| resource(RDS, route.name(), *content).version() == route.version());
    name(CDS, found.unwrap().0)
}

fn any_kind() -> impl Strategy<Value = ResourceType> {
    prop::sample::select(ResourceType::ALL.to_vec())
}

fn changes(contents: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = Op> {
    (any_kind(), 0..4u8, prop::option::weighted(0.75, contents))
        .prop_map(|(kind, index, content)| Op::Change { kind, index, content })
}

fn traffic() -> impl Strategy<Value = Op> {
    prop_oneof![8 => Just(Op::Serve), 8 => Just(Op::Deliver), 2 => Just(Op::Poll)]
}

fn anything(contents: std::ops::RangeInclusive<u32>) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        6 => changes(contents),
        12 => traffic(),
        1 => Just(Op::Snapshot),
        1 => Just(Op::Reconnect),
    ];
    prop::collection::vec(op, 1..120)
}

fn moves() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        2 => (0..3u8, 0..5u8).prop_map(|(route, cluster)| Op::Move { route, cluster }),
        6 => traffic(),
    ];
    prop::collection::vec(op, 1..150)
}

fn agree<P: Protocol>(ops: &[Op], convert: fn(&ClientRequest) -> P::Request) {
    let mut run = Run::<P>::new(convert);
    ops.iter().for_each(|op| run.step(op));
    let bad: Vec<_> = run
        .server
        .world
        .resources
        .iter()
        .filter(|((kind, name), r)| r.version() == resource(*kind, name, BAD).version())
        .map(|(key, _)| key.clone())
        .collect();
    for (kind, name) in bad {
        run.server.set(kind, &name, Some(1));
    }
    run.settle();
    run.assert_agreement();
}

fn stay_unbroken<P: Protocol>(ops: &[Op], convert: fn(&ClientRequest) -> P::Request) {
    let mut run = Run::<P>::new(convert);
    for op in ops {
        run.step(op);
        run.assert_unbroken();
    }
    for _ in 0..1000 {
        run.step(&Op::Serve);
        run.step(&Op::Deliver);
        run.assert_unbroken();
    }
    run.settle();
    run.assert_agreement();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn delta_ends_in_agreement(ops in anything(1..=3)) {
        agree::<Delta>(&ops, ClientRequest::to_delta);
    }

    #[test]
    fn sotw_ends_in_agreement(ops in anything(1..=3)) {
        agree::<Sotw>(&ops, ClientRequest::to_sotw);
    }

    #[test]
    fn delta_ends_in_agreement_after_rejections(ops in anything(1..=BAD)) {
        agree::<Delta>(&ops, ClientRequest::to_delta);
    }

    #[test]
    fn sotw_ends_in_agreement_after_rejections(ops in anything(1..=BAD)) {
        agree::<Sotw>(&ops, ClientRequest::to_sotw);
    }

    #[test]
    fn delta_never_takes_away_what_routes_use(ops in moves()) {
        stay_unbroken::<Delta>(&ops, ClientRequest::to_delta);
    }

    #[test]
    fn sotw_never_takes_away_what_routes_use(ops in moves()) {
        stay_unbroken::<Sotw>(&ops, ClientRequest::to_sotw);
    }
}
