//! Against the embedded API server's real answers.

use std::sync::Arc;

use evenkeel_model::{AddressType, Condition, ServiceKey, Slice, Version, label};
use jiff::Timestamp;
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Api, Config, ResourceExt, api::PostParams};
use serde_json::json;

use super::*;
use crate::server::server;

fn slice(name: &str) -> Slice {
    let labels = [(label::SERVICE_NAME, "web"), (label::MANAGED_BY, label::EVENKEEL)];
    Slice {
        name: name.into(),
        address_type: AddressType::IPv4,
        ports: vec![],
        endpoints: vec![],
        owner: None,
        labels: labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect(),
        shares: None,
    }
}

/// Carries the action out on a Service `web`, the whole way.
async fn act_in(writes: &mut Writes, namespace: &str, action: Action) -> Answer {
    let service = ServiceKey::new(namespace, "web");
    let write = Write { ticket: Ticket(7), service, action, why: Arc::new([]) };
    let now = "2026-01-02T03:04:05Z".parse::<Timestamp>().unwrap();
    writes.start(&write, &Topology::default(), now);
    assert_eq!(writes.len(), 1);
    let ended = writes.next().await.unwrap();
    assert_eq!((ended.ticket, writes.len()), (Ticket(7), 0));
    assert_eq!(ended.verb, Verb::of(&write.action));
    ended.answer
}

async fn act(writes: &mut Writes, action: Action) -> Outcome {
    match act_in(writes, "default", action).await {
        Answer::Told(outcome) => outcome,
        Answer::Slice(slice) => panic!("it was done: {slice:?}"),
    }
}

/// The version that the server has stored, and nothing else than was sent.
async fn done(writes: &mut Writes, action: Action) -> Version {
    let sent = match &action {
        Action::Create { slice, .. } | Action::Update { slice, .. } => Some(slice.clone()),
        _ => None,
    };
    let Answer::Slice(slice) = act_in(writes, "default", action).await else {
        panic!("it was not done")
    };
    let seen = slice.seen(&mut Topology::default()).unwrap();
    assert!(sent.is_none_or(|sent| sent == seen.slice), "{seen:?}");
    seen.version
}

fn create(name: &str) -> Action {
    Action::Create { slice: slice(name), trigger: None }
}

fn update(name: &str, version: &Version) -> Action {
    let mut slice = slice(name);
    slice.labels.insert("tier".into(), version.resource_version.clone());
    Action::Update { slice, version: version.clone(), gone: vec![], trigger: None }
}

fn delete(name: &str, version: &Version) -> Action {
    Action::Delete { name: name.into(), version: version.clone() }
}

fn relabel(name: &str, version: &Version) -> Action {
    let (name, manager) = (name.into(), label::BUILT_IN.into());
    Action::Relabel { name, version: version.clone(), manager }
}

