//! View models of whole pages, compared with `tests/golden`, and their bounds.
//!
//! `UPDATE_GOLDEN=1` accepts what differs.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{env, fs, path::Path};

use evenkeel_dashboard::view::{
    Basis, Cluster, ClusterPage, Figure, MOST_MARKS, Measured, ServicePage, Wish,
};
use evenkeel_k8s::{Objects, manifest, snapshot};
use evenkeel_model::{ServiceKey, Snapshot};
use evenkeel_topology::{
    Environment, Policy, Server,
    explain::{From, explain},
    whatif::{Scenario, TrafficProfile},
};
use serde::Serialize;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn read(texts: &[String]) -> Snapshot {
    let mut objects = Objects::default();
    for text in texts {
        manifest::parse("test", text, &mut objects).unwrap();
    }
    snapshot::build(&objects).unwrap()
}

fn three_zones() -> Snapshot {
    let folder = fs::read_dir(root().join("examples/three-zones")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    read(&files.iter().map(|path| fs::read_to_string(path).unwrap()).collect::<Vec<_>>())
}

fn cluster(snapshot: Snapshot) -> Cluster {
    Cluster::new(snapshot, Server::default()).unwrap()
}

fn service(cluster: &Cluster, namespace: &str, name: &str, wish: &Wish) -> ServicePage {
    cluster.service(&ServiceKey::new(namespace, name), wish).unwrap()
}

fn golden(name: &str, page: &impl Serialize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let got = serde_json::to_string_pretty(page).unwrap() + "\n";
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &got).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expected, "{name} differs; UPDATE_GOLDEN=1 accepts it");
}

fn node(name: &str, zone: &str) -> String {
    let zone = serde_json::to_string(zone).unwrap();
    format!(
        "kind: Node\napiVersion: v1\nmetadata: {{name: {name:?}, labels: {{topology.kubernetes.io/zone: {zone}}}}}\n\
         status: {{allocatable: {{cpu: '4'}}, conditions: [{{type: Ready, status: 'True'}}]}}\n---\n"
    )
}

fn web(namespace: &str, name: &str, endpoints: &[(&str, &str)]) -> String {
    let one = |(i, (node, zone)): (usize, &(&str, &str))| {
        let zone = serde_json::to_string(zone).unwrap();
        format!(
            "- {{addresses: ['10.1.{}.{}'], conditions: {{ready: true}}, nodeName: {node:?}, zone: {zone}}}\n",
            i / 250,
            i % 250 + 1
        )
    };
    let endpoints: String = endpoints.iter().enumerate().map(one).collect();
    let endpoints = if endpoints.is_empty() { "[]".to_owned() } else { format!("\n{endpoints}") };
    format!(
        "kind: Service\napiVersion: v1\nmetadata: {{name: {name:?}, namespace: {namespace:?}}}\n\
         spec: {{clusterIP: 10.96.0.1, selector: {{app: web}}, ports: [{{port: 80}}]}}\n---\n\
         kind: EndpointSlice\napiVersion: discovery.k8s.io/v1\naddressType: IPv4\nports: [{{port: 80}}]\n\
         metadata: {{name: {name:?}, namespace: {namespace:?}, labels: {{kubernetes.io/service-name: {name:?}}}}}\n\
         endpoints: {endpoints}\n---\n"
    )
}

#[test]
fn the_cluster_page_of_the_sample() {
    golden("cluster.json", &cluster(three_zones()).page());
}

#[test]
fn the_service_page_and_a_what_if_of_the_sample() {
    let cluster = cluster(three_zones());
    golden("search.json", &service(&cluster, "shop", "search", &Wish::default()));
    golden("metrics-agent.json", &service(&cluster, "shop", "metrics-agent", &Wish::default()));
    let (policy, replicas, lose) =
        (Some(Policy::PreferSameZone), Some(9), Some("zone-a".to_owned()));
    let wish = Wish { policy, replicas, lose };
    golden("what_if.json", &service(&cluster, "shop", "cart", &wish).what_if);
}

#[test]
fn figures_are_those_of_explain_and_plan() {
    let snapshot = three_zones();
    let environment = Environment::new(None, Server::default(), |_| {}).unwrap();
    let profile = TrafficProfile::default();
    let scenario = Scenario::new(&snapshot, &profile, &environment);
    let pages = cluster(snapshot.clone());
    for state in &snapshot.services {
        let ServiceKey { namespace, name } = &state.service.key;
        let page = service(&pages, namespace, name, &Wish::default());
        let plan = scenario.forecast(state, None);
        let now = &plan.of(plan.current).unwrap().figures;
        assert_eq!(page.what_if.now.figures, *now, "{name}");
        let placed = (now.unknown_zone_share < 1.0).then_some(now.in_zone_share);
        assert_eq!(
            page.in_zone.value, placed,
            "{name}: endpoints without a zone are unknown, not zero"
        );
        assert_eq!(page.load.value, Some(now.max_load), "{name}");
        let explanation = explain(&snapshot, state, &From::default(), &environment);
        let views = explanation.families.iter().flat_map(|family| &family.views);
        for view in views.filter(|view| !view.uses.is_empty()) {
            let whole: f64 = view.uses.iter().map(|used| used.share).sum();
            assert!((whole - 1.0).abs() < 1e-9);
            let found = page.rows.iter().any(|row| {
                row.crosses == Some(false)
                    && (row.share.value.unwrap() - view.in_zone_share.unwrap_or(-1.0)).abs() < 1e-9
            });
            assert!(found || !view.in_zone_share.is_some_and(|share| share > 0.0), "{name}");
        }
    }
}

