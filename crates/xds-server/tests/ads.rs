//! Streams over real sockets, in both variants.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod plane;

use envoy_types::pb::envoy::{
    config::cluster::v3::Cluster,
    service::discovery::v3::{DeltaDiscoveryRequest, DiscoveryRequest},
};
use evenkeel_xds::ResourceType;
use evenkeel_xds_server::{Settings, prepare};
use plane::{
    DeltaClient, Plane, SotwClient, accept, ask, breaker, client, node, server, soon, subscribe,
};
use prost::Message as _;
use serde_json::{Value, json};
use tonic::Code;

fn mesh() -> Vec<Value> {
    vec![
        server("s1", "web", 1, true),
        server("s2", "db", 2, true),
        client("of-web", &["web"]),
        client("of-db", &["db"]),
        client("of-both", &["web", "db"]),
    ]
}

fn url(kind: ResourceType) -> &'static str {
    kind.type_url()
}

#[tokio::test]
async fn a_change_reaches_its_dependants_and_nobody_else() {
    let mut plane = Plane::start(mesh()).await;
    let address = plane.ready.listen;
    let mut of_web = DeltaClient::settled(address, "default.of-web").await;
    let mut of_db = DeltaClient::settled(address, "default.of-db").await;
    plane.apply(server("s1", "web", 1, false));
    let news = of_web.take().await;
    assert_eq!((&*news.type_url, news.resources.len()), (url(ResourceType::Endpoint), 1));
    // Had the other one been told, this would not come first.
    plane.apply(server("s3", "db", 3, true));
    let news = of_db.take().await;
    assert_eq!((&*news.type_url, news.resources.len()), (url(ResourceType::Endpoint), 1));
    assert!(news.resources[0].name.contains("db"), "{}", news.resources[0].name);
    let acknowledged = |value: &Value| {
        let changes = value["changes"].as_array().unwrap();
        changes.len() == 2
            && changes
                .iter()
                .all(|change| change["acknowledged"]["streams"] == 1 && change["behind"] == 0)
    };
    plane.until("/mesh/propagation", acknowledged).await;
    plane.stop().await;
}

#[tokio::test]
async fn a_rejection_is_shown_and_does_not_wedge_the_stream() {
    let mut plane = Plane::start(mesh()).await;
    let mut proxy = DeltaClient::settled(plane.ready.listen, "default.of-web").await;
    plane.apply(breaker(7));
    let clusters = proxy.next().await;
    assert_eq!(clusters.type_url, url(ResourceType::Cluster));
    proxy.nack(&clusters, "seven is too many").await;
    // Envoy needs the endpoints of a cluster after the cluster.
    assert_eq!(proxy.take().await.type_url, url(ResourceType::Endpoint));
    let shown = |value: &Value| value["proxies"][0]["types"]["CDS"]["state"] == "NACKED";
    let proxies = plane.until("/mesh/proxies", shown).await;
    assert_eq!(proxies["proxies"][0]["types"]["CDS"]["message"], "seven is too many");
    assert_eq!(proxies["proxies"][0]["types"]["EDS"]["state"], "SYNCED");
    let rejected = |value: &Value| value["changes"][0]["rejected"] == 1;
    plane.until("/mesh/propagation", rejected).await;

    plane.apply(breaker(5));
    let clusters = proxy.take().await;
    assert_eq!(clusters.type_url, url(ResourceType::Cluster));
    let cluster = Cluster::decode(&*clusters.resources[0].resource.as_ref().unwrap().value);
    let detection = cluster.unwrap().outlier_detection.unwrap();
    assert_eq!(detection.consecutive_5xx.unwrap().value, 5);
    let synced = |value: &Value| value["proxies"][0]["types"]["CDS"]["state"] == "SYNCED";
    plane.until("/mesh/proxies", synced).await;
    plane.stop().await;
}

