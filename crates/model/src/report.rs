//! What the proxy of a node reports of itself: up to which revisions its rules are in force.
//!
//! An API server numbers the states of all objects, and a watch shows them in that order. So "all
//! Services up to revision 4711" says of each Service whether its present state is among them. An
//! annotation on an EndpointSlice does not raise its `generation`, therefore revisions are compared.
//! Services and slices have a revision each: API servers may keep them in different stores.

use std::{cmp::Ordering, sync::Arc, time::Duration};

use crate::{ServiceKey, Version, Watched};

/// A `resourceVersion` that has an order: a decimal number of any length.
///
/// Kubernetes guarantees since 1.35 that those of one resource can be compared so; all API servers
/// before it write them so too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Revision(Arc<str>);

/// The report of the proxy of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyReport {
    /// The name of the node.
    pub node: Arc<str>,
    /// All Services up to this state, with the exceptions below. `None`: none yet, or one that
    /// can't be compared.
    pub services: Option<Revision>,
    /// All EndpointSlices up to this state.
    pub slices: Option<Revision>,
    /// Services whose rules are not in force although their state is covered, by name.
    pub exceptions: Vec<ProxyException>,
    /// Exceptions that are not listed, all of them after the last one that is.
    pub left_out: usize,
}

/// A Service that the proxy of a node does not serve as it should.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProxyException {
    pub service: ServiceKey,
    /// A code in CamelCase.
    pub reason: Arc<str>,
}

/// A report as a watch shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenReport {
    pub report: ProxyReport,
    pub version: Version,
    /// When it was last written, by the node's clock, in seconds since 1970.
    pub renewed: Option<i64>,
    /// How long it counts without being written again.
    pub valid_for: Duration,
}

/// Up to which revision objects of one kind were received: the highest of those in a list once it is
/// complete, and of each change since.
///
/// A list names objects in no order of revisions, so until it is complete the revision is that from
/// before. After it, the revision may be lower than before: the server was restored from a backup.
#[derive(Clone, Debug, Default)]
pub struct Watermark {
    reached: Option<Revision>,
    listing: Option<Revision>,
    is_listing: bool,
    /// Some object had none that can be compared.
    is_unknown: bool,
}

/// The shortest time between two reports of one node, by the number of nodes: all together write at
/// most a hundred a second.
pub fn report_interval(nodes: usize) -> Duration {
    let millis = u64::try_from(nodes).unwrap_or(u64::MAX).saturating_mul(10);
    Duration::from_millis(millis).clamp(Duration::from_secs(1), Duration::from_secs(3600))
}

// === impl Revision ===

