//! The sample, once it has grown.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::process::{Up, folder, ran, shell};

/// All endpoints of a Service.
fn endpoints(up: &Up, service: &str) -> Vec<Value> {
    let label = format!("kubernetes.io/service-name={service}");
    let slices = up.get(&["endpointslices", "-n", "shop", "-l", &label]);
    let of = |slice: &Value| slice["endpoints"].as_array().cloned().unwrap_or_default();
    slices["items"].as_array().unwrap().iter().flat_map(of).collect()
}

/// How many endpoints are hinted for each zone.
fn hinted(endpoints: &[Value]) -> BTreeMap<&str, usize> {
    let mut zones = BTreeMap::new();
    for endpoint in endpoints {
        for zone in endpoint["hints"]["forZones"].as_array().into_iter().flatten() {
            *zones.entry(zone["name"].as_str().unwrap()).or_default() += 1;
        }
    }
    zones
}

#[test]
fn the_sample_is_explained_and_its_slices_have_the_hints_that_were_asked_for() {
    let mut up = Up::start(&["--ephemeral"]);
    let said = up.explained();
    for words in [
        "evenkeel is up",
        "https://127.0.0.1:",
        "export KUBECONFIG=",
        "shop/cart: policy Auto",
        "IPv4: 2 endpoints, 2 ready",
    ] {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    let web = endpoints(&up, "web");
    assert_eq!(hinted(&web), [("zone-a", 3), ("zone-b", 2), ("zone-c", 1)].into());
    let checkout = endpoints(&up, "checkout");
    assert_eq!(hinted(&checkout), [("zone-a", 2), ("zone-b", 2), ("zone-c", 2)].into());
    for endpoint in &checkout {
        assert_eq!(endpoint["hints"], json!({"forZones": [{"name": endpoint["zone"]}]}));
    }
    let nearest = endpoints(&up, "dns-cache");
    assert_eq!(nearest.len(), 6);
    for endpoint in &nearest {
        let hints = &endpoint["hints"];
        assert_eq!(hints["forNodes"], json!([{"name": endpoint["nodeName"]}]), "{endpoint}");
        assert_eq!(hints["forZones"], json!([{"name": endpoint["zone"]}]), "{endpoint}");
    }
    for service in ["cart", "payments"] {
        assert_eq!(hinted(&endpoints(&up, service)), BTreeMap::new(), "{service}");
    }
    assert_eq!(up.stop("-INT").0, Some(0));
}

/// With data in another folder than the default, so that commands must name the kubeconfig.
#[test]
fn the_commands_it_prints_can_be_copied() {
    let data = folder("copied");
    let mut up = Up::in_folder(&data, &[]);
    let said = up.explained().to_owned();
    let explain = said.lines().find_map(|line| line.strip_prefix("$ ")).unwrap();
    assert!(explain.contains(" explain cart -n shop --kubeconfig "), "{explain}");
    let explained = ran(&mut shell(explain));
    assert_eq!(explained.code, 0, "{explain}: {}", explained.err);
    let (_, tried) = said.split_once("TRY (in another shell)\n").unwrap();
    let script: Vec<&str> = tried.lines().take_while(|line| line.starts_with("  ")).collect();
    let copied = ran(&mut shell(&script.join("\n")));
    assert_eq!(copied.code, 0, "{script:?}: {}{}", copied.out, copied.err);
    assert!(copied.out.contains("payments") && copied.out.contains(" checks: 0 failed"));
    let (code, errors) = up.stop("-INT");
    assert_eq!(code, Some(0));
    assert!(errors.contains("Shutting down; press Ctrl-C again to force"), "{errors}");
}

#[test]
fn the_service_in_trouble_says_so_and_status_lists_it() {
    let mut up = Up::start(&["--ephemeral"]);
    up.explained();
    let cart = up.get(&["service", "-n", "shop", "cart"]);
    let conditions = cart["status"]["conditions"].as_array().unwrap();
    let programmed =
        conditions.iter().find(|one| one["type"] == "TrafficDistributionProgrammed").unwrap();
    assert_eq!(programmed["status"], "False", "{cart:#}");
    let disabled =
        ["events", "-n", "shop", "--field-selector", "reason=TopologyAwareHintsDisabled"];
    let events = up
        .eventually(&disabled, |seen| seen["items"].as_array().is_some_and(|all| !all.is_empty()));
    assert_eq!(events["items"][0]["involvedObject"]["name"], "cart");

    let explained = up.evenkeel(&["explain", "web", "-n", "shop"]);
    assert_eq!(explained.code, 0, "{}", explained.err);
    assert!(explained.out.contains("all endpoints have hints"), "{}", explained.out);

    let status = up.evenkeel(&["status"]);
    assert_eq!(status.code, 0, "{}{}", status.out, status.err);
    for words in [
        "√ ready nodes are in 3 zones",
        "√ evenkeel-up is leader",
        "√ all 5 Services with a selector have EndpointSlices",
        "‼ shop/cart: TrafficDistributionProgrammed is False",
        "√ 0 of ",
    ] {
        assert!(status.out.contains(words), "{words}: {}", status.out);
    }
    assert!(!status.out.contains("of 0 syncs failed"), "none was counted: {}", status.out);
    assert_eq!(up.stop("-TERM").0, Some(0));
}

#[test]
fn without_a_sample_the_cluster_is_empty() {
    let up = Up::start(&["--ephemeral", "--sample", "none"]);
    let namespaces = up.kubectl(&["get", "namespaces", "-o", "name"]);
    assert_eq!(namespaces.code, 0, "{}", namespaces.err);
    assert!(!namespaces.out.contains("shop"), "{}", namespaces.out);
    assert_eq!(up.stop("-INT").0, Some(0));
}
