//! View models of the pages about the mesh, compared with `tests/golden`, and what lies do to them.
//!
//! `tests/said/inspect.json` is what the control plane of `evenkeel up --mesh` answered. `UPDATE_GOLDEN=1`
//! accepts what differs.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{env, fs, path::Path};

use evenkeel_dashboard::view::{
    Basis, MOST_MARKS,
    mesh::{
        self, Inspection, Mesh, MeshPage, Overview, Policies, Propagation, Proxies, ProxyPage,
        Shape,
    },
};
use serde::Serialize;
use serde_json::{Value, json};

const INSPECT: &str = include_str!("said/inspect.json");

fn golden(name: &str, page: &impl Serialize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let got = serde_json::to_string_pretty(page).unwrap() + "\n";
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &got).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expected, "{name} differs; UPDATE_GOLDEN=1 accepts it");
}

fn overview(proxies: &Value, propagation: &Value, policies: &Value) -> Overview {
    let mesh = Mesh {
        proxies: mesh::parse(&proxies.to_string()).unwrap(),
        propagation: mesh::parse(&propagation.to_string()).unwrap(),
        policies: mesh::parse(&policies.to_string()).unwrap(),
    };
    let MeshPage::Known(page) = mesh::page(&mesh) else { panic!() };
    *page
}

fn of_proxies(proxies: &Value) -> Overview {
    overview(proxies, &json!({"changes": []}), &json!({"policies": []}))
}

fn inspected(text: &str, cluster: Option<&str>) -> ProxyPage {
    let inspection: Inspection = mesh::parse(text).unwrap();
    mesh::proxy(("default", "client-a.shop"), &inspection, &Proxies::default(), cluster)
}

fn peer(name: &str, eds: &Value) -> Value {
    json!({
        "mesh": "default", "dataplane": name, "hasDataplane": true, "protocol": "delta",
        "node": {"id": name, "cluster": "c", "zone": "zone-a", "metadata": {}},
        "connectedAt": 1_000_000_000.5, "oldestUnacknowledgedChange": null,
        "types": {"CDS": {"state": "SYNCED", "resources": 2}, "EDS": eds, "RDS": {"state": "NOT_REQUESTED"}},
    })
}

fn synced() -> Value {
    json!({"state": "SYNCED", "acknowledgedAt": 1_000_000_001.0, "resources": 2})
}

fn nacked(message: &str) -> Value {
    json!({"state": "NACKED", "since": 1_000_000_002.0, "message": message, "rejected": ["backend"]})
}

fn change(id: u64, acked: u32) -> Value {
    let stage =
        |streams: u32| json!({"streams": streams, "p50": 3.21, "p99": 42.0, "longest": 50.0});
    json!({
        "id": id, "what": "Dataplane default/b1", "ageSeconds": 75.0, "computed": 0.4, "streams": 3,
        "sent": stage(3), "acknowledged": stage(acked), "rejected": 1, "notConcerned": 0, "behind": 2 - acked,
    })
}

#[test]
fn the_page_of_a_mesh_with_trouble() {
    let mut behind = peer("web-3", &json!({"state": "STALE", "since": 1_000_000_003.0}));
    behind["oldestUnacknowledgedChange"] = json!(2);
    let mut stray = peer("stray", &synced());
    stray["hasDataplane"] = json!(false);
    let proxies = json!({
        "proxies": [peer("web-1", &synced()), peer("web-2", &nacked("weight: bad")), behind, stray],
        "notConnected": [{"mesh": "default", "name": "web-4"}],
    });
    let key = json!({"mesh": "default", "kind": "MeshLoadBalancingStrategy", "name": "backend"});
    let mut policy = key.clone();
    policy["targetRef"] = json!({"kind": "MeshSubset", "tags": {"version": "2"}});
    policy["to"] = json!([{
        "targetRef": {"kind": "MeshService", "name": "backend", "sectionName": "http"},
        "sets": ["localityAwareness.disabled: true"],
    }]);
    let policies = json!({
        "policies": [policy],
        "findings": [{
            "policy": key, "to": 0, "severity": "warning", "finding": {}, "message": "rules are ignored",
            "advice": "remove the rules",
        }],
        "invalid": [{"origin": "a.yaml", "document": 2, "field": "spec.to", "message": "must be a list",
            "lastGoodInForce": true}],
    });
    let page = overview(&proxies, &json!({"changes": [change(2, 0), change(1, 2)]}), &policies);
    assert_eq!(
        page.sentence,
        "1 of 4 proxies rejected its last configuration: default/web-2: EDS (backend): weight: bad."
    );
    golden("mesh.json", &page);
}

#[test]
fn the_page_of_a_proxy_of_the_sample() {
    golden("mesh_proxy.json", &inspected(INSPECT, None));
}