impl Revision {
    /// `None`: not a number.
    pub fn new(text: &str) -> Option<Revision> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = text.trim_start_matches('0');
        Some(Revision(if digits.is_empty() { "0" } else { digits }.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for Revision {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Revision {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

// === impl ProxyReport ===

impl ProxyReport {
    /// The reason why the node does not serve the Service as it should; empty where the exception
    /// may be among those left out.
    pub fn exception(&self, service: &ServiceKey) -> Option<&str> {
        match self.exceptions.binary_search_by(|exception| exception.service.cmp(service)) {
            Ok(found) => Some(&self.exceptions[found].reason),
            Err(place) if place == self.exceptions.len() && self.left_out > 0 => Some(""),
            Err(_) => None,
        }
    }
}

// === impl Watermark ===

impl Watermark {
    /// Takes in what a watch received, before the rules for it are in force.
    pub fn see<T>(&mut self, seen: &Watched<T>, version: impl FnOnce(&T) -> &Version) {
        match seen {
            Watched::Restarted => {
                (self.listing, self.is_listing) = (None, true);
            }
            Watched::Listed(object) => {
                let revision = self.revision(version(object));
                self.listing = self.listing.take().max(revision);
            }
            Watched::Complete => {
                if std::mem::take(&mut self.is_listing) {
                    // An empty list has every state there is.
                    let listed = self.listing.take();
                    self.reached = listed.or_else(|| Revision::new("0"));
                }
            }
            Watched::Applied(object) => {
                let revision = self.revision(version(object));
                self.reached = self.reached.take().max(revision);
            }
            // The revision of a deletion is not told.
            Watched::Deleted(_) => {}
        }
    }

    /// `None`: no list was complete yet, or some revision can't be compared.
    pub fn reached(&self) -> Option<&Revision> {
        self.reached.as_ref().filter(|_| !self.is_unknown)
    }

    fn revision(&mut self, version: &Version) -> Option<Revision> {
        let revision = Revision::new(&version.resource_version);
        self.is_unknown |= revision.is_none();
        revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gone;

    fn revision(text: &str) -> Revision {
        Revision::new(text).unwrap()
    }

    #[test]
    fn revisions_are_numbers_of_any_length() {
        for (smaller, larger) in [
            ("9", "10"),
            ("0", "1"),
            (
                "99999999999999999999999999999999999999999",
                "100000000000000000000000000000000000000000",
            ),
            ("340282366920938463463374607431768211455", "340282366920938463463374607431768211456"),
        ] {
            assert!(revision(smaller) < revision(larger), "{smaller} {larger}");
        }
        assert_eq!(revision("007"), revision("7"));
        assert_eq!(revision("000"), revision("0"));
        for wrong in ["", "-1", "+1", "0x1", "1.0", " 1", "a", "٣"] {
            assert_eq!(Revision::new(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_watermark_waits_for_the_end_of_a_list() {
        let at = |text: &str| Version { resource_version: text.into(), ..Version::default() };
        let mut mark = Watermark::default();
        let mut see = |seen: Watched<Version>| {
            mark.see(&seen, |version| version);
            mark.reached().map(|revision| revision.as_str().to_owned())
        };
        assert_eq!(see(Watched::Restarted), None);
        assert_eq!(see(Watched::Listed(at("9"))), None);
        assert_eq!(see(Watched::Listed(at("12"))), None);
        assert_eq!(see(Watched::Listed(at("3"))), None);
        assert_eq!(see(Watched::Complete).as_deref(), Some("12"));
        assert_eq!(see(Watched::Applied(at("15"))).as_deref(), Some("15"));
        let gone = Gone { namespace: "".into(), name: "x".into(), uid: "u".into() };
        assert_eq!(see(Watched::Deleted(gone)).as_deref(), Some("15"));
        assert_eq!(see(Watched::Restarted).as_deref(), Some("15"));
        assert_eq!(see(Watched::Listed(at("12"))).as_deref(), Some("15"));
        assert_eq!(see(Watched::Complete).as_deref(), Some("12"));
        assert_eq!(see(Watched::Restarted).as_deref(), Some("12"));
        assert_eq!(see(Watched::Complete).as_deref(), Some("0"), "there are none");
        assert_eq!(see(Watched::Applied(at("opaque"))), None);
    }

    #[test]
    fn what_was_left_out_is_after_what_is_listed() {
        let key = |name: &str| ServiceKey::new("ns", name);
        let exception = |name| ProxyException { service: key(name), reason: "Contested".into() };
        let mut report = ProxyReport {
            node: "n".into(),
            services: None,
            slices: None,
            exceptions: vec![exception("b"), exception("d")],
            left_out: 0,
        };
        let told = |report: &ProxyReport| {
            ["a", "b", "c", "d", "e"].map(|name| report.exception(&key(name)).map(str::to_owned))
        };
        let contested = || Some("Contested".to_owned());
        assert_eq!(told(&report), [None, contested(), None, contested(), None]);
        report.left_out = 3;
        assert_eq!(told(&report), [None, contested(), None, contested(), Some(String::new())]);
    }

    #[test]
    fn all_nodes_together_report_at_most_a_hundred_times_a_second() {
        for (nodes, millis) in [(0, 1000), (1, 1000), (100, 1000), (150, 1500), (5000, 50_000)] {
            assert_eq!(report_interval(nodes), Duration::from_millis(millis), "{nodes}");
        }
        assert_eq!(report_interval(usize::MAX), Duration::from_secs(3600));
    }
}
