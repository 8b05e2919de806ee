//! The alert rules: complete, and about metrics that exist.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::rendered::{self, documents, text};

/// A file of rules about one job.
struct Alerts {
    file: &'static str,
    job: &'static str,
    /// What the job exposes and the rules may use.
    metrics: &'static [&'static str],
}

const ALERTS: [Alerts; 3] = [
    Alerts {
        file: "alerts/evenkeel.yaml",
        job: "evenkeel-controller",
        metrics: &[
            "endpoint_slice_controller_syncs",
            "evenkeel_controller_leader",
            "evenkeel_controller_pod_to_slice_seconds_bucket",
            "evenkeel_controller_refused_objects_total",
            "evenkeel_controller_waiting_services",
            "evenkeel_controller_watch_restarts_total",
            "evenkeel_controller_withdrawn_services",
        ],
    },
    Alerts {
        file: "alerts/evenkeel-proxy.yaml",
        job: "evenkeel-proxy",
        metrics: &[
            "evenkeel_proxy_contested_frontends",
            "evenkeel_proxy_rules_restored_total",
            "kubeproxy_network_programming_duration_seconds_bucket",
            "kubeproxy_sync_proxy_rules_nftables_sync_failures_total",
        ],
    },
    Alerts {
        file: "alerts/evenkeel-mesh.yaml",
        job: "evenkeel-mesh",
        metrics: &[
            "evenkeel_xds_connected_proxies",
            "evenkeel_xds_invalid_resources",
            "evenkeel_xds_nacks_total",
            "evenkeel_xds_propagation_duration_seconds_bucket",
            "evenkeel_xds_source_failures_total",
        ],
    },
];

/// Words of PromQL that are followed by a list of labels, or stand between expressions.
const GROUPING: &[&str] = &["by", "without", "on", "ignoring", "group_left", "group_right"];
const OPERATORS: &[&str] = &["and", "or", "unless", "bool", "offset"];

pub(crate) fn rules() -> Vec<Value> {
    ALERTS.iter().flat_map(Alerts::rules).collect()
}

impl Alerts {
    fn rules(&self) -> Vec<Value> {
        let [file] = &documents(self.file)[..] else { panic!("one document") };
        let groups = file["groups"].as_array().unwrap().iter();
        groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
    }
}

/// The name without the suffix of its samples is in the reference, which is made from the code.
#[test]
fn metrics_of_the_tables_exist() {
    let reference = rendered::read("../docs/reference/metrics.md");
    for name in ALERTS.iter().flat_map(|alerts| alerts.metrics) {
        let family = name.trim_end_matches("_total").trim_end_matches("_bucket");
        assert!(reference.contains(&format!("| `{family}` |")), "{name}");
    }
}

#[test]
fn rules_use_only_metrics_that_exist_and_every_one_of_the_table() {
    for alerts in ALERTS {
        let rules = alerts.rules();
        let used: BTreeSet<_> =
            rules.iter().flat_map(|rule| metrics(text(&rule["expr"]))).collect();
        assert_eq!(used, alerts.metrics.iter().map(|name| (*name).to_owned()).collect());
    }
}

/// kube-controller-manager and kube-proxy have metrics of the same names.
#[test]
fn rules_look_at_this_job_only() {
    for alerts in ALERTS {
        let job = format!(r#"{{job="{}""#, alerts.job);
        for rule in alerts.rules() {
            let expression = text(&rule["expr"]);
            let ours = expression.matches(&job).count();
            assert_eq!(ours, expression.matches('{').count(), "{expression}");
            assert_eq!(ours, metrics(expression).len(), "{expression}");
        }
    }
}

#[test]
fn rules_say_what_is_wrong_and_what_to_do() {
    let mut names = BTreeSet::new();
    for rule in rules() {
        let name = text(&rule["alert"]);
        assert!(names.insert(name.to_owned()), "{name} twice");
        assert!(["critical", "warning"].contains(&text(&rule["labels"]["severity"])), "{name}");
        for annotation in ["summary", "description", "action"] {
            assert!(text(&rule["annotations"][annotation]).ends_with('.'), "{name}: {annotation}");
        }
    }
}

/// The names of metrics in an expression, each as often as it occurs. A name is a metric's unless
/// it is a function or an operator's, or inside of braces, brackets, quotes or a list of labels.
fn metrics(expression: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !is_part_of_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        rest = match first {
            '{' => behind(rest, '}'),
            '[' => behind(rest, ']'),
            '"' => behind(&rest[1..], '"'),
            _ if end == 0 => &rest[first.len_utf8()..],
            _ if GROUPING.contains(&name) => behind(after, ')'),
            _ => {
                let is_number = first.is_ascii_digit();
                if !is_number && !is_function(after) && !OPERATORS.contains(&name) {
                    names.push(name.to_owned());
                }
                after
            }
        };
    }
    names
}

/// Arguments follow, or first the labels that an aggregation keeps or drops.
fn is_function(after: &str) -> bool {
    let after = after.trim_start();
    ["(", "by ", "by(", "without ", "without("].iter().any(|start| after.starts_with(start))
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.')
}

fn behind(text: &str, end: char) -> &str {
    text.split_once(end).unwrap_or_else(|| panic!("{text}: no {end}")).1
}

#[test]
fn metrics_are_told_from_all_else() {
    for (expression, expected) in [
        (r#"up{job="a b",x="sum"} == 0"#, &["up"][..]),
        ("(sum(a) or vector(0)) < 1", &["a"]),
        ("sum by (le, instance) (rate(a_bucket[5m])) > 1e3", &["a_bucket"]),
        ("a / on (x) group_left (y) b and a unless c offset 5m", &["a", "b", "a", "c"]),
        (r#"histogram_quantile(0.99, rate(h[1m])) > 10"#, &["h"]),
        (r#"label_replace(a, "b", "$1", "c", "(.*)")"#, &["a"]),
    ] {
        assert_eq!(metrics(expression), expected, "{expression}");
    }
}
