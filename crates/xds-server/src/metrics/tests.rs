use super::*;

fn filled() -> String {
    let metrics = Metrics::new();
    let took = Duration::from_millis(3);
    metrics.stream(Variant::Incremental, 2);
    metrics.stream(Variant::StateOfTheWorld, 1);
    metrics.refused("too_many_streams");
    metrics.request();
    metrics.sent_bytes(70);
    for kind in [ResourceType::Cluster, ResourceType::Endpoint] {
        metrics.response(kind);
        metrics.acked(kind);
        metrics.nacked(kind);
        metrics.stale(kind);
    }
    metrics.computed(took, Held { proxies: 3, ..Held::default() }, Work::default());
    metrics.propagated(took);
    metrics.invalid(4);
    metrics.restarted(Resource::Services);
    metrics.ignored(Resource::Pods);
    metrics.task_restarted("folder", 1);
    metrics.text()
}

#[test]
fn what_alerts_look_at_has_these_names_and_labels() {
    let text = filled();
    for line in [
        "evenkeel_xds_connected_proxies 3",
        "evenkeel_xds_invalid_resources 4",
        r#"evenkeel_xds_nacks_total{type="EDS"} 1"#,
        r#"evenkeel_xds_propagation_duration_seconds_bucket{le="0.004"} 1"#,
        "evenkeel_xds_source_failures_total 2",
        "evenkeel_xds_sent_bytes_total 70",
    ] {
        assert!(text.lines().any(|given| given == line), "{line}\nis not in\n{text}");
    }
}

/// `all.txt` is what `docs/reference/metrics.md` is made from.
#[test]
fn all_metrics_are_listed_for_the_reference() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics/all.txt");
    evenkeel_testkit::reference::check_metrics(&filled(), file);
}
