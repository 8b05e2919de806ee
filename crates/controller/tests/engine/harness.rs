//! An engine, a cluster in its words, and answers given by hand.

use std::{collections::VecDeque, time::Duration};

use evenkeel_controller::engine::{Action, Effect, Engine, Outcome, Report, Settings, Write};
use evenkeel_model::{
    Gone, Node, Pod, SeenPod, SeenService, SeenSlice, Service, Slice, Version, Watched, label,
};
use evenkeel_testkit::pod;

pub(crate) struct Harness {
    pub(crate) engine: Engine,
    pub(crate) now: Duration,
    pub(crate) writes: VecDeque<Write>,
    pub(crate) events: Vec<(&'static str, String)>,
    pub(crate) reports: Vec<Report>,
    revision: u64,
}

impl Harness {
    pub(crate) fn new(settings: Settings) -> Harness {
        let mut engine = Engine::new(settings);
        engine.lead(true);
        Harness {
            engine,
            now: Duration::ZERO,
            writes: VecDeque::new(),
            events: Vec::new(),
            reports: Vec::new(),
            revision: 100,
        }
    }

    /// Zones `a`, `b`, … with one node of 4 cores each.
    pub(crate) fn zones(mut self, n: u8) -> Harness {
        for index in 0..n {
            let zone = char::from(b'a' + index).to_string();
            let topology = self.engine.topology_mut();
            let node = Node {
                id: topology.nodes.intern(&format!("node-{zone}")),
                zone: Some(topology.zones.intern(&zone)),
                region: None,
                cpu_milli: 4000,
                ready: true,
                control_plane: false,
            };
            self.engine.node(Watched::Applied(node));
        }
        self
    }

    /// A ready Pod of `app` in a zone.
    pub(crate) fn pod(&mut self, app: &str, name: &str, zone: &str, serial: usize) -> SeenPod {
        let node = self.engine.topology_mut().nodes.intern(&format!("node-{zone}"));
        let pod = Pod { ..pod(name, node, serial) };
        let labels = [("app".to_owned(), app.to_owned())].into();
        let seen = SeenPod { pod, labels, ready_since: Some(1000) };
        self.engine.pod(Watched::Applied(seen.clone()));
        seen
    }

    /// The four lists are complete.
    pub(crate) fn complete(&mut self) {
        self.engine.node(Watched::Restarted);
        let nodes = ["a", "b", "c", "d"].map(|zone| format!("node-{zone}"));
        for name in nodes {
            let topology = self.engine.topology_mut();
            let (Some(id), Some(zone)) =
                (topology.nodes.find(&name), topology.zones.find(name.trim_start_matches("node-")))
            else {
                continue;
            };
            let node = Node {
                id,
                zone: Some(zone),
                cpu_milli: 4000,
                ready: true,
                control_plane: false,
                region: None,
            };
            self.engine.node(Watched::Listed(node));
        }
        self.engine.node(Watched::Complete);
        self.engine.pod(Watched::Complete);
        self.engine.slice(Watched::Complete);
        self.engine.service(Watched::Restarted);
    }

    pub(crate) fn service(&mut self, service: Service) {
        let seen = seen(service);
        self.engine.service(Watched::Listed(seen));
        self.engine.service(Watched::Complete);
    }

    /// Takes what the engine wants done.
    pub(crate) fn poll(&mut self) {
        while let Some(effect) = self.engine.poll(self.now) {
            match effect {
                Effect::Write(write) => self.writes.push_back(write),
                Effect::Event(event) => self.events.push((event.reason, event.message)),
                Effect::Synced(report) => self.reports.push(report),
            }
        }
    }

    /// The one write that is under way.
    pub(crate) fn write(&mut self) -> Write {
        self.poll();
        assert_eq!(self.writes.len(), 1, "{:?}", self.writes);
        self.writes.pop_front().unwrap()
    }

    pub(crate) fn answer(&mut self, write: &Write, outcome: Outcome) {
        self.engine.done(self.now, write.ticket, outcome);
    }

    /// The write was done as asked, and this is the version now.
    pub(crate) fn done(&mut self, write: &Write, version: Version) {
        let outcome = match &write.action {
            Action::Create { slice, .. } | Action::Update { slice, .. } => {
                Outcome::Stored(Box::new(seen_slice(slice.clone(), version)))
            }
            Action::Relabel { .. } => panic!("what it was is not known: {write:?}"),
            Action::Conditions { .. } => Outcome::Done,
            Action::Delete { .. } | Action::Read { .. } => Outcome::Gone,
        };
        self.answer(write, outcome);
    }

    pub(crate) fn version(&mut self, name: &str, generation: i64) -> Version {
        self.revision += 1;
        Version {
            uid: format!("uid-{name}").into(),
            resource_version: self.revision.to_string().into(),
            generation,
        }
    }

    /// Carries writes out as a server would, until there are none. The slices as they end up.
    pub(crate) fn run(&mut self) -> Vec<SeenSlice> {
        let mut slices: Vec<SeenSlice> = Vec::new();
        for _ in 0..1000 {
            self.poll();
            let Some(write) = self.writes.pop_front() else { return slices };
            let version = match &write.action {
                Action::Create { slice, .. } => self.version(&slice.name, 1),
                Action::Update { slice, version, .. } => Version {
                    uid: version.uid.clone(),
                    ..self.version(&slice.name, version.generation + 1)
                },
                _ => Version::default(),
            };
            if let Action::Create { slice, .. } | Action::Update { slice, .. } = &write.action {
                slices.retain(|seen| seen.slice.name != slice.name);
                slices.push(seen_slice(slice.clone(), version.clone()));
            }
            self.done(&write, version);
        }
        panic!("it never ends")
    }
}

pub(crate) fn seen(service: Service) -> SeenService {
    let version = Version { uid: service.uid.clone(), resource_version: "1".into(), generation: 0 };
    SeenService {
        service,
        version,
        created: Some(500),
        conditions: Vec::new(),
        problem: None,
        frontend_problem: None,
    }
}

pub(crate) fn seen_slice(slice: Slice, version: Version) -> SeenSlice {
    SeenSlice { namespace: "default".into(), slice, version, deleting: false }
}

pub(crate) fn gone(seen: &SeenSlice) -> Gone {
    Gone {
        namespace: seen.namespace.clone(),
        name: seen.slice.name.clone(),
        uid: seen.version.uid.clone(),
    }
}

/// The slice as somebody else's.
pub(crate) fn managed_by(mut seen: SeenSlice, manager: &str) -> SeenSlice {
    seen.slice.labels.insert(label::MANAGED_BY.into(), manager.into());
    seen
}
