//! The store against a model that keeps every state in full.
//!
//! Random writes go through batches, some of which are discarded as after a failed sync; then each
//! past revision is listed, all pages are read, each watch is replayed, and a snapshot is taken and
//! replayed. The model is a map copied at every revision.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::collections::BTreeMap;

use evenkeel_model::labels::{Checks, LabelSelector};
use evenkeel_store::{
    Batch, Expect, Limits, NewObject, Outcome, Query, Refused, Replayed, ResourceId, Revision,
    Seen, Selector, State, Write, list, seen, selector::FieldSelector,
};
use proptest::prelude::*;

const NAMES: [&str; RESOURCES] = ["configmaps", "pods"];
const RESOURCES: usize = 2;
const ANY: Checks = Checks { key: |_| Vec::new(), value: |_| Vec::new() };

/// Key to (revision, label, text).
type Objects = BTreeMap<String, (Revision, String, String)>;

#[derive(Clone, Debug)]
enum Step {
    Put {
        resource: usize,
        key: usize,
        label: u8,
        text: u8,
    },
    Delete {
        resource: usize,
        key: usize,
    },
    /// Creates or updates with a wrong precondition.
    Wrong {
        resource: usize,
        key: usize,
    },
    /// The current batch becomes durable.
    Commit,
    /// The current batch is lost.
    Abort,
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let place = (0..RESOURCES, 0..6usize);
    prop_oneof![
        6 => (place.clone(), 0..3u8, 0..4u8)
            .prop_map(|((resource, key), label, text)| Step::Put { resource, key, label, text }),
        2 => place.clone().prop_map(|(resource, key)| Step::Delete { resource, key }),
        1 => place.prop_map(|(resource, key)| Step::Wrong { resource, key }),
        3 => Just(Step::Commit),
        1 => Just(Step::Abort),
        1 => Just(Step::Compact),
    ]
}

fn key(index: usize) -> String {
    ["a/x", "a/y", "a-b/x", "b/x", "b/y", "b/z"][index].to_owned()
}

fn new(label: u8, text: u8) -> NewObject {
    NewObject {
        labels: [("l".into(), label.to_string().into())].into(),
        fields: [text.to_string().into()].into(),
        encoded: format!("\"name\":\"{label}-{text}\"}}}}").into(),
    }
}

#[derive(Default)]
struct Model {
    /// The state after each revision, for each resource.
    states: BTreeMap<Revision, [Objects; RESOURCES]>,
    staged: Option<[Objects; RESOURCES]>,
    pending: BTreeMap<Revision, [Objects; RESOURCES]>,
}

impl Model {
    fn now(&self) -> [Objects; RESOURCES] {
        let last = self.states.last_key_value().map(|(_, objects)| objects.clone());
        self.staged.clone().or(last).unwrap_or_default()
    }

    fn stage(&mut self, revision: Revision, objects: [Objects; RESOURCES]) {
        self.pending.insert(revision, objects.clone());
        self.staged = Some(objects);
    }
}

struct Run {
    state: State,
    batch: Batch,
    model: Model,
    /// The start of the history.
    oldest: Revision,
}

