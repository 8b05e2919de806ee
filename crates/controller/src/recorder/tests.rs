//! Against the embedded API server.

use evenkeel_model::ServiceKey;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams},
};

use super::*;
use crate::server::server;

fn event(namespace: &str, reason: &'static str) -> ServiceEvent {
    ServiceEvent {
        service: ServiceKey::new(namespace, "web"),
        uid: "0123".into(),
        warning: reason.ends_with("Disabled"),
        reason,
        message: "Insufficient number of endpoints".to_owned(),
    }
}

async fn events(client: &Client) -> Vec<Event> {
    let api: Api<Event> = Api::namespaced(client.clone(), "default");
    let mut events = api.list(&ListParams::default()).await.unwrap().items;
    events.sort_by_key(|event| event.reason.clone());
    events
}

#[tokio::test]
async fn events_are_written_as_kubernetes_recorder_does_and_counted_on() {
    let (server, client) = server().await;
    let metrics = Arc::new(Metrics::new());
    let (recorder, writing) = recorder(client.clone(), Arc::clone(&metrics));
    let disabled = event("default", "TopologyAwareHintsDisabled");
    for event in [&disabled, &event("", "TopologyAwareHintsEnabled"), &disabled, &disabled] {
        recorder.record(event.clone());
    }
    drop(recorder);
    writing.await;
    let given = events(&client).await;
    let [disabled, enabled] = given.as_slice() else { panic!("{given:#?}") };
    assert_eq!((disabled.count, enabled.count), (Some(3), Some(1)));
    let name = disabled.name_any();
    let (service, time) = name.split_once('.').unwrap();
    assert_eq!((service, i64::from_str_radix(time, 16).is_ok()), ("web", true), "{name}");
    let about = &disabled.involved_object;
    assert_eq!(
        (about.kind.as_deref(), about.api_version.as_deref()),
        (Some("Service"), Some("v1"))
    );
    assert_eq!((about.name.as_deref(), about.uid.as_deref()), (Some("web"), Some("0123")));
    assert_eq!(about.namespace.as_deref(), Some("default"));
    assert_eq!(disabled.type_.as_deref(), Some("Warning"));
    assert_eq!(enabled.type_.as_deref(), Some("Normal"));
    assert_eq!(disabled.message.as_deref(), Some("Insufficient number of endpoints"));
    let component = Some("endpoint-slice-controller");
    let source = disabled.source.as_ref().unwrap();
    assert_eq!(
        (source.component.as_deref(), disabled.reporting_component.as_deref()),
        (component, component)
    );
    assert!(
        disabled.first_timestamp.is_some() && disabled.last_timestamp >= disabled.first_timestamp
    );
    let text = metrics.text();
    for (result, count) in [("created", 2), ("patched", 2)] {
        let line = format!(r#"evenkeel_controller_events_total{{result="{result}"}} {count}"#);
        assert!(text.contains(&line), "{line} is not in {text}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_event_that_was_deleted_is_made_anew_with_its_count() {
    let (server, client) = server().await;
    let mut correlator = Correlator::default();
    let enabled = event("default", "TopologyAwareHintsEnabled");
    let first = correlator.decide(&enabled, Timestamp::now());
    assert_eq!(write(&client, &enabled, &first).await, EventEnd::Created);
    assert_eq!(
        write(&client, &enabled, &first).await,
        EventEnd::Created,
        "a second try is no harm"
    );
    let api: Api<Event> = Api::namespaced(client.clone(), "default");
    let name = events(&client).await[0].name_any();
    api.delete(&name, &DeleteParams::default()).await.unwrap();
    let again = correlator.decide(&enabled, Timestamp::now());
    assert_eq!(write(&client, &enabled, &again).await, EventEnd::Created);
    let given = events(&client).await;
    assert_eq!((given.len(), given[0].count, given[0].name_any()), (1, Some(2), name));
    server.stop().await;
}

#[tokio::test]
async fn an_event_that_is_refused_or_dropped_says_so() {
    let (server, client) = server().await;
    let nowhere = event("nowhere", "TopologyAwareHintsEnabled");
    let mut correlator = Correlator::default();
    let decision = correlator.decide(&nowhere, Timestamp::now());
    assert_eq!(write(&client, &nowhere, &decision).await, EventEnd::Failed);
    assert_eq!(write(&client, &nowhere, &Decision::Drop).await, EventEnd::Dropped);
    server.stop().await;
}

#[tokio::test]
async fn who_records_never_waits() {
    let (server, client) = server().await;
    let metrics = Arc::new(Metrics::new());
    let (recorder, writing) = recorder(client, Arc::clone(&metrics));
    for _ in 0..WAITING + 3 {
        recorder.record(event("default", "TopologyAwareHintsEnabled"));
    }
    let line = r#"evenkeel_controller_events_total{result="dropped"} 3"#;
    assert!(metrics.text().contains(line), "{}", metrics.text());
    drop(writing);
    server.stop().await;
}
