//! A small cluster without a server: objects, deletes, and the pending work carried out until none
//! is left.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_store::{Change, Limits, State};
use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::{
    document,
    housekeeping::namespace::{self, Failures, Item},
    kinds::{self, Catalogue, KINDS, Kind, KindRef},
    registry::{
        DeleteOptions, admit,
        lifecycle::{self, Deletion},
    },
};

struct World {
    state: State,
    graph: Graph,
    /// The actions taken, in order.
    done: Vec<String>,
}

/// `"configmaps"`, `"default/a"`.
type Name<'a> = (&'a str, &'a str);

const A: Name<'_> = ("configmaps", "n/a");
const B: Name<'_> = ("configmaps", "n/b");
const C: Name<'_> = ("configmaps", "n/c");

fn kind(plural: &str) -> &'static KindRef {
    kinds::named("", plural).expect("a kind of the core group")
}

fn plural(resource: ResourceId) -> &'static str {
    &kinds::of_id(resource).expect("a built-in kind").plural
}

impl Objects for State {
    fn object(&self, resource: ResourceId, key: &str) -> Option<Arc<Object>> {
        self.object(resource, key).cloned()
    }

    fn kind(&self, api_version: &str, kind: &str) -> Option<(ResourceId, bool)> {
        kinds::of_kind(api_version, kind).map(|kind| (kind.id(), kind.namespaced))
    }
}

/// A blocking owner reference.
fn owned_by((plural, key): Name<'_>) -> Value {
    let name = key.rsplit('/').next().unwrap_or_default();
    let kind = &kind(plural).kind;
    json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid((plural, key)), "blockOwnerDeletion": true})
}

fn uid((plural, key): Name<'_>) -> String {
    format!("{plural}:{key}")
}

impl World {
    fn new() -> World {
        let state = State::new(kinds::names(), Limits::default());
        let world = World { state, graph: Graph::default(), done: Vec::new() };
        ["m", "n", "other"]
            .into_iter()
            .fold(world, |world, name| world.with(("namespaces", name), &[]))
    }

    fn with(mut self, at: Name<'_>, owners: &[Value]) -> World {
        self.put(at, json!({"ownerReferences": owners}));
        self
    }

    fn put(&mut self, at: Name<'_>, mut metadata: Value) {
        metadata["uid"] = uid(at).into();
        metadata["name"] = at.1.rsplit('/').next().into();
        let mut value = json!({"metadata": metadata});
        if at.0 == "namespaces" {
            value["spec"] = json!({"finalizers": ["kubernetes"]});
        }
        self.write(kind(at.0), at.1, Some(value));
    }

    fn value(&self, at: Name<'_>) -> Option<Value> {
        let object = self.state.object(kind(at.0).id(), at.1)?;
        document::value(kind(at.0), object).ok()
    }

    fn has(&self, at: Name<'_>) -> bool {
        self.value(at).is_some()
    }

    fn write(&mut self, kind: &Kind, key: &str, value: Option<Value>) {
        let (resource, revision) = (kind.id(), self.state.revision() + 1);
        let object = value.map(|mut value| {
            document::canonical(kind, &mut value);
            let new = document::stored(kind, &value);
            let (labels, fields, encoded) = (new.labels, new.fields, new.encoded);
            Arc::new(Object { key: key.into(), revision, labels, fields, encoded })
        });
        let before = self.state.object(resource, key).cloned();
        if before.as_ref().zip(object.as_ref()).is_some_and(|(old, new)| old.encoded == new.encoded)
        {
            return;
        }
        self.state.publish(&[Change {
            resource,
            revision,
            key: key.into(),
            object: object.clone(),
        }]);
        self.graph.changed(resource, before.as_deref(), object.as_deref());
    }

    fn delete(&mut self, at: Name<'_>, propagation: Option<Propagation>) {
        let Some(value) = self.value(at) else { return };
        let options = DeleteOptions { propagation, ..DeleteOptions::default() };
        let decided = lifecycle::decide(kind(at.0), value, &options, Timestamp::UNIX_EPOCH);
        match decided.expect("no preconditions") {
            Deletion::Pending => {}
            Deletion::Mark(marked) => self.write(kind(at.0), at.1, Some(marked)),
            Deletion::MarkThenRemove(_) | Deletion::Remove => self.write(kind(at.0), at.1, None),
        }
    }

    fn edit(&mut self, at: Name<'_>, edit: impl Fn(&mut Value)) {
        let Some(old) = self.value(at) else { return };
        let mut new = old.clone();
        edit(&mut new);
        let new = (!admit::ends(kind(at.0), &new, &old)).then_some(new);
        self.write(kind(at.0), at.1, new);
    }

