//! Typed objects from files or from a cluster, each with where it came from.

use std::{collections::BTreeMap, collections::HashMap, fmt, slice, sync::Arc, vec};

use k8s_openapi::{
    api::{
        autoscaling::v2::HorizontalPodAutoscaler,
        coordination::v1::Lease,
        core::v1::{Event, Node, Pod, Service},
        discovery::v1::EndpointSlice,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::Resource;
use serde::Serialize;
use serde_json::Value;

use crate::{
    RawServices,
    manifest::{ManifestError, Problem},
};

/// Where an object was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of a file as people know it, or words such as `the cluster`.
    pub source: Arc<str>,
    /// Counted from 1, without empty documents.
    pub document: Option<usize>,
    /// The line the document starts in, counted from 1.
    pub line: Option<u64>,
    /// The place in `items` of a List, counted from 0.
    pub item: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Item<T> {
    pub origin: Origin,
    pub object: T,
}

/// Objects of one kind, each name once, in the order they came.
#[derive(Clone, Debug)]
pub struct Collected<T> {
    items: Vec<Item<T>>,
    places: HashMap<(Box<str>, Box<str>), usize>,
}

/// Something that could not be looked at, although the rest could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// In the plural, as `kubectl` has it: `events`.
    pub what: String,
    pub problem: String,
}

/// All that was read. Events of either API group and autoscalers of either version are brought to
/// one form, which holds all that is used of them.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub services: Collected<Service>,
    pub nodes: Collected<Node>,
    pub pods: Collected<Pod>,
    /// All Pods in scope were listed: none means that there are none.
    pub pods_listed: bool,
    pub slices: Collected<EndpointSlice>,
    pub events: Collected<Event>,
    pub autoscalers: Collected<HorizontalPodAutoscaler>,
    /// Those with reports of proxies.
    pub leases: Collected<Lease>,
    /// When they were read from a cluster, in seconds since 1970.
    pub read_at: Option<i64>,
    /// How many objects of which other kinds were passed over.
    pub skipped: BTreeMap<String, usize>,
    pub notes: Vec<Note>,
    /// Services of manifests, field by field. `None`: nobody needs them.
    pub raw_services: Option<RawServices>,
}

// === impl Origin ===

impl Origin {
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        Origin { source: source.into(), document: None, line: None, item: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        if let Some(document) = self.document {
            write!(f, ", document {document}")?;
        }
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        if let Some(item) = self.item {
            write!(f, ", items[{item}]")?;
        }
        Ok(())
    }
}

// === impl Collected ===

impl<T> Collected<T> {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn iter(&self) -> slice::Iter<'_, Item<T>> {
        self.items.iter()
    }
}

impl<T: Resource<DynamicType = ()> + PartialEq + Serialize> Collected<T> {
    /// Takes `object` in. The same object a second time is passed over; another one of the same
    /// name is an error that names both places.
    pub fn add(&mut self, origin: Origin, mut object: T) -> Result<(), ManifestError> {
        // It is not used, may be half of an object, and differs between two reads.
        object.meta_mut().managed_fields = None;
        let place = self.places.get(&key(object.meta())).copied();
        let Some(place) = place else {
            self.places.insert(key(object.meta()), self.items.len());
            self.items.push(Item { origin, object });
            return Ok(());
        };
        let known = &self.items[place];
        if known.object == object {
            return Ok(());
        }
        let other = known.origin.clone();
        let field = first_difference(&known.object, &object);
        let error = ManifestError::about(origin, &object, Problem::Conflict { other });
        Err(ManifestError { field, ..error })
    }
}

impl<T> Default for Collected<T> {
    fn default() -> Self {
        Collected { items: Vec::new(), places: HashMap::new() }
    }
}

impl<'a, T> IntoIterator for &'a Collected<T> {
    type Item = &'a Item<T>;
    type IntoIter = slice::Iter<'a, Item<T>>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> IntoIterator for Collected<T> {
    type Item = Item<T>;
    type IntoIter = vec::IntoIter<Item<T>>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// The path of the first field in which two objects of one kind differ.
fn first_difference<T: Serialize>(known: &T, given: &T) -> Option<Box<str>> {
    let known = serde_json::to_value(known).ok()?;
    let given = serde_json::to_value(given).ok()?;
    let mut path = String::new();
    let (mut a, mut b) = (&known, &given);
    loop {
        match (a, b) {
            (Value::Object(x), Value::Object(y)) => {
                let mut keys = x.keys().chain(y.keys());
                let Some(key) = keys.find(|key| x.get(*key) != y.get(*key)) else { break };
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(key);
                let (Some(next_a), Some(next_b)) = (x.get(key), y.get(key)) else { break };
                (a, b) = (next_a, next_b);
            }
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
                let Some(index) = (0..x.len()).find(|&i| x[i] != y[i]) else { break };
                path.push_str(&format!("[{index}]"));
                (a, b) = (&x[index], &y[index]);
            }
            _ => break,
        }
    }
    Some(path.into())
}

fn key(meta: &ObjectMeta) -> (Box<str>, Box<str>) {
    let part = |part: &Option<String>| part.as_deref().unwrap_or_default().into();
    (part(&meta.namespace), part(&meta.name))
}

// === impl Objects ===

impl Objects {
    /// How many objects there are, skipped ones left out.
    pub fn len(&self) -> usize {
        let Objects { services, nodes, pods, slices, events, autoscalers, leases, .. } = self;
        let rest = slices.len() + events.len() + autoscalers.len() + leases.len();
        services.len() + nodes.len() + pods.len() + rest
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
