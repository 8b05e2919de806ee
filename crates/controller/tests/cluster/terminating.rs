//! A namespace that is being deleted.

use std::{net::SocketAddr, time::Duration};

use evenkeel_controller::Settings;
use k8s_openapi::api::{
    core::v1::{Namespace, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{
    harness::{Cluster, PATIENCE, controller, object},
    kep_2433::settings,
};

/// Nothing can be created in it: that is no failed sync, as in Kubernetes, and is not retried.
#[tokio::test]
async fn slices_that_cannot_be_created_in_it_are_no_failure() {
    let cluster = Cluster::without_housekeeping().await;
    let settings = Settings { listen: Some("127.0.0.1:0".parse().unwrap()), ..settings(|_| {}) };
    let (controller, ready) = controller(cluster.client.clone(), settings).await;
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    let ending = object(json!({"metadata": {"name": "ending"}}));
    namespaces.create(&PostParams::default(), &ending).await.unwrap();
    let services: Api<Service> = Api::namespaced(cluster.client.clone(), "ending");
    let web = object(json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }));
    services.create(&PostParams::default(), &web).await.unwrap();
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.client.clone(), "ending");
    let slice = first(&slices).await;

    namespaces.delete("ending", &DeleteParams::default()).await.unwrap();
    slices.delete(&slice, &DeleteParams::default()).await.unwrap();
    let admin = ready.admin.unwrap();
    let refused =
        r#"evenkeel_controller_writes_total{action="create",outcome="namespace_terminating"} 1"#;
    let begun = std::time::Instant::now();
    let metrics = loop {
        let metrics = metrics(admin).await;
        if metrics.contains(refused) {
            break metrics;
        }
        assert!(begun.elapsed() < PATIENCE, "{metrics}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert!(!metrics.contains(r#"endpoint_slice_controller_syncs{result="error"}"#), "{metrics}");
    assert!(slices.list(&ListParams::default()).await.unwrap().items.is_empty());
    controller.stop().await;
    cluster.stop().await;
}

/// The name of the slice that comes.
async fn first(slices: &Api<EndpointSlice>) -> String {
    let begun = std::time::Instant::now();
    loop {
        if let Some(slice) = slices.list(&ListParams::default()).await.unwrap().items.first() {
            return slice.name_any();
        }
        assert!(begun.elapsed() < PATIENCE, "no slice comes");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn metrics(admin: SocketAddr) -> String {
    let mut stream = tokio::net::TcpStream::connect(admin).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}