#[test]
fn figures_are_those_of_inspect() {
    let said: Value = serde_json::from_str(INSPECT).unwrap();
    let page = inspected(INSPECT, None);
    for (to, shown) in said["destinations"].as_array().unwrap().iter().zip(&page.destinations) {
        let mut shares: Vec<f64> = to["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|group| group["share"].as_f64().unwrap())
            .collect();
        let mut ours: Vec<f64> =
            shown.groups.iter().map(|group| group.share.value.unwrap()).collect();
        shares.sort_by(f64::total_cmp);
        ours.sort_by(f64::total_cmp);
        assert_eq!(ours, shares, "{}", shown.label);
        assert_eq!(shown.errors.value, to["errors"].as_f64());
        assert_eq!(shown.lost.len(), to["withoutZone"].as_object().unwrap().len());
        assert!(shown.groups.iter().all(|group| group.share.basis == Basis::Predicted));
    }
    let lost: Vec<&str> = page.destinations[0].lost.iter().map(|lost| lost.to.as_str()).collect();
    assert_eq!(lost, ["zone-b 100 %", "zone-a 100 %", "zone-a 100 %"]);
    assert_eq!(
        page.sentence,
        "33.3 % of the requests to web_shop_svc_80 go to other zones; no proxy is connected that would be told this."
    );
}

#[test]
fn one_destination_can_be_shown_alone() {
    let page = inspected(INSPECT, Some("web_shop_svc_80"));
    assert_eq!((page.destinations.len(), page.destinations_left_out, page.rows.len()), (1, 1, 2));
    assert_eq!(page.destinations[0].label, "web_shop_svc_80");
    assert_eq!(inspected(INSPECT, Some("nothing")).destinations.len(), 0);
}

#[test]
fn the_first_sentence_says_how_the_proxies_are() {
    let missing =
        |n: usize| Value::from_iter((0..n).map(|n| json!({"mesh": "m", "name": format!("d{n}")})));
    let stale = json!({"state": "STALE", "since": 1.0});
    let cases = [
        (json!({}), "Which proxies are connected is unknown: the control plane did not say."),
        (
            json!({"proxies": [], "notConnected": []}),
            "There is no Dataplane, and no proxy is connected.",
        ),
        (
            json!({"proxies": [], "notConnected": missing(7)}),
            "No proxy is connected: 7 Dataplanes wait for one.",
        ),
        (json!({"proxies": [peer("a", &synced())]}), "The only proxy has what it should have."),
        (
            json!({"proxies": [peer("a", &synced()), peer("b", &synced())]}),
            "All 2 proxies have what they should have.",
        ),
        (
            json!({"proxies": [peer("a", &synced()), peer("b", &synced())], "notConnected": missing(1)}),
            "All 2 proxies connected have what they should have; 1 Dataplane has no proxy connected.",
        ),
        (
            json!({"proxies": [peer("a", &stale), peer("b", &synced())]}),
            "1 of 2 proxies has not acknowledged its last configuration.",
        ),
        (
            json!({"proxies": [peer("a", &json!({"state": "MAYBE"})), peer("b", &json!({}))]}),
            "Whether 2 of 2 proxies have what they should have is unknown.",
        ),
        (
            json!({"proxies": [{"mesh": "m", "dataplane": "d"}]}),
            "Whether 1 of 1 proxy has what they should have is unknown.",
        ),
    ];
    for (proxies, sentence) in cases {
        assert_eq!(of_proxies(&proxies).sentence, sentence, "{proxies}");
    }
}

#[test]
fn what_a_peer_leaves_out_is_unknown_and_never_zero() {
    let page = inspected(r#"{"destinations": [{"cluster": "backend"}]}"#, None);
    assert_eq!(page.sentence, "Whether requests stay in the zone is unknown for 1 destination.");
    let to = &page.destinations[0];
    assert_eq!((to.errors.text.as_str(), to.client.as_str()), ("unknown", "unknown"));
    assert!(to.shares.is_none() && to.lanes.is_none());
    let lies = json!({"destinations": [{
        "cluster": "backend", "errors": -1.0, "place": {"zone": "a"},
        "groups": [{"priority": 0, "zone": "a", "share": 7.5}, {"priority": 0, "zone": "b", "share": null}],
        "withoutZone": {"a": {"groups": [{"priority": 0, "zone": "b", "share": 1e300}]}},
    }]});
    let to = &inspected(&lies.to_string(), None).destinations[0];
    assert!(to.groups.iter().all(|group| group.share.text == "unknown"));
    assert_eq!((to.errors.text.as_str(), to.lost[0].to.as_str()), ("unknown", "b unknown"));
    let said = overview(&json!({"proxies": []}), &json!({"changes": [{"id": 1}]}), &json!({}));
    assert_eq!(said.propagation.rows[0].behind, "unknown");
    assert!(said.policies.note.unwrap().contains("unknown"));
}

#[test]
fn what_is_not_of_a_control_plane_is_refused() {
    let long = format!(r#"{{"proxies": "{}"}}"#, "x".repeat(1 << 20));
    for text in ["", "<html>", r#"{"proxies": 3}"#, r#"{"proxies": [{"mesh": 1}]}"#, &long] {
        let problem = mesh::parse::<Proxies>(text).unwrap_err();
        assert!(problem.len() < 300, "{problem}");
    }
    assert!(mesh::parse::<Inspection>(r#"{"error": "no"}"#).is_err());
    assert!(mesh::parse::<Propagation>(r#"{"changes": [{"id": -1}]}"#).is_err());
    assert!(mesh::parse::<Policies>(r#"{"policies": {}}"#).is_err());
}

#[test]
fn hostile_names_and_messages_are_text_and_bounded() {
    let evil = "<script>alert(1)</script>";
    let turned = "zone-\u{202e}a";
    let mut bad = peer(evil, &nacked(&"\u{202e}<b>".repeat(1 << 18)));
    bad["node"]["zone"] = json!(turned);
    let page = of_proxies(&json!({"proxies": [bad]}));
    let json = serde_json::to_string(&page).unwrap();
    assert!(json.contains(evil), "names are kept, and the page shows them as text");
    assert!(!json.contains('\u{202e}') && json.len() < 10_000, "{}", json.len());
    let text = INSPECT
        .replace("zone-a", turned)
        .replace("zone-b", evil)
        .replace("backend", &"ä".repeat(1 << 16));
    let page = inspected(&text, None);
    let shown = serde_json::to_string(&page.destinations).unwrap();
    assert!(!shown.contains('\u{202e}') && shown.len() < 60_000, "{}", shown.len());
}

#[test]
fn twelve_thousand_proxies_are_within_the_bound() {
    let peers: Vec<Value> = (0..12_000).map(|n| peer(&format!("p{n:05}"), &synced())).collect();
    let changes: Vec<Value> = (0..256).map(|n| change(500 - n, 2)).collect();
    let policy = |n| {
        let to = json!([{"targetRef": {"kind": "Mesh"}, "sets": ["a: 1"]}]);
        json!({"mesh": "m", "kind": "k", "name": format!("p{n}"), "targetRef": {"kind": "Mesh"}, "to": to})
    };
    let policies: Vec<Value> = (0..3000).map(policy).collect();
    let page = overview(
        &json!({"proxies": peers}),
        &json!({"changes": changes}),
        &json!({"policies": policies}),
    );
    assert!(page.marks <= MOST_MARKS, "{}", page.marks);
    assert_eq!(page.proxies.len() + page.proxies_left_out, 12_000);
    assert_eq!(page.policies.rows.len() + page.policies.rows_left_out, 3000);
    assert_eq!(page.propagation.rows.len() + page.propagation.rows_left_out, 256);
    assert!(serde_json::to_string(&page).unwrap().len() < 200_000);
}

#[test]
fn a_thousand_destinations_with_a_thousand_localities_are_within_the_bound() {
    let group = |n: usize| {
        json!({"priority": n / 50, "zone": format!("z{n}"), "share": 0.001, "weight": n % 50 + 1,
        "endpoints": [{"health": "HEALTHY"}, {"health": "UNHEALTHY"}]})
    };
    let groups: Vec<Value> = (0..1200).map(group).collect();
    let lost: serde_json::Map<String, Value> =
        (0..40).map(|n| (format!("z{n}"), json!({"groups": [group(n)], "errors": 0.5}))).collect();
    let to = |n: usize| {
        json!({"cluster": format!("c{n}"), "place": {"zone": "z1"}, "errors": 0.0,
        "groups": if n < 3 { groups.clone() } else { vec![group(n)] }, "withoutZone": lost})
    };
    let said = json!({"destinations": (0..1000).map(to).collect::<Vec<_>>()});
    let page = inspected(&said.to_string(), None);
    assert!(page.marks <= MOST_MARKS, "{}", page.marks);
    assert!(page.destinations.len() > 1);
    assert_eq!(page.destinations.len() + page.destinations_left_out, 1000);
    assert_eq!(page.rows.len() + page.rows_left_out, 1000);
    let lanes = page.destinations[0].lanes.as_ref().unwrap();
    for shape in &lanes.shapes {
        if let Shape::Rect { x, y, width, height, .. } = shape {
            assert!(
                *width > 0.0 && x + width <= lanes.width && y + height <= lanes.height,
                "{shape:?}"
            );
        }
    }
    assert_eq!(page.destinations[0].groups[0].healthy, "1 of 2");
}
