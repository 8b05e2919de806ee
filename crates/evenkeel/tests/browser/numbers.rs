//! The dashboard says what `evenkeel explain -o json` says.

use std::process::Command;

use serde_json::Value;

use crate::process::{evenkeel, folder, up};

/// Of the sample of `up`.
const SERVICES: [&str; 3] = ["cart", "checkout", "payments"];

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

#[test]
fn shares_are_those_of_explain() {
    let (_up, url, kubeconfig) = up();
    let jar = format!("{}/cookies", folder("numbers"));
    let (base, token) = url.split_once("/#token=").unwrap();
    let login = format!("{base}/api/login");
    let origin = format!("Origin: {base}");
    let args = ["-sf", "-c", &jar, "-H", &origin, "-d", token, &login];
    assert!(Command::new("curl").args(args).status().unwrap().success());
    for name in SERVICES {
        let page = get(base, &jar, &format!("/api/service?namespace=shop&name={name}"));
        let told = explain(&kubeconfig, name);
        println!("{}", serde_json::to_string_pretty(&told).unwrap());
        println!("{}", serde_json::to_string_pretty(&page["rows"]).unwrap());
    }
}