/// Connects again with what a client has, and returns the first response with resources.
async fn first_news_after(
    plane: &mut Plane,
    held: &DeltaClient,
    change: Value,
) -> envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryResponse {
    let versions = |kind: ResourceType| held.versions[url(kind)].clone();
    let first = DeltaDiscoveryRequest {
        node: Some(node("default.of-both")),
        initial_resource_versions: versions(ResourceType::Cluster),
        ..subscribe(ResourceType::Cluster, &[])
    };
    let mut again = DeltaClient::open(plane.ready.listen, first).await.unwrap();
    let endpoints = versions(ResourceType::Endpoint);
    let names: Vec<&str> = endpoints.keys().map(String::as_str).collect();
    again
        .send(DeltaDiscoveryRequest {
            initial_resource_versions: endpoints.clone(),
            ..subscribe(ResourceType::Endpoint, &names)
        })
        .await;
    // Both requests are handled: what has to be sent for them is sent before what follows.
    let subscribed = |value: &Value| {
        let proxies = value["proxies"].as_array().unwrap();
        proxies.iter().any(|proxy| {
            proxy["types"]["EDS"]["subscribed"] == 2 && proxy["types"]["EDS"]["version"].is_null()
        })
    };
    plane.until("/mesh/proxies", subscribed).await;
    plane.apply(change);
    again.take_news().await
}

#[tokio::test]
async fn a_client_that_comes_back_is_sent_nothing_that_it_has() {
    let mut plane = Plane::start(mesh()).await;
    let held = DeltaClient::settled(plane.ready.listen, "default.of-both").await;
    let news = first_news_after(&mut plane, &held, server("s1", "web", 1, false)).await;
    assert_eq!((&*news.type_url, news.resources.len()), (url(ResourceType::Endpoint), 1));
    plane.stop().await;
}

#[tokio::test]
async fn a_restarted_control_plane_sends_nothing_that_clients_have() {
    let plane = Plane::start(mesh()).await;
    let held = DeltaClient::settled(plane.ready.listen, "default.of-both").await;
    plane.stop().await;
    let mut objects = mesh();
    objects.reverse();
    let mut plane = Plane::start(objects).await;
    let news = first_news_after(&mut plane, &held, server("s1", "web", 1, false)).await;
    assert_eq!((&*news.type_url, news.resources.len()), (url(ResourceType::Endpoint), 1));
    plane.stop().await;
}

#[tokio::test]
async fn the_state_of_the_world_is_served_and_wrong_nonces_change_nothing() {
    let mut plane = Plane::start(mesh()).await;
    let first =
        DiscoveryRequest { node: Some(node("default.of-both")), ..ask(ResourceType::Cluster, &[]) };
    let mut proxy = SotwClient::open(plane.ready.listen, first).await.unwrap();
    let clusters = proxy.next().await;
    let name =
        |any: &envoy_types::pb::google::protobuf::Any| Cluster::decode(&*any.value).unwrap().name;
    let names: Vec<String> = clusters.resources.iter().map(name).collect();
    assert_eq!(names.len(), 2);
    proxy.send(ask(ResourceType::Endpoint, &names)).await;
    let endpoints = proxy.next().await;
    assert_eq!(endpoints.resources.len(), 2);
    proxy.send(accept(&clusters, &[])).await;
    for nonce in ["", "0", "99999999999999999999", "x", &endpoints.nonce] {
        let answer =
            DiscoveryRequest { response_nonce: nonce.to_owned(), ..accept(&endpoints, &names) };
        if !nonce.is_empty() {
            proxy.send(answer).await;
        }
    }
    plane.apply(server("s1", "web", 1, false));
    let news = proxy.next().await;
    assert_eq!(news.type_url, url(ResourceType::Endpoint));
    assert_ne!(news.version_info, endpoints.version_info);
    plane.stop().await;
}

#[tokio::test]
async fn who_names_no_proxy_is_told_what_to_do() {
    let plane = Plane::start(mesh()).await;
    for id in ["", "no-mesh"] {
        let first =
            DeltaDiscoveryRequest { node: Some(node(id)), ..subscribe(ResourceType::Cluster, &[]) };
        let mut nobody = DeltaClient::open(plane.ready.listen, first).await.unwrap();
        let status = nobody.end().await;
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains("MESH.DATAPLANE"), "{status}");
    }
    plane.stop().await;
}

#[tokio::test]
async fn a_proxy_may_connect_before_its_dataplane_exists() {
    let mut plane = Plane::start(mesh()).await;
    let mut early = DeltaClient::settled(plane.ready.listen, "default.late").await;
    plane.apply(client("late", &["web"]));
    let news = early.take_news().await;
    assert_eq!((&*news.type_url, news.resources.len()), (url(ResourceType::Cluster), 1));
    plane.stop().await;
}

