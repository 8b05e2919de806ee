//! The dashboard says what `evenkeel explain -o json` says.

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

use crate::process::{evenkeel, folder, up};

/// Of the sample of `up`; those of which each zone's clients are told alike.
const SERVICES: [&str; 4] = ["web", "cart", "checkout", "payments"];

/// By zones of clients and of endpoints.
type Shares = BTreeMap<(String, String), f64>;

/// An answer of the dashboard, with the cookie of whoever signed in.
fn get(base: &str, jar: &str, path: &str) -> Value {
    let url = format!("{base}{path}");
    let output = Command::new("curl").args(["-sf", "-b", jar, &url]).output().unwrap();
    assert!(output.status.success(), "{path}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn explain(kubeconfig: &str, name: &str) -> Value {
    let args = ["explain", name, "-n", "shop", "-o", "json", "--kubeconfig", kubeconfig];
    let output = evenkeel(&args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What is drawn and listed.
fn shown(page: &Value) -> Shares {
    let rows = page["rows"].as_array().unwrap().iter();
    let share = |row: &Value| row["share"]["value"].as_f64().unwrap();
    rows.map(|row| ((text(&row["from"]), text(&row["to"])), share(row))).collect()
}

/// The sums over the endpoints of each zone.
fn told(explanation: &Value) -> Shares {
    let mut shares = Shares::new();
    for view in explanation["families"][0]["views"].as_array().unwrap() {
        for used in view["uses"].as_array().unwrap() {
            let pair = (text(&view["zone"]), text(&used["zone"]));
            *shares.entry(pair).or_default() += used["share"].as_f64().unwrap();
        }
    }
    shares
}

#[test]
fn shares_are_those_of_explain() {
    let (_up, url, kubeconfig) = up(&[]);
    let jar = format!("{}/cookies", folder("numbers"));
    let (base, token) = url.split_once("/#token=").unwrap();
    let (login, origin) = (format!("{base}/api/login"), format!("Origin: {base}"));
    let args = ["-sf", "-c", &jar, "-H", &origin, "-d", token, &login];
    assert!(Command::new("curl").args(args).status().unwrap().success());
    for name in SERVICES {
        let page = get(base, &jar, &format!("/api/service?namespace=shop&name={name}"));
        let (shown, told) = (shown(&page), told(&explain(&kubeconfig, name)));
        assert!(!told.is_empty() && shown.keys().eq(told.keys()), "{name}: {shown:?} {told:?}");
        for (pair, share) in &told {
            assert!((shown[pair] - share).abs() < 1e-9, "{name}: {shown:?} {told:?}");
        }
    }
}
