//! What is there after a start on the same data.

use serde_json::Value;

use crate::process::{Up, evenkeel, folder, ran};

const SLICES: [&str; 3] = ["endpointslices", "-n", "shop"];

/// Names and versions of all slices of the sample.
fn versions(up: &Up) -> Vec<(String, String)> {
    let version = |slice: &Value| {
        let text = |field: &str| slice["metadata"][field].as_str().unwrap().to_owned();
        (text("name"), text("resourceVersion"))
    };
    up.get(&SLICES)["items"].as_array().unwrap().iter().map(version).collect()
}

/// How many endpoints a Service has in its slices.
fn n_endpoints(slices: &Value, service: &str) -> usize {
    let items = slices["items"].as_array().unwrap().iter();
    let of_service =
        |slice: &&Value| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service;
    let endpoints = items.filter(of_service).map(|slice| slice["endpoints"].as_array());
    endpoints.map(|endpoints| endpoints.map_or(0, Vec::len)).sum()
}

#[test]
fn the_next_start_continues_where_the_last_one_ended() {
    let here = folder("continues");
    let data = here.join(".evenkeel");
    let mut first = Up::in_folder(&data, &[]);
    first.explained();
    assert_eq!(first.kubeconfig, std::path::absolute(data.join("kubeconfig")).unwrap());
    assert_eq!(first.kubectl(&["delete", "service", "-n", "shop", "payments"]).code, 0);
    let gone = |seen: &Value| n_endpoints(seen, "payments") == 0;
    first.eventually(&SLICES, gone);
    let before = versions(&first);
    assert_eq!(first.stop("-INT").0, Some(0));

    let mut second = Up::in_folder(&data, &[]);
    second.explained();
    assert_eq!(versions(&second), before, "slices were written though nothing had changed");
    let services = second.kubectl(&["get", "services", "-n", "shop", "-o", "name"]);
    assert!(!services.out.contains("payments"), "the sample came back: {}", services.out);
    let status = ran(evenkeel(&["status"]).current_dir(&here));
    assert_eq!(status.code, 0, "{}{}", status.out, status.err);
    assert!(
        status.out.starts_with("kubeconfig: .evenkeel/kubeconfig (`evenkeel up` in this folder)\n"),
        "{}",
        status.out
    );
    assert_eq!(second.stop("-TERM").0, Some(0));
}

#[test]
fn after_a_kill_the_controller_leads_again_at_once() {
    let data = folder("killed");
    let mut first = Up::in_folder(&data, &[]);
    first.explained();
    drop(first);
    let mut second = Up::in_folder(&data, &[]);
    second.explained();
    let scaled = second.kubectl(&["scale", "deployment", "-n", "shop", "checkout", "--replicas=9"]);
    assert_eq!(scaled.code, 0, "{}", scaled.err);
    second.eventually(&SLICES, |seen| n_endpoints(seen, "checkout") == 9);
    assert_eq!(second.stop("-INT").0, Some(0));
}

#[test]
fn a_sample_that_was_cut_short_is_completed_by_the_next_start() {
    let data = folder("cut-short");
    // It is up, and about to create the sample.
    drop(Up::in_folder(&data, &[]));
    let mut second = Up::in_folder(&data, &[]);
    second.explained();
    second.eventually(&SLICES, |seen| n_endpoints(seen, "dns-cache") == 6);
    assert_eq!(second.stop("-INT").0, Some(0));
}