    /// Until nothing is queued.
    fn run_until_idle(&mut self) {
        for _ in 0..100 {
            let queued = self.graph.take_queued();
            if queued.is_empty() {
                return;
            }
            queued.into_iter().for_each(|queued| self.look(&queued));
        }
        panic!("there is always something to look at: {:?}", self.done);
    }

    fn look(&mut self, queued: &WorkItem) {
        match queued {
            WorkItem::Object(_, at) => {
                let due = self.graph.look(&self.state, at);
                due.into_iter().for_each(|due| self.act(due));
            }
            WorkItem::Ending(name) | WorkItem::Inside(name) | WorkItem::Doubtful(name) => {
                self.empty(name);
            }
        }
    }

    fn act(&mut self, due: GcAction) {
        self.done.push(format!("{due:?}"));
        match due {
            GcAction::Delete(object_ref, _, how) => {
                self.delete((plural(object_ref.resource), &object_ref.key), how);
            }
            GcAction::DropOwners(object_ref, gone) => {
                let at = (plural(object_ref.resource), &*object_ref.key);
                self.edit(at, |object| without_owners(object, &gone));
            }
            GcAction::DropFinalizer(object_ref, name) => {
                let at = (plural(object_ref.resource), &*object_ref.key);
                self.edit(at, |object| without_finalizer(object, name));
            }
        }
    }

    fn content(&self, namespace: &str) -> Vec<Item> {
        let prefix = format!("{namespace}/");
        let of = |kind: &Kind| {
            let (resource, prefix) = (kind.id(), prefix.clone());
            let objects = self.state.range(resource, std::ops::Bound::Unbounded);
            let inside = objects.filter(move |object| object.key.starts_with(&prefix));
            inside.map(move |object| Item::of(resource, object))
        };
        let kinds = KINDS.iter().filter(|kind| kind.namespaced && kind.alias.is_none());
        kinds.flat_map(|kind| of(kind)).collect()
    }

    /// As the shell does it.
    fn empty(&mut self, name: &str) {
        let at = ("namespaces", name);
        let there = self.value(at);
        if there.as_ref().is_some_and(|there| there["metadata"]["deletionTimestamp"].is_null()) {
            return;
        }
        for _ in 0..3 {
            let content = self.content(name);
            for item in namespace::next(&content, there.is_some()) {
                self.done.push(format!("emptied {}", item.key));
                let at = (plural(item.resource), &*item.key);
                self.delete(at, Some(Propagation::Background));
            }
        }
        let content = self.content(name);
        self.edit(at, |object| {
            let served = Catalogue::default();
            namespace::tell(object, &content, &Failures::new(), &served, Timestamp::UNIX_EPOCH);
            if content.is_empty() {
                namespace::emptied(object);
            }
        });
    }

    fn after(mut self, at: Name<'_>, propagation: Propagation) -> World {
        self.delete(at, Some(propagation));
        self.run_until_idle();
        self
    }

