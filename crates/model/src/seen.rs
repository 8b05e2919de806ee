//! Objects as a watch shows them: a noun of the model with what a cache must know of its object.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Pod, Service, Slice};

/// Which object this is, and which state of it.
///
/// `generation` counts the states of an EndpointSlice: of two states of one object (one `uid`) the
/// one with the smaller generation is the older. `resource_version` can only be compared for
/// equality.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    pub uid: Arc<str>,
    pub resource_version: Arc<str>,
    pub generation: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPod {
    pub pod: Pod,
    pub labels: BTreeMap<String, String>,
    /// When its Ready condition last changed, in seconds since 1970.
    pub ready_since: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenService {
    pub service: Service,
    pub version: Version,
    /// In seconds since 1970.
    pub created: Option<i64>,
    /// Those of the types this project writes, with or without its prefix.
    pub conditions: Vec<Condition>,
    /// What is wrong with the Service, if it can't be planned: field and problem.
    pub problem: Option<Box<str>>,
    /// What is wrong with its frontends, which have no effect on its slices.
    pub frontend_problem: Option<Box<str>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenSlice {
    pub namespace: Arc<str>,
    pub slice: Slice,
    pub version: Version,
    /// RequestedPolicy to be deleted, and only waiting for its finalizers.
    pub deleting: bool,
}

/// A condition in a Service's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub kind: Arc<str>,
    pub status: bool,
    /// A code in CamelCase.
    pub reason: Arc<str>,
    pub message: Arc<str>,
}

/// An object that is gone. A newer one of the same name has another uid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Empty for objects without one, such as Nodes.
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
}

/// What a watch says about objects of one kind. After `Restarted` the objects that exist are
/// `Listed` one by one, and `Complete` ends the list: what was known and not listed is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched<T> {
    Restarted,
    Listed(T),
    Complete,
    Applied(T),
    Deleted(Gone),
}

// === impl Watched ===

impl<T> Watched<T> {
    /// The same of what an object is read as. One that can't be read counts as gone; `None`: nothing is
    /// said of one in a list.
    pub fn read<S>(self, read: impl FnOnce(&T) -> Result<S, Gone>) -> Option<Watched<S>> {
        Some(match self {
            Watched::Restarted => Watched::Restarted,
            Watched::Complete => Watched::Complete,
            Watched::Deleted(gone) => Watched::Deleted(gone),
            Watched::Listed(object) => Watched::Listed(read(&object).ok()?),
            Watched::Applied(object) => match read(&object) {
                Ok(seen) => Watched::Applied(seen),
                Err(gone) => Watched::Deleted(gone),
            },
        })
    }
}
