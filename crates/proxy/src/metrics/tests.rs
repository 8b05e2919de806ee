use std::collections::BTreeSet;

use super::*;

fn filled() -> String {
    let metrics = Metrics::new();
    let (transaction, families) = (Transaction::default(), IpFamily::ALL);
    let took = Duration::from_millis(3);
    metrics.queued(&families, 2, 5);
    for is_full in [true, false] {
        let waited = Some(took);
        let synced =
            Synced { transaction: &transaction, families: &families, took, waited, is_full };
        metrics.synced(&synced);
    }
    metrics.programmed(IpFamily::Ipv4, Duration::from_millis(300));
    metrics.failed(&families);
    metrics.restored();
    metrics.facts(&Facts::default(), 1);
    metrics.conntrack(IpFamily::Ipv4, took, 7);
    metrics.answered(true, 200);
    metrics.answered(false, 503);
    metrics.task_restarted("reporter", 1);
    metrics.restarted(Resource::Services);
    metrics.ignored(Resource::EndpointSlices);
    let connections = Connections {
        service: "shop/web".to_owned(),
        from_zone: "zone-a".to_owned(),
        to_zone: "zone-b".to_owned(),
    };
    metrics.text(&[(connections, 40)])
}

/// Names, labels and buckets of `pkg/proxy/metrics/metrics.go` in nftables mode.
#[test]
fn kube_proxys_metrics_have_its_names_labels_and_buckets() {
    let text = filled();
    for line in [
        r#"kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="IPv4"} 2"#,
        r#"kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="0.004",ip_family="IPv4"} 2"#,
        r#"kubeproxy_sync_proxy_rules_duration_seconds_bucket{le="16.384",ip_family="IPv6"} 2"#,
        r#"kubeproxy_sync_full_proxy_rules_duration_seconds_count{ip_family="IPv4"} 1"#,
        r#"kubeproxy_sync_partial_proxy_rules_duration_seconds_count{ip_family="IPv6"} 1"#,
        "kubeproxy_sync_proxy_rules_endpoint_changes_pending 0",
        "kubeproxy_sync_proxy_rules_endpoint_changes_total 5",
        "kubeproxy_sync_proxy_rules_service_changes_pending 0",
        "kubeproxy_sync_proxy_rules_service_changes_total 2",
        r#"kubeproxy_network_programming_duration_seconds_bucket{le="0.25",ip_family="IPv4"} 0"#,
        r#"kubeproxy_network_programming_duration_seconds_bucket{le="300.0",ip_family="IPv4"} 1"#,
        r#"kubeproxy_sync_proxy_rules_nftables_sync_failures_total{ip_family="IPv6"} 1"#,
        r#"kubeproxy_conntrack_reconciler_deleted_entries_total{ip_family="IPv4"} 7"#,
        r#"kubeproxy_proxy_healthz_total{code="200"} 1"#,
        r#"kubeproxy_proxy_livez_total{code="503"} 1"#,
    ] {
        assert!(text.lines().any(|given| given == line), "{line}\nis not in\n{text}");
    }
    for name in ["last_queued_timestamp_seconds", "last_timestamp_seconds"] {
        assert!(text.contains(&format!("kubeproxy_sync_proxy_rules_{name}{{ip_family=")), "{name}");
    }
}

/// Prometheus refuses a page in which a family comes twice, and reads none after its end.
#[test]
fn each_family_is_described_once_and_the_page_ends_once() {
    let text = filled();
    let described = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut names = BTreeSet::new();
    for line in described {
        assert!(names.insert(line.split(' ').next().unwrap()), "{line} comes twice");
    }
    assert!(names.contains("evenkeel_service_connections"), "{names:?}");
    assert_eq!(text.matches("# EOF").count(), 1);
    assert!(text.ends_with("# EOF\n"));
}

/// `all.txt` is what `docs/reference/metrics.md` is made from.
#[test]
fn all_metrics_are_listed_for_the_reference() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics/all.txt");
    evenkeel_testkit::reference::check_metrics(&filled(), file);
}
