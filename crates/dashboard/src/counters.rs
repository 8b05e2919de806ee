//! Differences between two looks at counters, over the last minute.
//!
//! A counter that is smaller than before has begun anew, with its proxy: what it shows came since then. One
//! that was not there before had counted nothing, but what a proxy shows that was never looked at is of
//! another time, and is left out.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use evenkeel_admin::scrape::{self, Sample, label};
use evenkeel_model::ServiceKey;

use crate::view::Measured;

/// Figures are about this time.
const WINDOW: Duration = Duration::from_secs(60);

/// Series of one proxy that are looked at.
const MOST_SERIES: usize = 100_000;

const NAMES: [&str; 1] = ["evenkeel_service_connections_total"];

/// A Service, and the zones of clients and of endpoints.
type Series = (ServiceKey, Arc<str>, Arc<str>);

/// What the counters of one proxy show.
pub(crate) type Shown = BTreeMap<Series, u64>;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// What each proxy showed last.
    last: BTreeMap<String, Shown>,
    /// When they were looked at last.
    looked: Option<Duration>,
    rounds: VecDeque<Round>,
}

/// What came between two looks.
#[derive(Debug)]
struct Round {
    from: Duration,
    to: Duration,
    counted: Shown,
}

/// The counters in the text of a proxy's metrics.
pub(crate) fn shown(text: &str) -> Shown {
    let mut shown = Shown::new();
    for Sample { labels, value } in scrape::samples(text, &NAMES).take(MOST_SERIES) {
        let of = |name| label(labels, name).unwrap_or_default();
        // Those of no Service are the rest of many; they say nothing of any.
        let Some((namespace, name)) = of("service").split_once('/') else { continue };
        let series =
            (ServiceKey::new(namespace, name), of("from_zone").into(), of("to_zone").into());
        // Counters are whole and not negative; anything else counts as nothing.
        add(&mut shown, series, value as u64);
    }
    shown
}

/// A proxy may show any number.
fn add(shown: &mut Shown, series: Series, n: u64) {
    let sum = shown.entry(series).or_default();
    *sum = sum.saturating_add(n);
}

// === impl Counters ===

impl Counters {
    /// What proxies show at `now`, by what they are called. Those that are not among them did not answer.
    pub(crate) fn take(&mut self, now: Duration, all: BTreeMap<String, Shown>) {
        let mut counted = Shown::new();
        for (proxy, shown) in all {
            if let Some(before) = self.last.get(&proxy) {
                for (series, n) in &shown {
                    let was = before.get(series).copied().unwrap_or(0);
                    let came = if *n >= was { n - was } else { *n };
                    add(&mut counted, series.clone(), came);
                }
            }
            self.last.insert(proxy, shown);
        }
        if let Some(from) = self.looked.replace(now) {
            self.rounds.push_back(Round { from, to: now, counted });
        }
        while self.rounds.front().is_some_and(|round| round.from + WINDOW < now) {
            self.rounds.pop_front();
        }
    }

    /// Forgets proxies that are not there any more.
    pub(crate) fn keep(&mut self, proxies: &[String]) {
        let there: BTreeSet<&String> = proxies.iter().collect();
        self.last.retain(|proxy, _| there.contains(proxy));
    }

    pub(crate) fn measured(&self) -> Measured {
        let mut measured = Measured::default();
        let (first, last) = (self.rounds.front(), self.rounds.back());
        if let (Some(first), Some(last)) = (first, last) {
            measured.seconds = (last.to - first.from).as_secs();
        }
        for ((service, from, to), n) in self.rounds.iter().flat_map(|round| &round.counted) {
            if *n > 0 {
                let zones = measured.services.entry(service.clone()).or_default();
                let sum = zones.entry((Arc::clone(from), Arc::clone(to))).or_default();
                *sum = sum.saturating_add(*n);
            }
        }
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(service: &str, from: &str, to: &str, n: u32) -> String {
        format!(
            "evenkeel_service_connections_total{{service=\"{service}\",from_zone=\"{from}\",to_zone=\"{to}\"}} {n}\n"
        )
    }

    fn proxy(name: &str, text: &str) -> BTreeMap<String, Shown> {
        [(name.to_owned(), shown(text))].into()
    }

    fn of(counters: &Counters, from: &str, to: &str) -> Option<u64> {
        let measured = counters.measured();
        let zones = measured.services.get(&ServiceKey::new("shop", "web"))?;
        zones.get(&(from.into(), to.into())).copied()
    }

    #[test]
    fn a_proxy_that_lies_breaks_no_sum() {
        let mut counters = Counters::default();
        let lie = line("shop/web", "a", "a", 0).replace("} 0", "} 1e30");
        for second in 0..3 {
            let names = ["p", "q"].map(|name| (name.to_owned(), shown(&lie.repeat(2))));
            counters.take(Duration::from_secs(2 * second), names.into());
            let none = ["p", "q"].map(|name| (name.to_owned(), Shown::new()));
            counters.take(Duration::from_secs(2 * second + 1), none.into());
        }
        assert_eq!(of(&counters, "a", "a"), Some(u64::MAX));
    }

    #[test]
    fn what_was_counted_before_anybody_looked_is_left_out() {
        let mut counters = Counters::default();
        let at = Duration::from_secs;
        let web = |n| line("shop/web", "a", "a", n);
        counters.take(at(0), proxy("p", &web(1000)));
        assert_eq!(counters.measured(), Measured::default());
        counters.take(at(5), proxy("p", &(web(1030) + &line("shop/web", "a", "b", 10))));
        assert_eq!((of(&counters, "a", "a"), of(&counters, "a", "b")), (Some(30), Some(10)));
        assert_eq!(counters.measured().seconds, 5);
        // Another proxy is new, and this one did not answer.
        counters.take(at(10), proxy("q", &web(500)));
        counters.take(at(15), proxy("q", &web(501)));
        assert_eq!(of(&counters, "a", "a"), Some(31));
    }

    #[test]
    fn a_counter_that_began_anew_counts_from_nothing() {
        let mut counters = Counters::default();
        let at = Duration::from_secs;
        for (second, n) in [(0, 100), (5, 110), (10, 4), (15, 9)] {
            counters.take(at(second), proxy("p", &line("shop/web", "a", "b", n)));
        }
        assert_eq!(of(&counters, "a", "b"), Some(10 + 4 + 5));
        // What is older than a minute is forgotten.
        counters.take(at(70), proxy("p", &line("shop/web", "a", "b", 10)));
        assert_eq!((of(&counters, "a", "b"), counters.measured().seconds), (Some(5 + 1), 60));
    }

    #[test]
    fn text_that_makes_no_sense_counts_nothing() {
        for text in
            ["", "x{", "evenkeel_service_connections_total{service=\"web\"} 5\n", "}{}{ 1\n"]
        {
            assert!(shown(text).is_empty(), "{text}");
        }
        let text = line("shop/web", "a", "a", 1).replace(" 1\n", " -7\n");
        assert_eq!(shown(&text).values().sum::<u64>(), 0);
    }
}
