//! Reports against the embedded API server.

use evenkeel_model::ServiceKey;

use super::*;

fn exception(name: &str) -> ProxyException {
    ProxyException { service: ServiceKey::new("ns", name), reason: "Contested".into() }
}

#[test]
fn exceptions_are_bounded_and_the_rest_is_counted() {
    let names: Vec<String> = (0..LISTED + 7).map(|n| format!("s{n:03}")).collect();
    let exceptions = names.iter().rev().map(|name| exception(name)).chain([exception("s000")]);
    let in_force = InForce { exceptions: exceptions.collect(), ..InForce::default() };
    let report = report(&"n".into(), &in_force);
    assert_eq!((report.exceptions.len(), report.left_out), (LISTED, 7));
    assert_eq!(&*report.exceptions[0].service.name, "s000");
    assert!(report.exceptions.is_sorted());
}

fn in_force(services: &str, slices: &str) -> InForce {
    let (services, slices) = (Revision::new(services), Revision::new(slices));
    InForce { services, slices, exceptions: Vec::new(), node_uid: Some("node-uid".into()) }
}

/// The embedded API server in this process, and a client of it.
async fn server(stop: &CancellationToken) -> Client {
    let settings = evenkeel_apiserver::Settings {
        housekeeping: false,
        ..evenkeel_apiserver::Settings::default()
    };
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let stopped = stop.clone().cancelled_owned();
    tokio::spawn(async move {
        evenkeel_apiserver::run(settings, |it| ready.send(it).unwrap(), stopped).await.unwrap();
    });
    let file = kube::config::Kubeconfig::read_from(is_ready.await.unwrap().kubeconfig).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(file, &options).await.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// The Lease once it says so, within a bounded time.
async fn until(api: &Api<Lease>, services: &str) -> Lease {
    let name = report_lease_name("node-7");
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let lease = api.get_opt(&name).await.unwrap();
        let report = lease.as_ref().map(|lease| evenkeel_k8s::convert::report(lease).unwrap());
        let is = report.as_ref().and_then(|seen| seen.report.services.as_ref());
        if is.is_some_and(|is| is.as_str() == services) {
            return lease.unwrap();
        }
        assert!(Instant::now() < deadline, "{report:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_lease_follows_what_is_in_force() {
    let stop = CancellationToken::new();
    let client = server(&stop).await;
    let api: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    let (send, receive) = watch::channel(None);
    let settings = ReportSettings { node: "node-7".into(), namespace: "kube-system".to_owned() };
    let running = tokio::spawn(run(client, settings, receive, stop.clone()));
    send.send(Some(in_force("10", "12"))).unwrap();
    let lease = until(&api, "10").await;
    let spec = lease.spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("node-7"));
    assert_eq!(spec.lease_duration_seconds, Some(120));
    assert_eq!(lease.metadata.owner_references.unwrap()[0].uid, "node-uid");
    let excepted = InForce { exceptions: vec![exception("web")], ..in_force("20", "22") };
    send.send(Some(excepted)).unwrap();
    let lease = until(&api, "20").await;
    let report = evenkeel_k8s::convert::report(&lease).unwrap().report;
    assert_eq!(report.exceptions, [exception("web")]);
    // A hundred changes at once are one write or two, a second apart.
    for n in 21..=120 {
        send.send(Some(in_force(&n.to_string(), "22"))).unwrap();
    }
    let lease = until(&api, "120").await;
    assert!(evenkeel_k8s::convert::report(&lease).unwrap().report.exceptions.is_empty());
    drop(send);
    running.await.unwrap();
    stop.cancel();
}

#[tokio::test]
async fn without_a_server_nothing_is_reported_and_nobody_waits() {
    let mut config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    let stop = CancellationToken::new();
    let (send, receive) = watch::channel(Some(in_force("1", "1")));
    let settings = ReportSettings { node: "node-7".into(), namespace: "kube-system".to_owned() };
    let running = tokio::spawn(run(client, settings, receive, stop.clone()));
    for n in 0..10 {
        send.send(Some(in_force(&n.to_string(), "1"))).unwrap();
        tokio::task::yield_now().await;
    }
    stop.cancel();
    timeout(Duration::from_secs(20), running).await.unwrap().unwrap();
}