#[tokio::test]
async fn nobody_is_answered_before_everything_is_read() {
    let free = std::net::TcpListener::bind(plane::loopback()).unwrap();
    let (listen, admin) = (free.local_addr().unwrap(), plane::loopback());
    drop(free);
    let settings = Settings { admin: Some(admin), ..Settings::intake(listen) };
    let (control_plane, mut intake) = prepare(settings);
    intake.apply_objects(mesh().into_iter().take(3).map(plane::applied));
    let starting = tokio::spawn(async move {
        let mut early = loop {
            let first = DeltaDiscoveryRequest {
                node: Some(node("default.of-both")),
                ..subscribe(ResourceType::Cluster, &[])
            };
            if let Ok(early) = DeltaClient::try_open(listen, first).await {
                break early;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        };
        // The stream is open, and only now the rest is read.
        intake.apply_objects(mesh().into_iter().skip(3).map(plane::applied));
        intake.synced();
        (early.next().await, intake)
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let run = control_plane.run(|_| {}, async {
        let _ = stopped.await;
    });
    let run = tokio::spawn(run);
    let (first, _intake) = soon(starting).await.unwrap();
    assert_eq!(first.resources.len(), 2);
    stop.send(()).unwrap();
    soon(run).await.unwrap().unwrap();
}

/// Many proxies at one place, all told of one change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_proxies_are_told_at_once_and_their_answers_counted() {
    const N: usize = 100;
    let mut objects = vec![server("s1", "web", 1, true)];
    objects.extend((0..N).map(|n| client(&format!("c{n}"), &["web"])));
    let mut plane = Plane::start(objects).await;
    let address = plane.ready.listen;
    let connecting = (0..N)
        .map(|n| async move { DeltaClient::settled(address, &format!("default.c{n}")).await });
    let mut proxies = futures_util::future::join_all(connecting).await;
    let before = work(&plane).await;
    plane.apply(server("s1", "web", 1, false));
    let told = proxies.iter_mut().map(DeltaClient::take);
    let news = futures_util::future::join_all(told).await;
    assert!(news.iter().all(|news| news.type_url == url(ResourceType::Endpoint)));
    let all = |value: &Value| value["changes"][0]["acknowledged"]["streams"] == N;
    let propagation = plane.until("/mesh/propagation", all).await;
    let change = &propagation["changes"][0];
    assert_eq!((&change["streams"], &change["sent"]["streams"]), (&json!(N), &json!(N)));
    let (_, metrics) = plane.get("/metrics").await;
    assert!(metrics.contains("evenkeel_xds_assignments 1\n"), "{metrics}");
    // One place, so that all but sending is done once.
    let [plans, assignments, encoded] = work(&plane).await;
    assert_eq!([plans, assignments, encoded], [before[0], before[1] + 1, before[2] + 1]);
    plane.stop().await;
}

/// How many plans, assignments and encodings were made so far.
async fn work(plane: &Plane) -> [u64; 3] {
    let (_, metrics) = plane.get("/metrics").await;
    ["plans_computed", "assignments_computed", "resources_encoded"].map(|name| {
        let name = format!("evenkeel_xds_{name} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&*name)).unwrap();
        value.parse().unwrap()
    })
}

#[tokio::test]
async fn a_flood_ends_and_others_notice_nothing() {
    let mut plane = Plane::start(mesh()).await;
    let mut other = DeltaClient::settled(plane.ready.listen, "default.of-web").await;
    let mut flood = DeltaClient::settled(plane.ready.listen, "default.of-both").await;
    let requests = flood.requests.clone();
    let sending = tokio::spawn(async move {
        for n in 0..100_000 {
            let name = format!("name-{n}");
            let request = subscribe(ResourceType::Endpoint, &[&name]);
            if requests.send(request).await.is_err() {
                break;
            }
        }
    });
    plane.apply(server("s1", "web", 1, false));
    assert_eq!(other.take().await.type_url, url(ResourceType::Endpoint));
    let status = flood.end().await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    drop(flood);
    soon(sending).await.unwrap();
    let alone = |value: &Value| value["proxies"].as_array().unwrap().len() == 1;
    plane.until("/mesh/proxies", alone).await;
    plane.stop().await;
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused() {
    let plane = Plane::start(mesh()).await;
    let first = DeltaDiscoveryRequest {
        node: Some(node("default.of-web")),
        resource_names_subscribe: vec!["x".repeat(5 << 20)],
        ..subscribe(ResourceType::Endpoint, &[])
    };
    let mut large = DeltaClient::open(plane.ready.listen, first).await.unwrap();
    let status = large.end().await;
    assert!(matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted), "{status}");
    plane.stop().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_owed_the_newest_state_only() {
    let services: Vec<String> = (0..200).map(|n| format!("service-{n:03}")).collect();
    let services: Vec<&str> = services.iter().map(String::as_str).collect();
    let mut objects = mesh();
    objects.push(client("of-all", &services));
    let mut plane = Plane::start(objects).await;
    let mut reader = DeltaClient::settled(plane.ready.listen, "default.of-web").await;
    let first = DeltaDiscoveryRequest {
        node: Some(node("default.of-all")),
        ..subscribe(ResourceType::Cluster, &[])
    };
    let mut silent = DeltaClient::open(plane.ready.listen, first).await.unwrap();
    let connected = |value: &Value| value["proxies"].as_array().unwrap().len() == 2;
    plane.until("/mesh/proxies", connected).await;
    for n in 0..300 {
        // Every cluster of both changes.
        plane.apply(breaker(n % 2 + 1));
        let news = reader.take_news().await;
        assert_eq!(news.type_url, url(ResourceType::Cluster));
        if reader.versions.contains_key(url(ResourceType::Endpoint)) {
            assert_eq!(reader.take_news().await.type_url, url(ResourceType::Endpoint));
        }
    }
    // Of three hundred states it is sent the one that was sent first, and the newest.
    let first = silent.next().await;
    silent.ack(&first).await;
    let newest = silent.take().await;
    assert_eq!(newest.resources.len(), 200);
    let cluster = Cluster::decode(&*newest.resources[0].resource.as_ref().unwrap().value).unwrap();
    assert_eq!(cluster.outlier_detection.unwrap().consecutive_5xx.unwrap().value, 2);
    plane.stop().await;
}

#[tokio::test]
async fn shutting_down_ends_streams_with_a_reason() {
    let plane = Plane::start(mesh()).await;
    let mut proxy = DeltaClient::settled(plane.ready.listen, "default.of-web").await;
    let (_, status) = tokio::join!(plane.stop(), proxy.end());
    assert_eq!(status.code(), Code::Unavailable);
}

#[tokio::test]
async fn operators_see_health_metrics_and_what_a_dataplane_is_told() {
    let mut plane = Plane::start(mesh()).await;
    plane.apply(plane::strategy(&json!([{ "to": { "type": "None" } }])));
    let mut bad = plane::strategy(&json!([]));
    bad["spec"]["to"][0]["default"]["localityAwareness"]["crossZone"] =
        json!({ "failoverThreshold": { "percentage": "banana" } });
    plane.apply(bad);
    assert_eq!(plane.get("/readyz").await.0, 200);
    let (_, metrics) = plane.get("/metrics").await;
    assert!(metrics.contains("evenkeel_xds_invalid_resources 1"), "{metrics}");
    let policies = plane.json("/mesh/policies").await;
    assert_eq!(policies["invalid"][0]["lastGoodInForce"], true);
    assert!(policies["invalid"][0]["field"].as_str().unwrap().contains("percentage"));
    assert!(!policies["findings"].as_array().unwrap().is_empty(), "{policies}");
    let near = &policies["policies"][0];
    assert_eq!((&near["name"], &near["targetRef"]["kind"]), (&json!("near"), &json!("Mesh")));
    let sets = r#"localityAwareness.crossZone.failover: [{"to":{"type":"None"}}]"#;
    assert_eq!(near["to"][0]["sets"], json!([sets]), "the last good form is in force");
    let inspected = plane.json("/mesh/inspect?dataplane=default/of-web").await;
    let destination = &inspected["destinations"][0];
    assert_eq!(destination["groups"][0]["share"], 1.0, "{inspected}");
    assert_eq!(destination["withoutZone"]["zone-1"]["groups"].as_array().unwrap().len(), 1);
    let origins = &destination["policies"]["MeshLoadBalancingStrategy"]["origins"];
    assert_eq!(origins["localityAwareness.crossZone.failover"], "near", "{destination}");
    assert_eq!(plane.get("/mesh/inspect?dataplane=default/nobody").await.0, 404);
    assert_eq!(plane.get("/mesh/inspect").await.0, 400);
    plane.stop().await;
}