#[test]
fn what_proxies_counted_is_beside_what_is_predicted() {
    let key = ServiceKey::new("shop", "search");
    let zones = [(("zone-a", "zone-a"), 30), (("zone-c", "zone-a"), 9), (("zone-c", "zone-b"), 1)];
    let zones = zones.map(|((from, to), n)| ((from.into(), to.into()), n));
    let measured = Measured { seconds: 12, services: [(key, zones.into())].into() };
    let cluster = cluster(three_zones()).with_measured(measured.into());
    let page = service(&cluster, "shop", "search", &Wish::default());
    let told: Vec<(&str, &str, &str)> =
        page.rows.iter().map(|r| (&*r.from, &*r.to, &*r.measured.text)).collect();
    let wanted = [
        ("zone-a", "zone-a", "100 %"),
        ("zone-b", "zone-b", "unknown"),
        ("zone-c", "zone-a", "90 %"),
        ("zone-c", "zone-b", "10 %"),
    ];
    assert_eq!(told, wanted, "zone-b sent nothing, of which no part is known");
    assert_eq!((page.measured.value, page.measured.basis), (Some(0.75), Basis::Measured));
    assert_eq!(page.measured_note, "Measured: 40 connections in 12 s.");
    assert_eq!(cluster.page().measured.value, Some(0.75));
    let other = service(&cluster, "shop", "cart", &Wish::default());
    assert_eq!((other.measured.text.as_str(), other.measured.value), ("unknown", None));
    assert_eq!(other.measured_note, "Proxies counted no connections.");
}

#[test]
fn now_and_then_are_drawn_alike() {
    let cluster = cluster(three_zones());
    let wish = Wish { lose: Some("zone-a".to_owned()), ..Wish::default() };
    let what_if = service(&cluster, "shop", "search", &wish).what_if;
    let lanes = |figure: &Figure| match figure {
        Figure::Ribbons { lanes, .. } => lanes.iter().map(|lane| lane.label.clone()).collect(),
        _ => Vec::new(),
    };
    let now = lanes(&what_if.now.figure.unwrap());
    assert_eq!(now, ["zone-a", "zone-b", "zone-c", "zone-a", "zone-b"]);
    let then = lanes(&what_if.then.unwrap().figure.unwrap());
    assert_eq!(then, ["zone-b", "zone-c", "zone-b"], "its clients moved to the others");
}

#[test]
fn without_endpoints_shares_are_unknown_and_not_zero() {
    let cluster = cluster(read(&[node("n1", "zone-a") + &web("shop", "web", &[])]));
    let page = service(&cluster, "shop", "web", &Wish::default());
    assert_eq!(page.sentence, "No endpoint is ready: no request is served.");
    assert_eq!((page.in_zone.text.as_str(), page.in_zone.value), ("unknown", None));
    assert_eq!((page.load.value, page.unserved.value), (None, Some(1.0)));
    assert!(matches!(page.figure, Figure::Nothing { .. }));
    assert_eq!(page.rows[0].to, "no endpoint");
}

#[test]
fn without_nodes_everything_is_unknown() {
    let cluster = cluster(read(&[web("shop", "web", &[("n1", "zone-a")])]));
    let page = service(&cluster, "shop", "web", &Wish::default());
    assert!(page.sentence.starts_with("Where traffic goes is unknown"), "{}", page.sentence);
    assert_eq!((page.in_zone.value, page.unserved.value), (None, None));
}

#[test]
fn twelve_zones_are_a_matrix_and_a_table() {
    let zones: Vec<String> = (1..=12).map(|i| format!("zone-{i:02}")).collect();
    let nodes: String = zones.iter().map(|zone| node(&format!("n-{zone}"), zone)).collect();
    let names: Vec<String> = zones.iter().map(|zone| format!("n-{zone}")).collect();
    let endpoints: Vec<(&str, &str)> =
        names.iter().zip(&zones).map(|(node, zone)| (node.as_str(), zone.as_str())).collect();
    let cluster = cluster(read(&[nodes + &web("shop", "web", &endpoints)]));
    let page = service(&cluster, "shop", "web", &Wish::default());
    let Figure::Matrix { rows, columns, left_out, .. } = &page.figure else { panic!() };
    assert_eq!((rows.len(), columns.len(), *left_out), (12, 12, 0));
    assert_eq!((page.rows.len(), page.rows_left_out), (144, 0));
    assert!(page.marks <= MOST_MARKS);
    assert!(matches!(cluster.page().figure, Figure::Matrix { .. }));
}

#[test]
fn hostile_names_are_text() {
    let evil = "<script>alert(1)</script>";
    let turned = "zone-\u{202e}a";
    let text = node("n1", evil) + &node("n2", turned);
    let cluster = cluster(read(&[text + &web("shop", "web", &[("n1", evil), ("n2", turned)])]));
    let page = service(&cluster, "shop", "web", &Wish::default());
    let json = serde_json::to_string(&(&page, cluster.page())).unwrap();
    assert!(json.contains(evil), "names are kept, and the page shows them as text");
    let Figure::Ribbons { lanes, .. } = &page.figure else { panic!() };
    assert!(lanes.iter().all(|lane| !lane.label.contains('\u{202e}')), "{lanes:?}");
}

#[test]
fn five_thousand_services_are_within_the_bound() {
    let mut text: String =
        (0..300).map(|i| node(&format!("n{i}"), &format!("z{}", i % 3))).collect();
    for i in 0..5000 {
        text += &web("shop", &format!("s{i:04}"), &[("n0", "z0"), ("n1", "z1")]);
    }
    let cluster = cluster(read(&[text]));
    let page: ClusterPage = cluster.page();
    assert!(page.marks <= MOST_MARKS, "{}", page.marks);
    assert_eq!(page.services.len() + page.services_left_out, 5000);
    assert!(serde_json::to_string(&page).unwrap().len() < 200_000);
}