#[tokio::test]
async fn slices_are_written_under_the_version_they_were_planned_from() {
    let (server, client) = server().await;
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), "default");
    let mut writes = Writes::new(client);
    let first = done(&mut writes, create("web-1")).await;
    assert_eq!(first.generation, 1);
    assert_eq!(act(&mut writes, create("web-1")).await, Outcome::Exists);

    let second = done(&mut writes, update("web-1", &first)).await;
    assert_eq!(second.uid, first.uid);
    assert_ne!(second.resource_version, first.resource_version);
    let stale = [update("web-1", &first), relabel("web-1", &first), delete("web-1", &first)];
    for action in stale {
        assert_eq!(act(&mut writes, action.clone()).await, Outcome::Conflict, "{action:?}");
    }
    let third = done(&mut writes, relabel("web-1", &second)).await;
    let stored = slices.get("web-1").await.unwrap();
    assert_eq!(stored.labels()[label::MANAGED_BY], label::BUILT_IN);
    assert_eq!(stored.labels()["tier"], *first.resource_version, "all else stays");
    assert_eq!(stored.resource_version().as_deref(), Some(&*third.resource_version));

    let other = Version { uid: "0000".into(), ..third.clone() };
    assert_eq!(act(&mut writes, delete("web-1", &other)).await, Outcome::Conflict);
    assert_eq!(act(&mut writes, delete("web-1", &third)).await, Outcome::Gone);
    assert!(slices.get_opt("web-1").await.unwrap().is_none());
    let missing = [delete("web-1", &third), update("web-1", &third), relabel("web-1", &third)];
    for action in missing {
        assert_eq!(act(&mut writes, action.clone()).await, Outcome::Gone, "{action:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_slice_is_read_as_it_is_and_a_missing_one_is_gone() {
    let (server, client) = server().await;
    let mut writes = Writes::new(client);
    let version = done(&mut writes, create("web-1")).await;
    let read = Action::Read { name: "web-1".into() };
    let Answer::Slice(read) = act_in(&mut writes, "default", read).await else {
        panic!("it is there")
    };
    let seen = read.seen(&mut Topology::default()).unwrap();
    assert_eq!((seen.slice, seen.version), (slice("web-1"), version));
    let read = Action::Read { name: "web-2".into() };
    assert_eq!(act(&mut writes, read).await, Outcome::Gone);
    server.stop().await;
}

#[tokio::test]
async fn what_the_server_refuses_says_why() {
    let (server, client) = server().await;
    let mut writes = Writes::new(client);
    let answer = act_in(&mut writes, "nowhere", create("web-1")).await;
    let Answer::Told(Outcome::Refused { code: 404, message }) = answer else {
        panic!("{answer:?}")
    };
    assert!(message.contains("nowhere"), "{message}");
    let outcome = act(&mut writes, create("Not_A_Name")).await;
    assert!(matches!(outcome, Outcome::Refused { code: 422, .. }), "{outcome:?}");
    server.stop().await;
}

fn condition(kind: &str, status: bool, reason: &str) -> Condition {
    Condition { kind: kind.into(), status, reason: reason.into(), message: "as it is".into() }
}

#[tokio::test]
async fn conditions_are_set_one_by_one_on_the_service_of_that_uid_only() {
    let (server, client) = server().await;
    let services: Api<Service> = Api::namespaced(client.clone(), "default");
    let mut writes = Writes::new(client);
    let missing = Action::Conditions { uid: "u".into(), set: vec![], remove: vec![] };
    assert_eq!(act(&mut writes, missing).await, Outcome::Gone);
    let web = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}});
    let web = serde_json::from_value(web).unwrap();
    let uid: Arc<str> =
        services.create(&PostParams::default(), &web).await.unwrap().uid().unwrap().into();
    let set = |set: Vec<(Condition, bool)>, remove: &[&str]| Action::Conditions {
        uid: Arc::clone(&uid),
        set,
        remove: remove.iter().map(|kind| (*kind).into()).collect(),
    };
    let both = vec![(condition("A", true, "Fine"), true), (condition("B", false, "Odd"), true)];
    assert_eq!(act(&mut writes, set(both, &[])).await, Outcome::Done);
    let stored = |service: Service| {
        let conditions = service.status.unwrap().conditions.unwrap_or_default();
        let said = conditions.iter().map(|it| format!("{}={} {}", it.type_, it.status, it.reason));
        let times = conditions.iter().map(|it| it.last_transition_time.0.to_string());
        (said.collect::<Vec<_>>(), times.collect::<Vec<_>>())
    };
    let (said, times) = stored(services.get("web").await.unwrap());
    assert_eq!(said, ["A=True Fine", "B=False Odd"]);
    assert_eq!(times, ["2026-01-02T03:04:05Z"; 2]);
    let better = set(vec![(condition("A", true, "Better"), false)], &["B"]);
    assert_eq!(act(&mut writes, better).await, Outcome::Done);
    let (said, times) = stored(services.get("web").await.unwrap());
    assert_eq!((said, times.len()), (vec!["A=True Better".to_owned()], 1));
    let stranger = Action::Conditions { uid: "u".into(), set: vec![], remove: vec!["A".into()] };
    assert_eq!(act(&mut writes, stranger).await, Outcome::Conflict);
    server.stop().await;
}

/// Each write's end is told exactly once, and so that of one that broke off.
#[tokio::test]
async fn a_write_that_is_cut_off_ends_all_the_same() {
    let client = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    let mut writes = Writes::new(client);
    let service = ServiceKey::new("default", "web");
    let write = Write { ticket: Ticket(3), service, action: create("web-1"), why: Arc::new([]) };
    writes.start(&write, &Topology::default(), Timestamp::UNIX_EPOCH);
    writes.tasks.abort_all();
    let ended = writes.next().await.unwrap();
    assert_eq!(ended.ticket, Ticket(3));
    assert!(matches!(ended.answer, Answer::Told(Outcome::Unknown { after: None, .. })));
    assert!(writes.next().await.is_none() && writes.try_next().is_none());
    assert!(writes.in_flight.is_empty());
}

#[tokio::test]
async fn a_server_that_is_away_leaves_the_end_unknown() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let mut writes = Writes::new(Client::try_from(Config::new(uri)).unwrap());
    let outcome = act(&mut writes, create("web-1")).await;
    let Outcome::Unknown { after: None, message } = outcome else { panic!("{outcome:?}") };
    assert!(message.contains("refused"), "{message}");
}

/// The clock of the test goes on when all tasks wait.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_in_ten_seconds_leaves_the_end_unknown() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let mut config = Config::new(uri);
    (config.connect_timeout, config.read_timeout) = (None, None);
    let mut writes = Writes::new(Client::try_from(config).unwrap());
    let start = Instant::now();
    let outcome = act(&mut writes, create("web-1")).await;
    let message = "timed out after 10s".to_owned();
    assert_eq!(outcome, Outcome::Unknown { after: None, message });
    assert_eq!(start.elapsed().as_secs(), 10);
}