impl Run {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Put { resource, key: index, label, text } => {
                self.put(*resource, &key(*index), *label, *text);
            }
            Step::Delete { resource, key: index } => self.delete(*resource, &key(*index)),
            Step::Wrong { resource, key: index } => self.wrong(*resource, &key(*index)),
            Step::Commit => {
                let batch = std::mem::take(&mut self.batch);
                self.state.publish(batch.changes());
                self.model.states.append(&mut self.model.pending);
                self.model.staged = None;
            }
            Step::Abort => {
                self.batch = Batch::new();
                self.model.pending.clear();
                self.model.staged = None;
            }
            Step::Compact => {
                self.state.compact();
                self.oldest = self.state.revision();
            }
        }
    }

    fn write(
        &mut self,
        resource: usize,
        key: &str,
        expect: Expect,
        object: Option<NewObject>,
    ) -> Result<Outcome, Refused> {
        let resource = ResourceId::from_index(resource);
        self.batch.stage(&self.state, Write { resource, key: key.into(), expect, object })
    }

    fn put(&mut self, resource: usize, key: &str, label: u8, text: u8) {
        let mut objects = self.model.now();
        let present = objects[resource].get(key).cloned();
        let expect = present.as_ref().map_or(Expect::Absent, |(r, _, _)| Expect::Revision(*r));
        let outcome = self.write(resource, key, expect, Some(new(label, text))).unwrap();
        let (label, text) = (label.to_string(), text.to_string());
        match outcome {
            Outcome::Unchanged(object) => {
                assert_eq!(
                    present,
                    Some((object.revision, label, text)),
                    "a no-op changes nothing"
                );
            }
            Outcome::Written(object) => {
                objects[resource].insert(key.to_owned(), (object.revision, label, text));
                self.model.stage(object.revision, objects);
            }
            Outcome::Deleted(..) => panic!("a put deletes nothing"),
        }
    }

    fn delete(&mut self, resource: usize, key: &str) {
        let mut objects = self.model.now();
        let Some((revision, _, _)) = objects[resource].remove(key) else { return };
        let outcome = self.write(resource, key, Expect::Revision(revision), None).unwrap();
        let Outcome::Deleted(gone, at) = outcome else { panic!("a delete deletes") };
        assert_eq!(gone.revision, revision);
        self.model.stage(at, objects);
    }

    fn wrong(&mut self, resource: usize, key: &str) {
        let before = self.batch.changes().len();
        let present = self.model.now()[resource].get(key).map(|(revision, _, _)| *revision);
        let (expect, refused) = match present {
            Some(_) => (Expect::Absent, Refused::Exists),
            None => (Expect::Revision(7), Refused::Missing),
        };
        assert_eq!(self.write(resource, key, expect, Some(new(0, 0))).unwrap_err(), refused);
        if let Some(at) = present {
            let stale = self.write(resource, key, Expect::Revision(at + 1), Some(new(9, 9)));
            assert_eq!(stale.unwrap_err(), Refused::Changed { at, expected: at + 1 });
        }
        assert_eq!(self.batch.changes().len(), before, "a refused write leaves no trace");
    }
}

fn selector(namespace: Option<&str>, label: Option<u8>, field: Option<u8>) -> Selector {
    let labels = label.map(|label| format!("l={label}")).unwrap_or_default();
    let fields = field.map(|field| format!("text={field}")).unwrap_or_default();
    Selector::new(
        true,
        namespace,
        LabelSelector::parse(&labels, ANY).unwrap(),
        FieldSelector::parse(&fields, &["text"]).unwrap(),
    )
}

/// The objects that a selector matches, according to the model.
fn chosen(
    objects: &Objects,
    namespace: Option<&str>,
    label: Option<u8>,
    field: Option<u8>,
) -> Vec<(String, Revision)> {
    let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let fits = |one: &Option<u8>, value: &str| one.is_none_or(|one| one.to_string() == value);
    objects
        .iter()
        .filter(|(key, (_, l, t))| key.starts_with(&prefix) && fits(&label, l) && fits(&field, t))
        .map(|(key, (revision, ..))| (key.clone(), *revision))
        .collect()
}

