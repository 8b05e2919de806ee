//! What the clusters are made of.

use futures_util::future::try_join_all;

use crate::load::{
    Failure,
    connection::{Connection, request},
    server::Server,
};

const CONNECTIONS: usize = 64;
const NODES: usize = 30;
const ZONES: usize = 3;
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
pub(crate) const SERVICES: &str = "/api/v1/namespaces/default/services";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Thirty Nodes, ten to each of three zones.
pub(crate) async fn create_nodes(server: &Server) -> Result<(), Failure> {
    let mut connection = server.connect().await?;
    for number in 0..NODES {
        let zone = number % ZONES;
        let node = format!(
            r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{number}","labels":{{"kubernetes.io/hostname":"node-{number}","topology.kubernetes.io/zone":"zone-{zone}"}}}}}}"#
        );
        connection.answer(&request("POST", "/api/v1/nodes", JSON, &node)).await?;
        let status = r#"{"status":{"allocatable":{"cpu":"8"},"capacity":{"cpu":"8"},"conditions":[{"type":"Ready","status":"True"}]}}"#;
        let path = format!("/api/v1/nodes/node-{number}/status");
        connection.answer(&request("PATCH", &path, MERGE, status)).await?;
    }
    Ok(())
}

/// Ready Pods; `app` says to which Service each belongs.
pub(crate) async fn create_pods(
    server: &Server,
    number: usize,
    app: impl Fn(usize) -> usize + Copy,
) -> Result<(), Failure> {
    let shares = (0..CONNECTIONS).map(|share| async move {
        let mut connection = server.connect().await?;
        for pod in (share..number).step_by(CONNECTIONS) {
            connection.answer(&request("POST", PODS, JSON, &new_pod(pod, app(pod)))).await?;
            set_ready(&mut connection, pod, true).await?;
        }
        Ok::<(), Failure>(())
    });
    try_join_all(shares).await.map(drop)
}

/// Services 0 to `number`, every third of which asks for traffic to stay in its zone.
pub(crate) async fn create_services(server: &Server, number: usize) -> Result<(), Failure> {
    let shares = (0..CONNECTIONS).map(|share| async move {
        let mut connection = server.connect().await?;
        for service in (share..number).step_by(CONNECTIONS) {
            let policy = service.is_multiple_of(3);
            create_service(&mut connection, &format!("service-{service}"), service, policy).await?;
        }
        Ok::<(), Failure>(())
    });
    try_join_all(shares).await.map(drop)
}

pub(crate) async fn create_service(
    connection: &mut Connection,
    name: &str,
    app: usize,
    policy: bool,
) -> Result<(), Failure> {
    let policy = if policy { r#","trafficDistribution":"PreferSameZone""# } else { "" };
    let service = format!(
        r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"{name}"}},"spec":{{"selector":{{"app":"app-{app}"}},"ports":[{{"name":"http","port":80,"targetPort":8080}}]{policy}}}}}"#
    );
    connection.answer(&request("POST", SERVICES, JSON, &service)).await.map(drop)
}

/// What a kubelet writes.
pub(crate) async fn set_ready(
    connection: &mut Connection,
    pod: usize,
    ready: bool,
) -> Result<(), Failure> {
    let (status, address) = (if ready { "True" } else { "False" }, address(pod));
    let patch = format!(
        r#"{{"status":{{"phase":"Running","hostIP":"192.0.2.1","podIP":"{address}","podIPs":[{{"ip":"{address}"}}],"startTime":"2026-01-01T00:00:00Z","conditions":[{{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}},{{"type":"Initialized","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}},{{"type":"ContainersReady","status":"{status}","lastTransitionTime":"2026-01-01T00:00:00Z"}},{{"type":"Ready","status":"{status}","lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}}"#
    );
    let path = format!("{PODS}/pod-{pod}/status");
    connection.answer(&request("PATCH", &path, MERGE, &patch)).await.map(drop)
}

pub(crate) fn address(pod: usize) -> String {
    format!("10.{}.{}.{}", 128 + pod / 62_500, pod / 250 % 250, pod % 250 + 1)
}

fn new_pod(pod: usize, app: usize) -> String {
    let node = pod % NODES;
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{pod}","labels":{{"app":"app-{app}","pod-template-hash":"5d9c7b6f4"}},"annotations":{{"checksum/config":"0123456789abcdef"}}}},"spec":{{"nodeName":"node-{node}","containers":[{{"name":"main","image":"registry.example/app:1.0","ports":[{{"name":"http","containerPort":8080}}],"env":[{{"name":"LEVEL","value":"info"}}],"resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"memory":"256Mi"}}}},"readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}}}}}}]}}}}"#
    )
}
