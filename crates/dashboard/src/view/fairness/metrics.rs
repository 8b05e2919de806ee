//! `apiserver_flowcontrol_*` of `/metrics`, in Prometheus' or OpenMetrics' text.

use std::collections::BTreeMap;

const PREFIX: &str = "apiserver_flowcontrol_";
/// Levels, and pairs of a level and a schema. More are not read.
const MOST: usize = 2_000;
/// Of a pair. There are three.
const MOST_REASONS: usize = 16;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    pub levels: BTreeMap<String, Limits>,
    /// By level and schema.
    pub schemas: BTreeMap<(String, String), Counts>,
    /// Samples beyond the bounds.
    pub unread: usize,
}

/// Seats of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    pub nominal: Option<f64>,
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub current: Option<f64>,
}

/// Of a schema in a level. Counters count from the start of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    pub seats: Option<f64>,
    pub waiting: Option<f64>,
    pub dispatched: Option<f64>,
    /// Of those dispatched.
    pub wait_seconds: Option<f64>,
    pub waits: Option<f64>,
    pub rejected: BTreeMap<String, f64>,
}

pub(super) fn metrics(text: &str) -> Metrics {
    let mut metrics = Metrics::default();
    for line in text.lines() {
        let Some(sample) = line.strip_prefix(PREFIX).and_then(sample) else { continue };
        if metrics.take(&sample).is_none() {
            metrics.unread += 1;
        }
    }
    metrics
}

/// A line with labels, without the prefix.
struct Sample<'t> {
    name: &'t str,
    labels: Vec<(&'t str, String)>,
    value: f64,
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let (name, rest) = line.split_once('{')?;
    let (labels, rest) = labels(rest)?;
    // A timestamp or an exemplar may follow the value.
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(Sample { name, labels, value })
}

/// The labels up to the closing brace, and what follows it. Values may hold any character, escaped.
fn labels(mut rest: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let (value, behind) = value(quoted)?;
        labels.push((name, value));
        rest = behind;
    }
}

/// The text up to the closing quote, and what follows it.
fn value(quoted: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    loop {
        match chars.next()? {
            (at, '"') => return Some((value, &quoted[at + 1..])),
            (_, '\\') => value.push(match chars.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            (_, other) => value.push(other),
        }
    }
}

// === impl Sample ===

impl Sample<'_> {
    fn label(&self, name: &str) -> Option<String> {
        let found = self.labels.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    }
}

// === impl Metrics ===

impl Metrics {
    /// `None`: it is beyond the bounds. What the page does not show is passed over.
    fn take(&mut self, sample: &Sample<'_>) -> Option<()> {
        let Some(level) = sample.label("priority_level") else { return Some(()) };
        if let Some(limit) = limit(sample.name) {
            let is_new = !self.levels.contains_key(&level);
            if is_new && self.levels.len() >= MOST {
                return None;
            }
            *limit(self.levels.entry(level).or_default()) = Some(sample.value);
            return Some(());
        }
        let count = count(sample.name);
        let reason = sample.label("reason").filter(|_| sample.name == "rejected_requests_total");
        let is_counted = sample.label("execute").is_none_or(|executed| executed == "true");
        if (count.is_none() && reason.is_none()) || !is_counted {
            return Some(());
        }
        let key = (level, sample.label("flow_schema").unwrap_or_default());
        if self.schemas.len() >= MOST && !self.schemas.contains_key(&key) {
            return None;
        }
        let counts = self.schemas.entry(key).or_default();
        if let Some(count) = count {
            *count(counts) = Some(sample.value);
        }
        if let Some(reason) = reason {
            if counts.rejected.len() >= MOST_REASONS {
                return None;
            }
            counts.rejected.insert(reason, sample.value);
        }
        Some(())
    }
}

fn limit(name: &str) -> Option<fn(&mut Limits) -> &mut Option<f64>> {
    Some(match name {
        "nominal_limit_seats" => |limits| &mut limits.nominal,
        "lower_limit_seats" => |limits| &mut limits.lower,
        "upper_limit_seats" => |limits| &mut limits.upper,
        "current_limit_seats" => |limits| &mut limits.current,
        _ => return None,
    })
}

fn count(name: &str) -> Option<fn(&mut Counts) -> &mut Option<f64>> {
    Some(match name {
        "current_executing_seats" => |counts| &mut counts.seats,
        "current_inqueue_requests" => |counts| &mut counts.waiting,
        "dispatched_requests_total" => |counts| &mut counts.dispatched,
        "request_wait_duration_seconds_sum" => |counts| &mut counts.wait_seconds,
        "request_wait_duration_seconds_count" => |counts| &mut counts.waits,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_taken_by_their_labels() {
        let text = r#"# TYPE apiserver_flowcontrol_nominal_limit_seats gauge
apiserver_flowcontrol_nominal_limit_seats{priority_level="low"} 245.0
apiserver_flowcontrol_current_executing_seats{priority_level="low",flow_schema="a"} 3 1700000000
apiserver_flowcontrol_rejected_requests_total{priority_level="low",flow_schema="a",reason="queue-full"} 7
apiserver_flowcontrol_request_wait_duration_seconds_sum{execute="false",flow_schema="a",priority_level="low"} 90
apiserver_flowcontrol_request_wait_duration_seconds_sum{execute="true",flow_schema="a",priority_level="low"} 1.5
apiserver_flowcontrol_seat_fair_frac{} 1
apiserver_request_total{priority_level="low"} 9
"#;
        let metrics = metrics(text);
        assert_eq!(metrics.levels["low"].nominal, Some(245.0));
        assert_eq!(metrics.levels["low"].current, None, "unknown is not zero");
        let counts = &metrics.schemas[&("low".to_owned(), "a".to_owned())];
        assert_eq!((counts.seats, counts.wait_seconds), (Some(3.0), Some(1.5)));
        assert_eq!(counts.rejected["queue-full"], 7.0);
    }

    #[test]
    fn hostile_samples_are_passed_over() {
        let text = r#"apiserver_flowcontrol_nominal_limit_seats{priority_level="a\"} 1"} 2
apiserver_flowcontrol_nominal_limit_seats{priority_level="b
apiserver_flowcontrol_nominal_limit_seats{priority_level="c"} NaN
apiserver_flowcontrol_nominal_limit_seats{priority_level="d"} -1
apiserver_flowcontrol_nominal_limit_seats{=,=} 1
apiserver_flowcontrol_nominal_limit_seats{priority_level="e\n\\f"} 3
"#;
        let metrics = metrics(text);
        let names: Vec<&str> = metrics.levels.keys().map(String::as_str).collect();
        assert_eq!(names, ["a\"} 1", "e\n\\f"]);
    }

    #[test]
    fn more_than_the_bound_is_counted() {
        let line = |i| format!("{PREFIX}nominal_limit_seats{{priority_level=\"l{i}\"}} 1\n");
        let metrics = metrics(&(0..MOST + 3).map(line).collect::<String>());
        assert_eq!((metrics.levels.len(), metrics.unread), (MOST, 3));
    }
}
