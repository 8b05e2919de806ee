//! Connections through the kernel, compared with what the evaluator says of them.

use std::{collections::BTreeMap, time::Duration};

use evenkeel_nft::{
    Family,
    evaluate::{Affinities, Fate, Outcome, Packet, Probability, Tables},
};

use super::{
    case::{Client, Probe},
    network::{self, Seen, at},
    random::Random,
};

/// An answer takes less than a millisecond, and a lost SYN is sent again after a second.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long an answer is waited for that must come.
const LONG: Duration = Duration::from_secs(5);

/// What the kernel did, compared with what it was to do.
#[derive(Debug, Default)]
pub struct Fit {
    /// Of outcomes that chance decides.
    chi_square: f64,
    degrees: f64,
    connections: usize,
}

pub struct Tried {
    pub fit: Fit,
    /// How often each counter was to count.
    pub counted: BTreeMap<String, u64>,
    /// An answer came late: counters may have counted more.
    pub repeated: bool,
}

/// One client at one frontend.
pub struct Try<'a> {
    tables: &'a Tables,
    probe: &'a Probe,
    packet: Packet,
    pub affinities: Affinities,
}

// === impl Try ===

impl<'a> Try<'a> {
    pub fn new(tables: &'a [Tables; 2], probe: &'a Probe) -> Try<'a> {
        let [v4, v6] = tables;
        let tables = if probe.family() == Family::Ipv4 { v4 } else { v6 };
        let packet = probe.packet();
        Try { tables, probe, packet, affinities: Affinities::new() }
    }

    /// Connects as often as it takes to see something.
    pub fn run(mut self) -> Tried {
        let outcomes = self.outcomes();
        let total: Probability = outcomes.iter().map(|(_, probability)| *probability).sum();
        assert_eq!(total, Probability::ALWAYS);
        let times = match &outcomes[..] {
            [(outcome, _)] if !is_answered(outcome) => 1,
            [_] => 3,
            _ => 24,
        };
        let mut tried = Tried { fit: Fit::default(), counted: BTreeMap::new(), repeated: false };
        let mut seen = BTreeMap::new();
        for _ in 0..times {
            let outcome = self.connect(&mut tried.repeated);
            for name in &outcome.counted {
                *tried.counted.entry(name.to_string()).or_default() += 1;
            }
            *seen.entry(outcome).or_insert(0) += 1;
        }
        tried.fit.connections = times;
        if self.affinities.is_empty(0) {
            tried.fit.compare(&outcomes, &seen);
        }
        tried
    }

    pub fn outcomes(&self) -> Vec<(Outcome, Probability)> {
        self.tables.outcomes(&self.packet, &self.affinities, 0)
    }

    /// Connects, and finds which of the outcomes it was.
    pub fn connect(&mut self, repeated: &mut bool) -> Outcome {
        let outcomes = self.outcomes();
        let mut seen = self.ask(PATIENCE);
        if seen == Seen::Nothing && outcomes.iter().all(|(outcome, _)| is_answered(outcome)) {
            *repeated = true;
            seen = self.ask(LONG);
        }
        let found = outcomes.iter().find(|(outcome, _)| self.is_it(&seen, outcome));
        let Some((outcome, _)) = found else {
            panic!("{:?}: {seen:?} is none of {outcomes:#?}", self.probe)
        };
        self.remember(outcome);
        outcome.clone()
    }

    fn ask(&self, patience: Duration) -> Seen {
        let Probe { protocol, to, .. } = *self.probe;
        network::ask(protocol, self.probe.source(), to, patience)
    }

    fn is_it(&self, seen: &Seen, outcome: &Outcome) -> bool {
        match (&outcome.fate, seen) {
            (Fate::TranslatedTo(backend), Seen::Answer { from, client }) => {
                let of_node = at::of_node(self.probe.family());
                // The node's connections to itself have an address of the node anyway.
                let can_tell = self.probe.client != Client::Node || !of_node.contains(&from.ip);
                let is_source = *client == self.probe.source();
                let is_hidden = of_node.contains(client) && !is_source;
                let source_fits = if outcome.masqueraded { is_hidden } else { is_source };
                backend == from && (!can_tell || source_fits)
            }
            (Fate::Dropped, Seen::Nothing) | (Fate::Rejected, Seen::Refused) => true,
            (Fate::Accepted, Seen::Nothing | Seen::Refused | Seen::Error(..)) => true,
            _ => false,
        }
    }

    /// Brings the evaluator's memory to where the kernel's must be.
    fn remember(&mut self, outcome: &Outcome) {
        let mut random = Random(0);
        for _ in 0..10_000 {
            let mut affinities = self.affinities.clone();
            let choose = |n| random.below(n);
            if self.tables.send(&self.packet, choose, &mut affinities, 0) == *outcome {
                self.affinities = affinities;
                return;
            }
        }
        panic!("{outcome:?} is possible, but no choice leads to it");
    }
}

fn is_answered(outcome: &Outcome) -> bool {
    matches!(outcome.fate, Fate::TranslatedTo(_) | Fate::Rejected)
}

// === impl Fit ===

impl Fit {
    pub fn compare(
        &mut self,
        outcomes: &[(Outcome, Probability)],
        seen: &BTreeMap<Outcome, usize>,
    ) {
        let all: usize = seen.values().sum();
        for (outcome, probability) in outcomes {
            let expected = probability.as_f64() * all as f64;
            let found = seen.get(outcome).copied().unwrap_or(0) as f64;
            self.chi_square += (found - expected).powi(2) / expected;
        }
        self.degrees += outcomes.len() as f64 - 1.0;
    }

    pub fn add(&mut self, other: &Fit) {
        let Fit { chi_square, degrees, connections } = other;
        self.chi_square += chi_square;
        self.degrees += degrees;
        self.connections += connections;
    }

    /// Six standard deviations: by chance this fails once in many million runs.
    pub fn check(&self) {
        println!("{self:?}");
        let most = self.degrees + 6.0 * (2.0 * self.degrees).sqrt().max(1.0);
        assert!(self.chi_square <= most, "{self:?}: more than {most}");
    }
}