fn listed(
    state: &State,
    resource: usize,
    selector: &Selector,
    at: Revision,
    limit: usize,
) -> Vec<(String, Revision)> {
    let resource = ResourceId::from_index(resource);
    let (mut after, mut all) = (None::<Box<str>>, Vec::new());
    // The total number of objects according to each page.
    let mut told = Vec::new();
    loop {
        let query = Query { resource, selector, at: Some(at), after: after.as_deref(), limit };
        let page = list(state, &query).unwrap();
        assert_eq!(page.revision, at);
        assert!(limit == 0 || page.items.len() <= limit);
        all.extend(page.items.iter().map(|item| (item.key.to_string(), item.revision)));
        told.extend(page.remaining.map(|remaining| all.len() + remaining));
        assert_eq!(page.remaining.is_some(), page.next.is_some() && !selector.selects());
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert!(told.iter().all(|told| *told == all.len()), "{told:?} of {}", all.len());
    all
}

type Choice = (Option<&'static str>, Option<u8>, Option<u8>);

const CHOICES: [Choice; 5] = [
    (None, None, None),
    (Some("a"), None, None),
    (None, Some(1), None),
    (Some("b"), Some(1), None),
    (None, None, Some(2)),
];

fn check(run: &Run) {
    let Run { state, model, oldest, .. } = run;
    for (revision, objects) in model.states.range(oldest..) {
        for (resource, objects) in objects.iter().enumerate() {
            for (namespace, label, field) in CHOICES {
                let expected = chosen(objects, namespace, label, field);
                let selector = selector(namespace, label, field);
                for limit in [0, 1, 2] {
                    let found = listed(state, resource, &selector, *revision, limit);
                    assert_eq!(found, expected, "at {revision}, limit {limit}");
                }
                watch(state, model, resource, *revision, (namespace, label, field));
            }
        }
    }
    if let Some(before) = oldest.checked_sub(1) {
        let everything = Selector::all();
        let resource = ResourceId(0);
        let query =
            Query { resource, selector: &everything, at: Some(before), after: None, limit: 0 };
        assert!(list(state, &query).is_err(), "a forgotten revision is refused");
        assert!(state.history().since(resource, before).is_err());
    }
}

/// A view maintained by watching from a revision on equals the view of the newest state.
fn watch(state: &State, model: &Model, resource: usize, from: Revision, choice: Choice) {
    let (namespace, label, field) = choice;
    let selector = selector(namespace, label, field);
    let mut view: BTreeMap<String, Revision> =
        chosen(&model.states[&from][resource], namespace, label, field).into_iter().collect();
    let id = ResourceId::from_index(resource);
    let mut last = from;
    for event in state.history().since(id, from).unwrap() {
        assert!(event.revision > last, "revisions rise");
        last = event.revision;
        match seen(event, &selector) {
            None => {}
            Some(Seen::Added(object)) => {
                assert_eq!(view.insert(object.key.to_string(), object.revision), None);
            }
            Some(Seen::Modified(object)) => {
                assert!(view.insert(object.key.to_string(), object.revision).is_some());
            }
            Some(Seen::Deleted(object)) => assert!(view.remove(&*object.key).is_some()),
        }
    }
    let (_, newest) = model.states.last_key_value().unwrap();
    let expected = chosen(&newest[resource], namespace, label, field);
    assert_eq!(view.into_iter().collect::<Vec<_>>(), expected);
}

/// Replaying a snapshot gives the same state and the same history.
fn replayed(state: &State) -> State {
    let snapshot = state.snapshot();
    let mut again = State::new(NAMES, Limits::default());
    again.replay(Replayed::Base(snapshot.base));
    for (resource, object) in snapshot.objects {
        again.replay(Replayed::Object(resource, (*object).clone()));
    }
    for change in snapshot.changes {
        again.replay(Replayed::Change(change));
    }
    assert_eq!(again.revision(), state.revision());
    assert_eq!(again.bytes(), state.bytes());
    assert_eq!(again.history().oldest(), state.history().oldest());
    again
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn lists_pages_watches_and_snapshots_agree_with_the_model(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        let mut run = Run {
            state: State::new(NAMES, Limits::default()),
            batch: Batch::new(),
            model: Model::default(),
            oldest: 0,
        };
        run.model.states.insert(0, Default::default());
        for step in &steps {
            run.take(step);
        }
        run.take(&Step::Commit);
        check(&run);
        run.state = replayed(&run.state);
        check(&run);
    }

    #[test]
    fn the_history_stays_within_its_limits(texts in proptest::collection::vec(0..9u8, 1..80)) {
        let mut state = State::new(["pods"], Limits { changes: 10, bytes: 200 });
        for text in texts {
            let present = state.object(ResourceId(0), "k").map(|object| object.revision);
            let expect = present.map_or(Expect::Absent, Expect::Revision);
            let object = Some(new(0, text));
            let mut batch = Batch::new();
            let write = Write { resource: ResourceId(0), key: "k".into(), expect, object };
            batch.stage(&state, write).unwrap();
            state.publish(batch.changes());
            let kept: Vec<_> =
                state.history().since(ResourceId(0), state.history().oldest()).unwrap().collect();
            let bytes: usize =
                kept.iter().filter_map(|event| event.before.as_ref()).map(|old| old.encoded.len()).sum();
            prop_assert!(kept.len() <= 10 && bytes <= 200);
        }
    }
}
