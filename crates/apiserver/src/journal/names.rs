//! The names of resources, on which files and processes agree.
//!
//! In memory a resource is a number, given at registration, which may be another one after a
//! restart. A file names the numbers that it uses: those of the resources that the program was built
//! with in its header, any other in the frame that first uses it. So a registration becomes durable
//! with the first change of its resource, in one piece with it, and no file mentions a resource that
//! it has nothing of: a name is gone when the last change of it is.

use std::{collections::HashMap, io, sync::Arc};

use evenkeel_store::object::ResourceId;
use rustc_hash::FxHashSet;

/// The longest name in bytes, far above that of a CustomResourceDefinition, 253.
pub(super) const LONGEST: usize = 1024;

/// All names that the process knows. They are chosen by clients: the hash is keyed.
#[derive(Clone, Debug)]
pub(super) struct Names {
    by_id: Vec<Arc<str>>,
    by_name: HashMap<Arc<str>, ResourceId>,
    /// The first ones, which every header has.
    n_built_in: usize,
}

/// The resources that a file being written has named.
#[derive(Debug)]
pub(super) struct Named {
    n_header: usize,
    more: FxHashSet<ResourceId>,
}

impl Names {
    pub(super) fn new<'a>(built_in: impl IntoIterator<Item = &'a str>) -> Names {
        let mut names = Names { by_id: Vec::new(), by_name: HashMap::new(), n_built_in: 0 };
        for name in built_in {
            names.push(name);
        }
        names.n_built_in = names.by_id.len();
        names
    }

    pub(super) fn built_in(&self) -> &[Arc<str>] {
        &self.by_id[..self.n_built_in]
    }

    /// Those that are not built in, in the order of their ids.
    pub(super) fn registered(&self) -> impl Iterator<Item = (ResourceId, &Arc<str>)> {
        let all = self.by_id.iter().enumerate().skip(self.n_built_in);
        all.map(|(index, name)| (ResourceId::from_index(index), name))
    }

    /// With their names. A resource without one is an error of the caller, which must not reach a
    /// file.
    pub(super) fn all_of(&self, resources: &[ResourceId]) -> io::Result<Vec<(ResourceId, &str)>> {
        let named = |resource: &ResourceId| match self.by_id.get(resource.index()) {
            Some(name) => Ok((*resource, &**name)),
            None => Err(io::Error::other(format!("resource {} is not registered", resource.0))),
        };
        resources.iter().map(named).collect()
    }

    pub(super) fn id(&self, name: &str) -> Option<ResourceId> {
        self.by_name.get(name).copied()
    }

    /// Takes the next id and its name. Any other could not be read back: its changes are rejected.
    pub(super) fn register(&mut self, resource: ResourceId, name: &str) {
        if self.id(name) == Some(resource) {
            return;
        }
        let is_next = resource.index() == self.by_id.len() && self.id(name).is_none();
        debug_assert!(is_next, "ids follow one another, one per name");
        if is_next && is_readable(name) {
            self.push(name);
        }
    }

    /// Gives a new name the next id.
    pub(super) fn push(&mut self, name: &str) -> ResourceId {
        let (id, name) = (ResourceId::from_index(self.by_id.len()), Arc::<str>::from(name));
        self.by_id.push(name.clone());
        self.by_name.entry(name).or_insert(id);
        id
    }
}

pub(super) fn is_readable(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len())
}

impl Named {
    /// By a header with this many names.
    pub(super) fn by_header(n_header: usize) -> Named {
        Named { n_header, more: FxHashSet::default() }
    }

    /// Those of `used` that are not named yet, each once.
    pub(super) fn missing(&self, used: impl Iterator<Item = ResourceId>) -> Vec<ResourceId> {
        let mut missing = Vec::new();
        for resource in used {
            let is_named = resource.index() < self.n_header || self.more.contains(&resource);
            // One after the other in a batch are mostly of the same resource.
            if !is_named && missing.last() != Some(&resource) {
                missing.push(resource);
            }
        }
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    pub(super) fn add(&mut self, resources: Vec<ResourceId>) {
        self.more.extend(resources);
    }
}
