//! What came of each request, in little memory.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use super::subject::Place;
use crate::curl::{Answer, Failure};

/// More Pods than this don't answer: an answer from yet another one is not kept.
const MOST_PLACES: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    /// The position of the Node in the subject.
    pub client: usize,
    /// That of the Service.
    pub service: usize,
    /// Since the first.
    pub sent: Duration,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// By the place at this position.
    Answered(usize),
    Failed(&'static str),
}

/// In the order in which outcomes were known.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    pub samples: Vec<Sample>,
    pub places: Vec<Place>,
    pub(super) known: HashMap<(Arc<str>, Arc<str>), usize>,
    /// Requests that were due while too many waited for an answer.
    pub unsent: usize,
    /// When the last request was sent that failed.
    pub(super) last_failed: Option<Duration>,
}

/// What the progress line is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recent {
    /// By zone.
    pub answered: BTreeMap<Arc<str>, usize>,
    pub failed: usize,
    /// In the whole drill.
    pub last_failed: Option<Duration>,
}

impl Recording {
    pub(super) fn record(
        &mut self,
        (client, service): (usize, usize),
        sent: Duration,
        outcome: Result<Answer, Failure>,
    ) {
        let outcome = match outcome {
            Ok(answer) => {
                self.place(answer).map_or(Outcome::Failed("unexpected response"), Outcome::Answered)
            }
            Err(failure) => Outcome::Failed(failure.kind()),
        };
        if matches!(outcome, Outcome::Failed(_)) {
            self.last_failed = self.last_failed.max(Some(sent));
        }
        self.samples.push(Sample { client, service, sent, outcome });
    }

    /// A Pod has one name in its namespace, and one Node as long as it lives.
    fn place(&mut self, answer: Answer) -> Option<usize> {
        let Answer { pod, namespace, node, zone } = answer;
        let key = (Arc::from(namespace), Arc::from(format!("{pod} {node}")));
        if let Some(&known) = self.known.get(&key) {
            return Some(known);
        }
        let position = self.places.len();
        if position >= MOST_PLACES {
            return None;
        }
        self.known.insert(key, position);
        self.places.push(Place { zone: zone.into(), node: node.into(), pod: pod.into() });
        Some(position)
    }

    /// Of the requests sent since then whose outcome is known.
    pub(super) fn since(&self, from: Duration) -> Recent {
        // Outcomes come in nearly the order in which requests were sent: at most a few seconds late.
        let recent = self.samples.iter().rev().take(5_000).filter(|sample| sample.sent >= from);
        let mut found = Recent { last_failed: self.last_failed, ..Recent::default() };
        for sample in recent {
            match sample.outcome {
                Outcome::Failed(_) => found.failed += 1,
                Outcome::Answered(place) => {
                    let zone = Arc::clone(&self.places[place].zone);
                    *found.answered.entry(zone).or_default() += 1;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(pod: &str) -> Result<Answer, Failure> {
        let [pod, namespace, node, zone] = [pod, "shop", "node-a1", "zone-a"].map(str::to_owned);
        Ok(Answer { pod, namespace, node, zone })
    }

    #[test]
    fn a_pod_is_kept_once() {
        let mut recording = Recording::default();
        for (second, outcome) in
            (0..).zip([answer("web-1"), answer("web-2"), answer("web-1"), Err(Failure::TimedOut)])
        {
            recording.record((0, 0), Duration::from_secs(second), outcome);
        }
        let outcomes: Vec<Outcome> = recording.samples.iter().map(|one| one.outcome).collect();
        let expected = [
            Outcome::Answered(0),
            Outcome::Answered(1),
            Outcome::Answered(0),
            Outcome::Failed("timed out"),
        ];
        assert_eq!(outcomes, expected);
        assert_eq!(recording.places.len(), 2);
        let recent = Recent {
            answered: [("zone-a".into(), 1)].into(),
            failed: 1,
            last_failed: Some(Duration::from_secs(3)),
        };
        assert_eq!(recording.since(Duration::from_secs(2)), recent);
    }

    #[test]
    fn places_are_bounded() {
        let mut recording = Recording::default();
        for n in 0..=MOST_PLACES {
            recording.record((0, 0), Duration::ZERO, answer(&n.to_string()));
        }
        assert_eq!(recording.places.len(), MOST_PLACES);
        assert_eq!(recording.samples[MOST_PLACES].outcome, Outcome::Failed("unexpected response"));
    }
}
