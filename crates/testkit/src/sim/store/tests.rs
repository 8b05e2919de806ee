use super::*;
use crate::{Cluster, endpoint, pod, service, slice};

use evenkeel_model::AddressType;

fn key() -> Key {
    Key::new("default", "web-1")
}

fn store() -> (Store, Slice) {
    let mut store = Store::default();
    let web = service("web");
    store.add_service(web.clone());
    let cluster = Cluster::equal_zones(2);
    let of = |n| pod(&format!("pod-{n}"), cluster.node("node-a1").id, n);
    let endpoints = [1, 2].map(|n| endpoint(&of(n), AddressType::IPv4, None, None));
    let slice = slice(&web, "web-1", AddressType::IPv4, endpoints.to_vec());
    store.add_slice("default", &slice);
    (store, slice)
}

fn version(store: &Store) -> Version {
    store.slices.get(&key()).unwrap().version.clone()
}

fn update(slice: &Slice, version: &Version, gone: &[&str]) -> Request {
    let gone = gone.iter().map(|&name| name.into()).collect();
    let (slice, version) = (slice.clone(), version.clone());
    Request::Update { key: key(), slice, version, gone, trigger: None }
}

#[test]
fn a_second_create_of_a_name_is_refused() {
    let (mut store, slice) = store();
    let create = Request::Create { key: key(), slice, trigger: None };
    assert_eq!(store.request(&create), Answer::Exists);
    store.remove_slice(&key());
    assert!(matches!(store.request(&create), Answer::Stored(_)));
}

#[test]
fn writes_from_an_older_version_are_refused() {
    let (mut store, mut slice) = store();
    let old = version(&store);
    store.touch_slice(&key());
    slice.endpoints.pop();
    let (manager, name) = (label::EVENKEEL.into(), key());
    let stale = [
        update(&slice, &old, &[]),
        Request::Relabel { key: name.clone(), version: old.clone(), manager },
        Request::Delete { key: name, version: old.clone() },
    ];
    for request in &stale {
        assert_eq!(store.request(request), Answer::Conflict, "{request:?}");
    }
    store.careless = true;
    for request in &stale {
        assert_ne!(store.request(request), Answer::Conflict, "{request:?}");
    }
}

#[test]
fn the_generation_counts_changes_of_content_and_labels() {
    let (mut store, mut slice) = store();
    let first = version(&store);
    store.request(&update(&slice, &first, &[]));
    assert_eq!(version(&store), first, "nothing changed");
    store.touch_slice(&key());
    let touched = version(&store);
    assert_eq!(touched.generation, first.generation);
    assert_ne!(touched.resource_version, first.resource_version);
    slice.endpoints.pop();
    let answer = store.request(&update(&slice, &touched, &[]));
    assert!(matches!(answer, Answer::Stored(seen) if seen.version == version(&store)));
    assert_eq!(version(&store).generation, first.generation + 1);
    store.change_slice(&key(), |slice| {
        slice.labels.insert("tier".into(), "front".into());
    });
    assert_eq!(version(&store).generation, first.generation + 2);
}

#[test]
fn an_update_keeps_labels_of_others_and_removes_those_it_names() {
    let (mut store, slice) = store();
    store.change_slice(&key(), |slice| {
        slice.labels.insert("theirs".into(), "1".into());
        slice.labels.insert("old".into(), "1".into());
    });
    store.request(&update(&slice, &version(&store), &["old"]));
    let stored = &store.slices.get(&key()).unwrap().slice.labels;
    assert!(stored.contains_key("theirs") && !stored.contains_key("old"));
}

#[test]
fn the_address_type_never_changes() {
    let (mut store, mut slice) = store();
    slice.address_type = AddressType::IPv6;
    let version = version(&store);
    assert_eq!(store.request(&update(&slice, &version, &[])), Answer::Invalid("addressType"));
}

#[test]
fn slices_of_a_service_that_is_gone_are_orphans() {
    let (mut store, _) = store();
    assert_eq!(store.orphans(), []);
    store.services.remove(&Key::new("default", "web"));
    assert_eq!(store.orphans(), [key()]);
}

#[test]
fn conditions_are_merged_by_type_and_only_for_their_service() {
    let (mut store, _) = store();
    let key = Key::new("default", "web");
    let condition = |kind: &str, reason: &str| Condition {
        kind: kind.into(),
        status: true,
        reason: reason.into(),
        message: "".into(),
    };
    let set = |store: &mut Store, uid: &str, kind: &str, reason: &str, remove: &[&str]| {
        let remove = remove.iter().map(|&kind| kind.into()).collect();
        let set = vec![condition(kind, reason)];
        store.request(&Request::Conditions { key: key.clone(), uid: uid.into(), set, remove })
    };
    assert_eq!(set(&mut store, "uid-other", "A", "One", &[]), Answer::Conflict);
    set(&mut store, "uid-web", "A", "One", &[]);
    set(&mut store, "uid-web", "B", "One", &[]);
    set(&mut store, "uid-web", "A", "Two", &[]);
    let conditions = |store: &Store| store.services.get(&key).unwrap().conditions.clone();
    assert_eq!(conditions(&store), [condition("A", "Two"), condition("B", "One")]);
    let head = store.services.head();
    set(&mut store, "uid-web", "A", "Two", &[]);
    assert_eq!(store.services.head(), head, "nothing changed");
    set(&mut store, "uid-web", "A", "Two", &["B"]);
    assert_eq!(conditions(&store), [condition("A", "Two")]);
}

#[test]
fn nothing_is_created_in_a_namespace_that_is_being_deleted() {
    let (mut store, slice) = store();
    store.terminating.insert("default".into());
    let other = Key::new("default", "web-2");
    let create = Request::Create { key: other, slice: slice.clone(), trigger: None };
    assert_eq!(store.request(&create), Answer::Terminating);
    let change = update(&slice, &version(&store), &[]);
    assert!(matches!(store.request(&change), Answer::Stored(_)), "what is there can be changed");
    store.end_namespace("default");
    assert!(store.slices.is_empty() && store.services.is_empty() && store.terminating.is_empty());
}

#[test]
fn what_is_stored_need_not_be_what_was_sent() {
    let (mut store, slice) = store();
    store.admission = Admission::Label;
    let Answer::Stored(seen) = store.request(&update(&slice, &version(&store), &[])) else {
        panic!("it is done")
    };
    assert_eq!(seen.slice, Admission::Label.admit(&slice));
    assert_ne!(seen.slice, slice);
}
