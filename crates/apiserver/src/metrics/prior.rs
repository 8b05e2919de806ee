//! The metrics that the proposal of 2019 calls prior ones, by the names of that time, derived from
//! today's: `apiserver_longrunning_gauge`, `apiserver_request_count`, `apiserver_request_latencies` and
//! `apiserver_request_latencies_summary`. The fifth, `apiserver_current_inflight_requests`, has kept its
//! name. Durations are in seconds.

use std::{collections::BTreeMap, fmt::Write as _};

const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
const DURATION: &str = "apiserver_request_duration_seconds";

/// A family under its name of that time.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    /// How its lines begin today, and what follows the name instead.
    lines: &'static [(&'static str, &'static str)],
}

const FAMILIES: [Family; 3] = [
    Family {
        name: "apiserver_longrunning_gauge",
        kind: "gauge",
        help: "Open long-running requests; today apiserver_longrunning_requests.",
        lines: &[("apiserver_longrunning_requests{", "{")],
    },
    Family {
        name: "apiserver_request_count",
        kind: "unknown",
        help: "Number of requests; today apiserver_request_total.",
        lines: &[("apiserver_request_total{", "{")],
    },
    Family {
        name: "apiserver_request_latencies",
        kind: "histogram",
        help: "Duration of requests in seconds; today apiserver_request_duration_seconds.",
        lines: &[
            ("apiserver_request_duration_seconds_sum{", "_sum{"),
            ("apiserver_request_duration_seconds_count{", "_count{"),
            ("apiserver_request_duration_seconds_bucket{", "_bucket{"),
        ],
    },
];

/// The buckets of one set of labels, cumulative, with their sum.
#[derive(Debug, Default)]
struct Observed<'t> {
    buckets: Vec<(f64, f64)>,
    sum: &'t str,
    count: &'t str,
}

/// The metrics derived from today's text.
pub(super) fn prior(text: &str) -> String {
    let mut prior = String::new();
    for Family { name, kind, help, lines } in FAMILIES {
        let _ = writeln!(prior, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for line in text.lines() {
            let renamed = lines.iter().find_map(|(old, new)| Some((new, line.strip_prefix(old)?)));
            if let Some((new, rest)) = renamed {
                let _ = writeln!(prior, "{name}{new}{rest}");
            }
        }
    }
    summary(text, &mut prior);
    prior
}

/// Quantiles are estimated within their bucket, as `histogram_quantile` of Prometheus does.
fn summary(text: &str, prior: &mut String) {
    let name = "apiserver_request_latencies_summary";
    let help = "Duration of requests in seconds: quantiles estimated from the histogram.";
    let _ = writeln!(prior, "# HELP {name} {help}\n# TYPE {name} summary");
    for (labels, observed) in observed(text) {
        for q in QUANTILES {
            let estimate = quantile(q, &observed.buckets);
            let _ = writeln!(prior, "{name}{{{labels},quantile=\"{q}\"}} {estimate}");
        }
        let Observed { sum, count, .. } = observed;
        let _ = writeln!(prior, "{name}_sum{{{labels}}} {sum}\n{name}_count{{{labels}}} {count}");
    }
}

/// By labels. All labels are names of ours, so that none contains a brace.
fn observed(text: &str) -> BTreeMap<&str, Observed<'_>> {
    let mut all = BTreeMap::<&str, Observed<'_>>::new();
    for line in text.lines().filter_map(|line| line.strip_prefix(DURATION)) {
        let Some((head, value)) = line.rsplit_once("} ") else { continue };
        if let Some(labels) = head.strip_prefix("_sum{") {
            all.entry(labels).or_default().sum = value;
        } else if let Some(labels) = head.strip_prefix("_count{") {
            all.entry(labels).or_default().count = value;
        } else if let Some((bound, labels)) = head.strip_prefix("_bucket{").and_then(bound) {
            let count = value.parse().unwrap_or_default();
            all.entry(labels).or_default().buckets.push((bound, count));
        }
    }
    all
}

/// The upper bound of a bucket, which is the first or the last label, and the other labels.
fn bound(labels: &str) -> Option<(f64, &str)> {
    let (bound, rest) = match labels.strip_prefix("le=\"") {
        Some(first) => first.split_once("\",")?,
        None => {
            let (rest, last) = labels.rsplit_once(",le=\"")?;
            (last.strip_suffix('"')?, rest)
        }
    };
    let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
    Some((bound, rest))
}

fn quantile(q: f64, buckets: &[(f64, f64)]) -> f64 {
    let total = buckets.last().map_or(0.0, |(_, count)| *count);
    let rank = q * total;
    let (mut below, mut start) = (0.0, 0.0);
    for (bound, count) in buckets {
        if *count >= rank && *count > below {
            // Beyond the last bound nothing is known.
            let end = if bound.is_finite() { *bound } else { start };
            return start + (end - start) * (rank - below) / (count - below);
        }
        (below, start) = (*count, if bound.is_finite() { *bound } else { start });
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: &str = "\
# HELP apiserver_request_duration_seconds Duration.
apiserver_request_total{verb=\"GET\",code=\"200\"} 4
apiserver_longrunning_requests{verb=\"WATCH\"} 2
apiserver_request_duration_seconds_sum{verb=\"GET\"} 0.9
apiserver_request_duration_seconds_count{verb=\"GET\"} 4
apiserver_request_duration_seconds_bucket{le=\"0.1\",verb=\"GET\"} 2
apiserver_request_duration_seconds_bucket{le=\"0.5\",verb=\"GET\"} 4
apiserver_request_duration_seconds_bucket{le=\"+Inf\",verb=\"GET\"} 4
";

    #[test]
    fn each_prior_metric_has_the_values_of_today_s() {
        let prior = prior(TODAY);
        for line in [
            "apiserver_longrunning_gauge{verb=\"WATCH\"} 2",
            "apiserver_request_count{verb=\"GET\",code=\"200\"} 4",
            "apiserver_request_latencies_bucket{le=\"0.5\",verb=\"GET\"} 4",
            "apiserver_request_latencies_sum{verb=\"GET\"} 0.9",
            "apiserver_request_latencies_summary{verb=\"GET\",quantile=\"0.5\"} 0.1",
            "apiserver_request_latencies_summary_count{verb=\"GET\"} 4",
        ] {
            assert!(prior.lines().any(|found| found == line), "{line}\n{prior}");
        }
    }

    #[test]
    fn quantiles_are_estimated_within_their_bucket() {
        let buckets = [(0.1, 2.0), (0.5, 4.0), (f64::INFINITY, 4.0)];
        for (q, expected) in [(0.5, 0.1), (0.75, 0.3), (1.0, 0.5)] {
            assert!((quantile(q, &buckets) - expected).abs() < 1e-9, "{q}");
        }
        assert_eq!(quantile(0.5, &[]), 0.0);
        assert_eq!(quantile(0.5, &[(0.1, 0.0), (f64::INFINITY, 8.0)]), 0.1);
        assert_eq!(bound("verb=\"GET\",le=\"0.1\""), Some((0.1, "verb=\"GET\"")));
    }
}
