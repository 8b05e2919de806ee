//! Names interned to ids, so that decisions compare numbers and never strings.
//!
//! Ids are handed out in the order names are first seen. That order says nothing: where order
//! reaches the outside, sort by name. A table only grows; a cluster that renames ten nodes an hour
//! adds a few megabytes in a year.

use std::{fmt, marker::PhantomData, num::NonZeroU32, sync::Arc};

use rustc_hash::FxHashMap;

/// A zone, as in `topology.kubernetes.io/zone`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneId(NonZeroU32);

/// A node, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(NonZeroU32);

/// A region, as in `topology.kubernetes.io/region`. Zones lie inside regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(NonZeroU32);

/// A Service of one consumer's view. Ids of deleted Services are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(NonZeroU32);

/// A port of a Service in one address family, of one consumer's view: what endpoints are selected
/// for. Ids of deleted ports are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(NonZeroU32);

/// An id that a [`Names`] table or another list hands out. Index 0 is the empty name in every table.
/// An optional id is as small as an id: ids count from one inside.
pub trait Id: Copy {
    fn from_index(index: u32) -> Self;
    fn index(self) -> usize;
}

/// A table of names of one kind.
pub struct Names<I> {
    ids: FxHashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    kind: PhantomData<I>,
}

/// The zones, nodes and regions of one cluster.
#[derive(Debug, Default, Clone)]
pub struct Topology {
    pub zones: Names<ZoneId>,
    pub nodes: Names<NodeId>,
    pub regions: Names<RegionId>,
}

// === impl ZoneId, NodeId, RegionId, ServiceId, PortId ===

impl ZoneId {
    /// The zone of the empty name, which is no zone for most purposes.
    pub const EMPTY: ZoneId = ZoneId(NonZeroU32::MIN);
}

impl RegionId {
    /// The region of zones whose nodes name none.
    pub const EMPTY: RegionId = RegionId(NonZeroU32::MIN);
}

macro_rules! ids {
    ($($id:ident)*) => {$(
        impl Id for $id {
            fn from_index(index: u32) -> Self {
                $id(NonZeroU32::MIN.saturating_add(index))
            }

            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )*};
}

ids! { ZoneId NodeId RegionId ServiceId PortId }

// === impl Names ===

impl<I: Id> Names<I> {
    /// The id of `name`, made if there was none.
    ///
    /// # Panics
    /// With 2³² names or more.
    pub fn intern(&mut self, name: &str) -> I {
        if let Some(&index) = self.ids.get(name) {
            return I::from_index(index);
        }
        let index = u32::try_from(self.names.len()).ok().filter(|&index| index < u32::MAX);
        let index = index.expect("fewer than 2^32 names");
        let name: Arc<str> = name.into();
        self.names.push(Arc::clone(&name));
        self.ids.insert(name, index);
        I::from_index(index)
    }

    /// The id of `name`, if it was ever interned.
    pub fn find(&self, name: &str) -> Option<I> {
        self.ids.get(name).map(|&index| I::from_index(index))
    }

    /// The name behind `id`.
    ///
    /// # Panics
    /// With an id from a larger table.
    pub fn name(&self, id: I) -> &Arc<str> {
        &self.names[id.index()]
    }

    /// Every id's index is below this.
    pub fn bound(&self) -> usize {
        self.names.len()
    }
}

impl<I> Default for Names<I> {
    fn default() -> Self {
        let empty: Arc<str> = "".into();
        Names {
            ids: [(Arc::clone(&empty), 0)].into_iter().collect(),
            names: vec![empty],
            kind: PhantomData,
        }
    }
}

impl<I> Clone for Names<I> {
    fn clone(&self) -> Self {
        Names { ids: self.ids.clone(), names: self.names.clone(), kind: PhantomData }
    }
}

impl<I> fmt::Debug for Names<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_id() {
        let mut zones = Names::<ZoneId>::default();
        let a = zones.intern("zone-a");
        let b = zones.intern("zone-b");
        assert_ne!(a, b);
        assert_eq!(zones.intern("zone-a"), a);
        assert_eq!(zones.find("zone-b"), Some(b));
        assert_eq!(zones.find("zone-c"), None);
        assert_eq!(&**zones.name(b), "zone-b");
        assert_eq!(zones.intern(""), ZoneId::EMPTY);
    }
}
