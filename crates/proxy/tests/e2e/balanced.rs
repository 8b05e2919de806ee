//! Balanced: zone shares that the controller computes, measured.

use std::{collections::BTreeMap, net::SocketAddr, thread};

use evenkeel_testkit::netns::{Namespace, Tally};
use serde_json::{Value, json};

use crate::{
    cluster::until,
    space::{Space, Target},
};

/// From each zone: with so many, 2 points are more than four standard deviations.
const CONNECTIONS: usize = 9_000;

/// Of each client zone, the parts of 1,000 that go to each zone.
pub(crate) type Table = BTreeMap<String, BTreeMap<String, f64>>;

fn balanced(space: &Space, more: Value) -> Target {
    let balanced = json!({"evenkeel.dev/traffic-distribution": "Balanced"});
    space.annotated("web", balanced, more)
}

/// The annotation, once its slices have `n` endpoints.
pub(crate) fn table(space: &Space, n: usize) -> Table {
    until("zone shares", || {
        let slices = space.slices("web");
        let endpoints: usize =
            slices.iter().map(|slice| slice.endpoints.iter().flatten().count()).sum();
        let annotations = slices.iter().filter_map(|slice| slice.metadata.annotations.as_ref());
        let text = annotations.filter_map(|all| all.get("evenkeel.dev/zone-shares")).next();
        match text {
            Some(text) if endpoints == n => serde_json::from_str(text).map_err(|e| e.to_string()),
            _ => Err(format!("{endpoints} endpoints, {text:?}")),
        }
    })
}

/// Connections of three clients of a zone at once.
fn measure(client: &Namespace, to: SocketAddr) -> Tally {
    let part = || client.http_many(to, CONNECTIONS / 3);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..3).map(|_| scope.spawn(part)).collect();
        let mut all = Tally::default();
        for part in parts {
            let Tally { answers, failures } = part.join().unwrap();
            all.answers.extend(answers);
            all.failures.extend(failures);
        }
        all
    })
}

/// Measured shares are within 2 points of the table.
fn is_as_told(zone: &str, tally: &Tally, row: &BTreeMap<String, f64>) -> Result<(), String> {
    let measured = tally.by_zone();
    let n = tally.answers.len() as f64;
    for other in ["zone-a", "zone-b", "zone-c"] {
        let told = row.get(other).copied().unwrap_or(0.0) / 10.0;
        let is = measured.get(other).copied().unwrap_or(0) as f64 * 100.0 / n;
        if (is - told).abs() > 2.0 {
            return Err(format!("{zone} to {other}: {is:.1} %, not {told:.1} %; {measured:?}"));
        }
    }
    Ok(())
}

#[test]
fn measured_shares_are_those_of_the_table_and_none_is_lost_when_a_zone_goes() {
    let space = Space::new("balanced");
    space.pods(&["a1", "a2", "b1", "c1"]);
    let web = balanced(&space, json!({}));
    let shares = table(&space, 4);
    let zones = [("zone-a", "a1"), ("zone-b", "b1"), ("zone-c", "c1")];
    // The rules of all nodes follow the table soon after.
    for (zone, client) in zones {
        until("rules", || {
            is_as_told_roughly(&space.client(client).http_many(web.http(), 200), &shares[zone])
        });
    }
    let before = zones.map(|(_, client)| counters(&space, client));
    for ((zone, client), before) in zones.into_iter().zip(before) {
        let tally = measure(space.client(client), web.http());
        assert_eq!((tally.answers.len(), tally.failures.len()), (CONNECTIONS, 0), "{zone}");
        is_as_told(zone, &tally, &shares[zone]).unwrap_or_else(|problem| panic!("{problem}"));
        let after = counters(&space, client);
        for (to, n) in tally.by_zone() {
            let counted = after.get(to).unwrap_or(&0) - before.get(to).unwrap_or(&0);
            // A connection whose first packet the kernel tracks anew counts again: few do.
            let (n, most) = (n as u64, n as u64 + n as u64 / 100);
            assert!((n..=most).contains(&counted), "{zone} to {to}: {counted} of {n}, {after:?}");
        }
    }

    let load = space.client("c1").load(evenkeel_testkit::netns::Protocol::Http, web.http(), 500);
    load.wait_for(50);
    space.remove(&["c1"]);
    let shares = table(&space, 3);
    until("rules", || {
        is_as_told_roughly(&space.client("c1").http_many(web.http(), 100), &shares["zone-c"])
    });
    let tally = load.stop_after(50);
    assert!(tally.failures.is_empty(), "{:?}", tally.failures);
    let tally = measure(space.client("c1"), web.http());
    assert_eq!((tally.answers.len(), tally.failures.len()), (CONNECTIONS, 0));
    is_as_told("zone-c", &tally, &shares["zone-c"]).unwrap_or_else(|problem| panic!("{problem}"));
}

fn is_as_told_roughly(tally: &Tally, row: &BTreeMap<String, f64>) -> Result<(), String> {
    let told: Vec<&str> = row.iter().filter(|(_, n)| **n > 0.0).map(|(zone, _)| &**zone).collect();
    let measured: Vec<&str> = tally.by_zone().into_keys().collect();
    if measured == told && tally.failures.is_empty() {
        Ok(())
    } else {
        Err(format!("{measured:?}"))
    }
}

/// Connections to port 80 by the zone of their endpoint, as the node's `/metrics` counts them.
fn counters(space: &Space, node: &str) -> BTreeMap<String, u64> {
    let text = space.cluster.metrics(&format!("node-{node}"));
    let mine = text.lines().filter(|line| {
        line.starts_with("evenkeel_service_connections_total{") && line.contains("balanced/web")
    });
    let mut counted = BTreeMap::new();
    for line in mine {
        let (_, rest) = line.split_once("to_zone=\"").unwrap();
        let (zone, rest) = rest.split_once('"').unwrap();
        let n: u64 = rest.split(' ').nth(1).unwrap().parse().unwrap();
        *counted.entry(zone.to_owned()).or_default() += n;
    }
    counted
}

/// Other controllers keep annotations that they don't know, so that the table may be old.
#[test]
fn a_table_on_a_slice_of_another_controller_is_ignored() {
    let space = Space::new("shares-by-hand");
    let web = balanced(&space, json!({"selector": null}));
    space.slice("web", &["a1", "b1", "c1"], |_| Value::Null);
    let rows = json!({"zone-a": {"zone-a": 1000}});
    space.annotate_slice("web", json!({"evenkeel.dev/zone-shares": rows.to_string()}));
    space.reaches(space.client("a1"), web.http(), &["a1", "b1", "c1"]);
}
