//! The layer around a real tonic server: its health service, called by its real client.

use std::{error::Error, time::Duration};

use tokio::net::TcpListener;
use tonic::{
    Code,
    transport::{Channel, Server, server::TcpIncoming},
};
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};
use tower_fairness::{FairnessLayer, evenkeel_fairness::dialect};

/// One seat, and nobody waits.
const CONFIG: &str = "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: all}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 1000, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: all}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: all}
  rules:
  - subjects: [{kind: Group, group: {name: '*'}}]
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]
";

async fn serve() -> Result<HealthClient<Channel>, Box<dyn Error>> {
    let compiled = dialect::load("tonic.yaml", CONFIG).compile();
    let layer = FairnessLayer::new(compiled.expect("it is valid").config, 1)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (_, health) = tonic_health::server::health_reporter();
    let server = Server::builder().layer(layer).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let channel = Channel::from_shared(format!("http://{address}"))?;
    Ok(HealthClient::new(channel.connect().await?))
}

#[tokio::test]
async fn calls_are_served_and_those_that_are_too_many_are_told_so() {
    let mut client = serve().await.unwrap();
    let request = || HealthCheckRequest { service: String::new() };
    client.check(request()).await.unwrap();

    // A stream keeps its seat until it ends.
    let mut watch = client.watch(request()).await.unwrap().into_inner();
    watch.message().await.unwrap().expect("the health as it is now");
    let rejected = client.check(request()).await.unwrap_err();
    assert_eq!(rejected.code(), Code::ResourceExhausted, "{rejected:?}");
    assert!(rejected.metadata().contains_key("grpc-retry-pushback-ms"), "{rejected:?}");

    drop(watch);
    let served = async { while client.check(request()).await.is_err() {} };
    tokio::time::timeout(Duration::from_secs(10), served).await.expect("the seat is free again");
}
