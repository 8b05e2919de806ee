//! `drill` without a cluster: forecasts from files, and what it refuses.

use std::{fs, path::Path};

use serde_json::Value;

use crate::run::{evenkeel, golden, on_example};

#[test]
fn on_files_it_forecasts_what_plan_forecasts() {
    golden("drill.txt", &on_example(&["drill", "--lose", "zone-a"]));
    let json = |args: &[&str]| -> Value { serde_json::from_str(&on_example(args)).unwrap() };
    let drill = json(&["drill", "--lose", "zone-a", "--service", "web", "-o", "json"]);
    let plan = json(&["plan", "web", "-o", "json"]);
    let forecasts = &plan["services"][0];
    let mut policies = forecasts["policies"].as_array().unwrap().iter();
    let current = policies.find(|one| one["policy"] == forecasts["current"]).unwrap();
    let mut lost = current["zoneLost"].as_array().unwrap().iter();
    let lost = lost.find(|one| one["zone"] == "zone-a").unwrap();
    for figure in ["maxLoad", "inZoneShare", "unservedShare"] {
        assert_eq!(drill["services"][0]["forecast"][figure], lost[figure], "{figure}");
    }
    assert_eq!(drill["measured"], false);
}

#[test]
fn what_cannot_be_done_is_refused() {
    let alone = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drill-alone.yaml");
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {topology.kubernetes.io/zone: zone-a}}\n\
                status: {conditions: [{type: Ready, status: STATUS}]}\n";
    fs::write(&alone, node.replace("STATUS", "\"True\"")).unwrap();
    let unready = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drill-unready.yaml");
    fs::write(&unready, node.replace("STATUS", "\"False\"")).unwrap();
    let (alone, unready) = (alone.to_str().unwrap(), unready.to_str().unwrap());
    let example = ["-f", "examples/three-zones", "-n", "shop"];
    let on_example = |args: &[&'static str]| [&["--lose", "zone-a"], args, &example].concat();
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (vec![], "--lose <ZONE>"),
        ([&["--lose", "zone-x"], &example[..]].concat(), "there are: zone-a, zone-b, zone-c"),
        ([&["--lose", ""], &example[..]].concat(), "there is no zone \"\""),
        (vec!["--lose", "zone-a", "-f", alone], "zone-a is the only zone with ready Nodes"),
        (vec!["--lose", "zone-a", "-f", unready], "no Node of zone-a is ready"),
        (on_example(&["--for", "0s"]), "not from 1s to 10m"),
        (on_example(&["--for", "1h"]), "not from 1s to 10m"),
        (on_example(&["--for", "soon"]), "soon"),
        (on_example(&["--rate", "0"]), "1..=500"),
        (on_example(&["--rate", "501"]), "1..=500"),
        (on_example(&["--fail-under", "101"]), "not from 0 to 100"),
        (on_example(&["--fail-under", "most"]), "not a number"),
        (on_example(&["--report", "drill.pdf"]), "neither in .html nor in .svg"),
        (on_example(&["--report", "drill"]), "neither in .html nor in .svg"),
        (on_example(&["--service", "pod/web"]), "is not a Service"),
        (on_example(&["--service", "nope"]), "there is no Service \"nope\""),
        (on_example(&["-o", "wide"]), "possible values: table, json"),
        (on_example(&["--context", "x"]), "cannot be used with"),
    ];
    for (args, part) in cases {
        let ran = evenkeel(&[&["drill"], &args[..]].concat(), b"");
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{args:?}: {part:?} is not in {}", ran.stderr);
    }
    assert!(!Path::new("drill.pdf").exists());
}