    fn owners(&self, at: Name<'_>) -> Vec<String> {
        let value = self.value(at).unwrap_or_default();
        let owners = value["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        owners.iter().map(|owner| owner["uid"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn chain() -> World {
    World::new().with(A, &[]).with(B, &[owned_by(A)]).with(C, &[owned_by(B)])
}

#[test]
fn the_whole_chain_goes_in_the_background_and_in_the_foreground() {
    for how in [Propagation::Background, Propagation::Foreground] {
        let world = chain().after(A, how);
        assert_eq!([A, B, C].map(|at| world.has(at)), [false; 3], "{how:?}");
    }
}

#[test]
fn in_the_foreground_dependents_are_deleted_first() {
    let mut world = chain();
    world.edit(C, |object| object["metadata"]["finalizers"] = json!(["x/held"]));
    let mut world = world.after(A, Propagation::Foreground);
    assert_eq!([A, B, C].map(|at| world.has(at)), [true; 3]);
    world.edit(C, |object| object["metadata"]["finalizers"] = json!([]));
    world.run_until_idle();
    assert_eq!([A, B, C].map(|at| world.has(at)), [false; 3]);
}

#[test]
fn orphans_are_kept_without_their_owner() {
    let world = chain().after(A, Propagation::Orphan);
    assert_eq!([A, B, C].map(|at| world.has(at)), [false, true, true]);
    assert_eq!(world.owners(B), [""; 0]);
    assert_eq!(world.owners(C), [uid(B)]);
}

#[test]
fn one_of_two_owners_keeps_an_object() {
    for how in [Propagation::Background, Propagation::Foreground] {
        let world = World::new().with(A, &[]).with(B, &[]);
        let world = world.with(C, &[owned_by(A), owned_by(B)]).after(A, how);
        assert_eq!([A, B, C].map(|at| world.has(at)), [false, true, true], "{how:?}");
        assert_eq!(world.owners(C), [uid(B)], "{how:?}");
    }
}

#[test]
fn who_has_lost_the_last_of_two_owners_goes() {
    let world = World::new().with(A, &[]).with(B, &[]).with(C, &[owned_by(A), owned_by(B)]);
    let world = world.after(A, Propagation::Background).after(B, Propagation::Background);
    assert!(!world.has(C));
}

#[test]
fn a_missing_or_recreated_owner_counts_as_gone() {
    let mut world = World::new().with(B, &[owned_by(A)]);
    world.run_until_idle();
    assert!(!world.has(B));
    let mut other = owned_by(A);
    other["uid"] = "of the one before".into();
    let mut world = World::new().with(A, &[]).with(B, &[other]);
    world.run_until_idle();
    assert_eq!([A, B].map(|at| world.has(at)), [true, false]);
}

#[test]
fn an_owner_in_another_namespace_counts_as_gone_and_a_cluster_scoped_one_does_not() {
    let node = ("nodes", "n1");
    let mut world = World::new().with(("configmaps", "m/a"), &[]).with(node, &[]);
    world = world.with(B, &[owned_by(("configmaps", "m/a"))]).with(C, &[owned_by(node)]);
    world.run_until_idle();
    assert_eq!([B, C].map(|at| world.has(at)), [false, true]);
    let world = world.after(node, Propagation::Background);
    assert!(!world.has(C));
}

#[test]
fn who_is_in_no_namespace_can_not_lose_an_owner_that_is_in_one() {
    let node = ("nodes", "n1");
    let mut world = World::new().with(node, &[owned_by(A)]);
    world.run_until_idle();
    assert!(world.has(node));
}

#[test]
fn an_owner_of_an_unknown_kind_keeps_its_dependents() {
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Thing", "name": "a", "uid": "u"});
    let mut world = World::new().with(B, &[unknown]);
    world.run_until_idle();
    assert!(world.has(B));
}

#[test]
fn a_cycle_is_deleted_with_any_of_its_members() {
    for how in [Propagation::Background, Propagation::Foreground] {
        let world = World::new()
            .with(A, &[owned_by(C)])
            .with(B, &[owned_by(A)])
            .with(C, &[owned_by(B)])
            .after(A, how);
        assert_eq!([A, B, C].map(|at| world.has(at)), [false; 3], "{how:?}");
    }
}

#[test]
fn an_owner_deleted_in_the_foreground_is_freed_when_no_dependent_blocks_it() {
    let edits: [fn(&mut Value); 2] = [
        |object| object["metadata"]["ownerReferences"] = json!([]),
        |object| object["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = json!(false),
    ];
    for edit in edits {
        let mut world = World::new().with(A, &[]).with(B, &[owned_by(A)]);
        world.edit(B, |object| object["metadata"]["finalizers"] = json!(["x/held"]));
        let mut world = world.after(A, Propagation::Foreground);
        assert!(world.has(A));
        world.edit(B, edit);
        world.run_until_idle();
        assert_eq!([A, B].map(|at| world.has(at)), [false, true]);
    }
}

#[test]
fn a_dependent_keeps_the_propagation_of_its_own_finalizer() {
    let mut world = chain();
    world.edit(B, |object| object["metadata"]["finalizers"] = json!(["orphan"]));
    let world = world.after(A, Propagation::Background);
    assert_eq!([A, B, C].map(|at| world.has(at)), [false, false, true]);
}

#[test]
fn a_namespace_is_removed_when_it_is_empty() {
    let namespace = ("namespaces", "n");
    let mut world = chain().with(namespace, &[]).with(("configmaps", "other/a"), &[]);
    world.edit(C, |object| object["metadata"]["finalizers"] = json!(["x/held"]));
    let mut world = world.after(namespace, Propagation::Background);
    assert_eq!([A, B, C, namespace].map(|at| world.has(at)), [false, false, true, true]);
    world.edit(C, |object| object["metadata"]["finalizers"] = json!([]));
    world.run_until_idle();
    assert_eq!([C, namespace].map(|at| world.has(at)), [false, false]);
    assert!(world.has(("configmaps", "other/a")));
}

#[test]
fn a_namespace_waits_for_the_finalizers_of_others() {
    let namespace = ("namespaces", "n");
    let mut world = World::new().with(namespace, &[]);
    world.edit(namespace, |object| {
        object["spec"]["finalizers"] = json!(["kubernetes", "x/held"]);
    });
    let world = world.after(namespace, Propagation::Background);
    let left = world.value(namespace).map(|value| value["spec"]["finalizers"].clone());
    assert_eq!(left, Some(json!(["x/held"])));
}

#[test]
fn what_came_too_late_for_its_namespace_goes() {
    let namespace = ("namespaces", "n");
    // After the namespace is gone.
    let mut world = World::new().after(namespace, Propagation::Background);
    world.put(A, json!({}));
    world.run_until_idle();
    assert_eq!([A, namespace].map(|at| world.has(at)), [false, false]);
    // Between the last look at the namespace and its deletion.
    let mut world = World::new();
    world.delete(namespace, Some(Propagation::Background));
    world.put(A, json!({"finalizers": ["x/held"]}));
    world.edit(namespace, namespace::emptied);
    assert_eq!([A, namespace].map(|at| world.has(at)), [true, false]);
    world.run_until_idle();
    let left = world.value(A).unwrap_or_default();
    assert!(left["metadata"]["deletionTimestamp"].is_string(), "{left}");
}

#[test]
fn pods_are_deleted_before_everything_else_in_their_namespace() {
    let (namespace, pod) = (("namespaces", "n"), ("pods", "n/p"));
    let mut world = World::new().with(A, &[]).with(B, &[owned_by(A)]).with(pod, &[]);
    world.edit(pod, |object| object["metadata"]["finalizers"] = json!(["x/held"]));
    let mut world = world.after(namespace, Propagation::Background);
    assert_eq!([pod, A, B, namespace].map(|at| world.has(at)), [true; 4]);
    let dying =
        |at| world.value(at).is_some_and(|value| !value["metadata"]["deletionTimestamp"].is_null());
    assert_eq!([pod, A, B].map(dying), [true, false, false]);
    let told = world.value(namespace).unwrap_or_default()["status"]["conditions"][3].clone();
    assert_eq!(told["message"], "Some resources are remaining: pods. has 1 resource instances");
    world.edit(pod, |object| object["metadata"]["finalizers"] = json!([]));
    // Its kubelet has stopped it.
    world.write(kind("pods"), "n/p", None);
    world.run_until_idle();
    assert_eq!([pod, A, B, namespace].map(|at| world.has(at)), [false; 4]);
    let emptied = world.done.iter().filter(|done| done.starts_with("emptied"));
    assert_eq!(emptied.collect::<Vec<_>>()[..2], ["emptied n/p", "emptied n/a"]);
}

/// The deletion of an owner costs its dependents, each examined separately.
#[test]
fn the_last_of_many_dependents_frees_its_owner_and_the_others_do_not() {
    for (how, blocks) in [(Propagation::Foreground, true), (Propagation::Orphan, false)] {
        let mut world = World::new().with(A, &[]);
        for i in 0..200 {
            let mut owner = owned_by(A);
            owner["blockOwnerDeletion"] = blocks.into();
            world = world.with(("configmaps", &format!("n/d{i}")), &[owner]);
        }
        world.run_until_idle();
        world.done.clear();
        let world = world.after(A, how);
        let of_owner = world.done.iter().filter(|done| done.contains("key: \"n/a\""));
        assert_eq!(of_owner.count(), 1, "{how:?}");
        assert!(!world.has(A), "{how:?}");
        assert_eq!(world.has(("configmaps", "n/d199")), !blocks, "{how:?}");
        assert_eq!(world.done.len(), 201, "{how:?}");
    }
}

#[test]
fn an_object_that_cannot_be_read_has_no_owners_and_stops_nothing() {
    let mut world = chain();
    let broken = Object {
        key: "n/broken".into(),
        revision: world.state.revision() + 1,
        labels: [].into(),
        fields: [].into(),
        encoded: br#""ownerReferences":[{"uid":7}],"deletionTimestamp":"x"}}"#.to_vec().into(),
    };
    let (resource, revision) = (kind("configmaps").id(), broken.revision);
    let change =
        Change { resource, revision, key: broken.key.clone(), object: Some(Arc::new(broken)) };
    world.state.publish(std::slice::from_ref(&change));
    world.graph.changed(resource, None, change.object.as_deref());
    let mut world = world.after(A, Propagation::Background);
    assert_eq!([A, B, C].map(|at| world.has(at)), [false; 3]);
    let content = world.content("n");
    let next: Vec<&str> = namespace::next(&content, true).map(|item| &*item.key).collect();
    assert_eq!(next, ["n/broken"]);
    world.run_until_idle();
}

#[test]
fn what_is_found_at_the_start_leads_to_the_same_end() {
    let mut world = chain();
    world.delete(A, Some(Propagation::Foreground));
    world.graph = Graph::default();
    let mut all = BTreeMap::new();
    for index in 0..KINDS.len() {
        let resource = ResourceId::from_index(index);
        for object in world.state.range(resource, std::ops::Bound::Unbounded) {
            all.insert((resource, object.key.clone()), object.clone());
        }
    }
    for ((resource, _), object) in &all {
        world.graph.changed(*resource, None, Some(object));
    }
    world.run_until_idle();
    assert_eq!([A, B, C].map(|at| world.has(at)), [false; 3]);
}
