//! Policy Balanced from one replica to twelve and back: conditions, the table of zone shares and
//! `explain` agree at each step.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    cluster::Cluster,
    process::{evenkeel, ran, until},
    slices::{Hinted, items, settled, text},
};

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];

const WEB: &str = "
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations: {evenkeel.dev/traffic-distribution: Balanced}
spec:
  ports: [{name: http, port: 80, targetPort: 8080}]
  selector: {app: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
      containers: [{name: web, image: web}]
";

type Table = BTreeMap<String, BTreeMap<String, f64>>;

/// The tables in the annotations of the Service's slices.
fn tables(cluster: &Cluster) -> Vec<Table> {
    let slices = cluster.get(&["endpointslice", "-l", "kubernetes.io/service-name=web"]);
    let shares = |slice: &Value| {
        let shares = slice["metadata"]["annotations"]["evenkeel.dev/zone-shares"].as_str()?;
        Some(serde_json::from_str(shares).unwrap())
    };
    items(&slices).iter().filter_map(shares).collect()
}

fn condition(cluster: &Cluster, kind: &str) -> (String, String) {
    let service = cluster.get(&["svc", "web"]);
    let conditions = service["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|one| one["type"] == kind);
    let text_of = |name: &str| found.map_or(String::new(), |one| text(&one[name]));
    (text_of("status"), text_of("reason"))
}

/// What a client of `zone` is expected to do by the table: the part that stays, where the zones that
/// have no endpoint pass theirs on.
fn stays(table: &Table, zone: &str, endpoints: &[Hinted]) -> f64 {
    let is_served = |zone: &String| endpoints.iter().any(|one| one.zone == *zone);
    let row = &table[zone];
    let served: f64 = row.iter().filter(|(to, _)| is_served(to)).map(|(_, part)| part).sum();
    row.get(zone).filter(|_| is_served(&zone.to_owned())).map_or(0.0, |own| own / served)
}

#[test]
fn a_service_grows_and_shrinks_under_balanced() {
    let cluster = Cluster::start("balanced", &ZONES);
    let controller = cluster.control(&[]);
    cluster.apply(WEB);
    let steps = [1, 2, 3, 4, 5, 6, 7, 9, 12, 7, 4, 3, 1];
    for n in steps {
        cluster.must(&["scale", "deployment", "web", &format!("--replicas={n}")], "");
        let endpoints = settled(&cluster, "web", n, |_| true);
        let table = until("one table is in force", || {
            let mut tables = tables(&cluster);
            (tables.len() == 1).then(|| tables.remove(0))
        });
        until("conditions say so", || {
            let programmed = condition(&cluster, "TrafficDistributionProgrammed");
            (programmed == ("True".to_owned(), "ZoneSharesProgrammed".to_owned())).then_some(())
        });
        assert_eq!(condition(&cluster, "TrafficDistributionAccepted").0, "True");
        assert_eq!(table.len(), ZONES.len(), "a row for each zone: {table:?}");
        let mut load: BTreeMap<String, f64> = BTreeMap::new();
        for zone in ZONES {
            let args = ["--from-zone", zone, "--profile", "evenkeel"];
            let explained = cluster.explain("web", &args);
            let view = &explained["families"][0]["views"][0];
            let share = view["inZoneShare"].as_f64().unwrap_or_default();
            let expected = stays(&table, zone, &endpoints);
            assert!((share - expected).abs() < 0.002, "{n}, {zone}: {expected}\n{view:#}");
            for used in view["uses"].as_array().unwrap() {
                let part = used["share"].as_f64().unwrap() / ZONES.len() as f64;
                *load.entry(text(&used["address"])).or_default() += part;
            }
        }
        let worst = load.values().fold(0.0, |worst: f64, load| worst.max(load * n as f64));
        assert!(worst < 1.1 + 0.01, "{n} replicas: {worst}");
        assert!((load.values().sum::<f64>() - 1.0).abs() < 1e-9, "no traffic is lost");
    }
    // Each step writes its slice anyway: shares alone cost few writes.
    let alone = controller.metric("evenkeel_controller_zone_shares_writes_total");
    assert!(alone <= 3.0, "{alone} writes for shares alone in {} steps", steps.len());
    assert_eq!(controller.metric("evenkeel_controller_zone_shares_services"), 1.0);
    controller.stop();

    // Whoever takes the slices over keeps annotations that it does not know.
    let release = ["controller", "release", "--kubeconfig", &cluster.kubeconfig()];
    let released = ran(&mut evenkeel(&release), "");
    assert_eq!(released.code, 0, "{}", released.err);
    assert!(tables(&cluster).is_empty());
}

#[test]
fn values_with_a_domain_need_the_gate_of_the_api_server() {
    let mut cluster = Cluster::start("domains", &ZONES);
    let field = "{\"spec\":{\"trafficDistribution\":\"evenkeel.dev/Balanced\"}}";
    let patch = ["patch", "svc", "web", "--type=merge", "-p", field];
    cluster.apply(&WEB.replace("{evenkeel.dev/traffic-distribution: Balanced}", "{}"));
    let refused = cluster.kubectl(&patch, "");
    assert!(
        refused.err.contains("Unsupported value: \"evenkeel.dev/Balanced\""),
        "{}",
        refused.err
    );
    cluster.restart(&["--feature-gates=TrafficDistributionDomains=true"]);
    let controller = cluster.control(&[]);
    cluster.must(&patch, "");
    until("one table is in force", || (tables(&cluster).len() == 1).then_some(()));
    assert_eq!(cluster.explain("web", &["--profile", "evenkeel"])["policy"], "Balanced");
    controller.stop();
}
