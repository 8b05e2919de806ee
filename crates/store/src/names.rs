//! The names of resources, such as `configmaps` or `widgets.example.com`, and their ids.
//!
//! A name keeps its id for as long as the process lives, also while no kind is served under it: its
//! history stays readable, and an id never means two things.

use std::{collections::HashMap, sync::Arc};

use crate::object::ResourceId;

/// Names are chosen by clients: the hash is keyed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    by_id: Vec<Arc<str>>,
    by_name: HashMap<Arc<str>, ResourceId>,
}

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn name(&self, resource: ResourceId) -> Option<&Arc<str>> {
        self.by_id.get(resource.index())
    }

    pub(crate) fn id(&self, name: &str) -> Option<ResourceId> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ResourceId, &Arc<str>)> {
        self.by_id.iter().enumerate().map(|(index, name)| (ResourceId::from_index(index), name))
    }

    /// Gives a new name the next id.
    pub(crate) fn add(&mut self, name: &str) -> ResourceId {
        let (id, name) = (ResourceId::from_index(self.len()), Arc::<str>::from(name));
        self.by_id.push(name.clone());
        self.by_name.insert(name, id);
        id
    }
}
