use std::collections::BTreeMap;

use evenkeel_model::ServiceKey;

use super::*;

fn report(result: SyncResult, policy: Policy, distribution: Option<&str>) -> Report {
    Report {
        service: ServiceKey::new("default", "web"),
        result,
        problem: None,
        policy,
        traffic_distribution: distribution.map(Into::into),
        endpoints_added: 3,
        endpoints_removed: 0,
        slices_created: 2,
        slices_updated: 1,
        slices_deleted: 0,
        without_node: 0,
        altered: None,
        hints_changed: 0,
        hints_reason: String::new(),
        shares_changed: 0,
        writes_for_shares: 1,
        took: Duration::ZERO,
        retry_in: None,
    }
}

fn filled() -> Metrics {
    let metrics = Metrics::new();
    metrics.synced(&report(SyncResult::Success, Policy::Auto, None));
    metrics.synced(&report(SyncResult::Success, Policy::PreferSameZone, Some("PreferClose")));
    metrics.synced(&report(SyncResult::Error, Policy::None, None));
    metrics.synced(&Report {
        slices_created: 0,
        slices_updated: 0,
        ..report(SyncResult::Stale, Policy::None, None)
    });
    metrics.totals(Totals {
        services: 5,
        pods: 60,
        nodes: 6,
        endpoints: 50,
        slices: 7,
        desired_slices: 6,
        by_traffic_distribution: BTreeMap::from([("PreferClose".into(), 2)]),
        withdrawn: 1,
        stale_slices: 4,
        with_shares: 2,
        reporting_nodes: 5,
        waiting: 4,
        in_flight: 3,
    });
    metrics.wrote(Verb::Create, &Outcome::Exists, Duration::from_millis(3));
    metrics.slice_written(Duration::from_secs(1));
    metrics.watch_restarted(Resource::Pods);
    metrics.refused(Resource::Nodes);
    metrics.event(EventEnd::Dropped);
    metrics.leader(true);
    metrics.task_restarted("watches", 0);
    metrics
}

/// Names, types and labels of `staging/src/k8s.io/endpointslice/metrics/metrics.go`.
#[test]
fn kubernetes_own_metrics_have_its_names_labels_and_buckets() {
    let expected = [
        "# TYPE endpoint_slice_controller_endpoints_added_per_sync histogram",
        "endpoint_slice_controller_endpoints_added_per_sync_sum 9.0",
        "endpoint_slice_controller_endpoints_added_per_sync_count 3",
        r#"endpoint_slice_controller_endpoints_added_per_sync_bucket{le="2.0"} 0"#,
        r#"endpoint_slice_controller_endpoints_added_per_sync_bucket{le="4.0"} 3"#,
        r#"endpoint_slice_controller_endpoints_added_per_sync_bucket{le="32768.0"} 3"#,
        "# TYPE endpoint_slice_controller_endpoints_removed_per_sync histogram",
        "endpoint_slice_controller_endpoints_removed_per_sync_count 3",
        "# TYPE endpoint_slice_controller_endpoints_desired gauge",
        "endpoint_slice_controller_endpoints_desired 50",
        "# TYPE endpoint_slice_controller_num_endpoint_slices gauge",
        "endpoint_slice_controller_num_endpoint_slices 7",
        "# TYPE endpoint_slice_controller_desired_endpoint_slices gauge",
        "endpoint_slice_controller_desired_endpoint_slices 6",
        "# TYPE endpoint_slice_controller_changes unknown",
        r#"endpoint_slice_controller_changes{operation="create"} 6"#,
        r#"endpoint_slice_controller_changes{operation="update"} 3"#,
        "# TYPE endpoint_slice_controller_endpointslices_changed_per_sync histogram",
        r#"endpoint_slice_controller_endpointslices_changed_per_sync_sum{topology="Auto",traffic_distribution=""} 3.0"#,
        r#"endpoint_slice_controller_endpointslices_changed_per_sync_count{topology="Disabled",traffic_distribution="PreferClose"} 1"#,
        r#"endpoint_slice_controller_endpointslices_changed_per_sync_bucket{le="0.005",topology="Auto",traffic_distribution=""} 0"#,
        r#"endpoint_slice_controller_endpointslices_changed_per_sync_bucket{le="10.0",topology="Disabled",traffic_distribution=""} 1"#,
        "# TYPE endpoint_slice_controller_syncs unknown",
        r#"endpoint_slice_controller_syncs{result="success"} 2"#,
        r#"endpoint_slice_controller_syncs{result="error"} 1"#,
        r#"endpoint_slice_controller_syncs{result="stale"} 1"#,
        "# TYPE endpoint_slice_controller_services_count_by_traffic_distribution gauge",
        r#"endpoint_slice_controller_services_count_by_traffic_distribution{traffic_distribution="PreferClose"} 2"#,
    ];
    check(&filled().text(), &expected);
}

#[test]
fn our_own_metrics_are_named_for_the_controller() {
    let expected = [
        r#"evenkeel_controller_watch_restarts_total{resource="pods"} 1"#,
        r#"evenkeel_controller_refused_objects_total{resource="nodes"} 1"#,
        r#"evenkeel_controller_events_total{result="dropped"} 1"#,
        r#"evenkeel_controller_writes_total{action="create",outcome="exists"} 1"#,
        r#"evenkeel_controller_write_duration_seconds_count{action="create"} 1"#,
        "evenkeel_controller_pod_to_slice_seconds_count 1",
        r#"evenkeel_controller_pod_to_slice_seconds_bucket{le="1.0"} 1"#,
        "evenkeel_controller_leader 1",
        "evenkeel_controller_withdrawn_services 1",
        "evenkeel_controller_stale_slices 4",
        "evenkeel_controller_reporting_nodes 5",
        "evenkeel_controller_waiting_services 4",
        "evenkeel_controller_in_flight_writes 3",
        r#"evenkeel_controller_objects{resource="nodes"} 6"#,
        r#"evenkeel_controller_objects{resource="pods"} 60"#,
        r#"evenkeel_controller_objects{resource="services"} 5"#,
    ];
    check(&filled().text(), &expected);
}

/// Prometheus refuses a page in which a family comes twice or a sample stands outside of its own.
#[test]
fn each_family_is_described_once_and_followed_by_its_samples() {
    let text = filled().text();
    let mut described = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("# EOF")) {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let name = rest.split(' ').next().unwrap();
            assert!(!described.contains(&name), "{name} comes twice");
            described.push(name);
        } else if !line.starts_with('#') {
            let current = described.last().unwrap();
            assert!(line.starts_with(current), "{line} stands under {current}");
        }
    }
    assert_eq!(described.len(), 25, "{described:?}");
    assert!(text.ends_with("# EOF\n"));
}

fn check(text: &str, expected: &[&str]) {
    for line in expected {
        assert!(text.lines().any(|given| given == *line), "{line}\nis not in\n{text}");
    }
}

/// `all.txt` is what `docs/reference/metrics.md` is made from.
#[test]
fn all_metrics_are_listed_for_the_reference() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics/all.txt");
    evenkeel_testkit::reference::check_metrics(&filled().text(), file);
}
