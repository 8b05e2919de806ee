//! `envoy_accepts.jsonl` again: which load assignments Envoy accepts, and the hosts it then has.

use std::{collections::BTreeSet, env, fs, path::Path};

use evenkeel_testkit::envoy::Envoy;
use serde_json::{Value, json};

use crate::bootstrap::bootstrap;

fn recorded() -> Vec<Value> {
    let own =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/locality/envoy_accepts.jsonl");
    let text = fs::read_to_string(own).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Endpoint discovery from a file.
fn cluster(case: &Value, file: &Path) -> Value {
    json!({
        "name": case["id"],
        "type": "EDS",
        "eds_cluster_config": {
            "service_name": case["subscribed_name"],
            "eds_config": {"path_config_source": {"path": file}, "initial_fetch_timeout": "1s"},
        },
    })
}

fn response(case: &Value) -> String {
    let mut resource = case["load_assignment"].clone();
    resource["@type"] = json!("type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment");
    json!({"version_info": "1", "resources": [resource]}).to_string()
}

/// Port, priority, zone and weight, as recorded.
fn hosts(cluster: &Value) -> BTreeSet<String> {
    let hosts = cluster["host_statuses"].as_array().into_iter().flatten();
    let host = |host: &Value| {
        json!({
            "port": host["address"]["socket_address"]["port_value"],
            "priority": host["priority"].as_u64().unwrap_or(0),
            "zone": host["locality"]["zone"],
            "weight": host["weight"],
        })
    };
    hosts.map(|h| host(h).to_string()).collect()
}

#[test]
fn assignments_are_accepted_and_refused_as_recorded() {
    let cases = recorded();
    assert!(cases.len() >= 8);
    let folder = Folder::new();
    let mut clusters = Vec::new();
    for case in &cases {
        let file = folder.0.join(format!("{}.json", case["id"].as_str().unwrap()));
        fs::write(&file, response(case)).unwrap();
        clusters.push(cluster(case, &file));
    }
    // Envoy refuses subscriptions in the bootstrap without a node.
    let args = ["--service-node", "test", "--service-cluster", "test"];
    let envoy = Envoy::start_with(&bootstrap(&[], &clusters), &args);
    for case in &cases {
        let id = case["id"].as_str().unwrap();
        let count = |what: &str| envoy.stat(&format!("cluster.{id}.{what}"));
        let counts =
            || (count("update_success"), count("update_rejected") + count("update_failure"));
        let (accepted, refused) = envoy.wait_for(id, || Some(counts()).filter(|&c| c != (0, 0)));
        assert_eq!(accepted > 0 && refused == 0, case["accepted"].as_bool().unwrap(), "{id}");
        let expected = case["hosts"].as_array().unwrap().iter().map(Value::to_string);
        assert_eq!(hosts(&envoy.clusters()[id]), expected.collect(), "{id}");
    }
}

struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = env::temp_dir().join(format!("evenkeel-eds-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
