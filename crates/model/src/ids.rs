//! Small ids, a type for each kind of thing, so that the id of one is never used for another.

use std::num::NonZeroU32;

/// An id that a table hands out: an index with a type. An optional id is as small as an id, since
/// ids count from one inside.
pub trait Id: Copy {
    fn from_index(index: u32) -> Self;
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $id(NonZeroU32);

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

ids! {
    /// A zone, as in `topology.kubernetes.io/zone`.
    ZoneId
    /// A node, by its name.
    NodeId
    /// A region, as in `topology.kubernetes.io/region`. Zones lie inside regions.
    RegionId
    /// A Service by namespace and name, in the table of one component. It is handed out again once
    /// the table has dropped the Service.
    ServiceId
    /// A port of a Service in one address family, in the table of one component: what endpoints are
    /// selected for. It is handed out again once the table has dropped the port.
    PortId
    /// A Pod by namespace and name, in the table of one component. It is handed out again once the
    /// table has dropped the Pod.
    PodId
}

impl ZoneId {
    /// The zone of the empty name, which is no zone for most purposes.
    pub const EMPTY: ZoneId = ZoneId(NonZeroU32::MIN);
}

impl RegionId {
    /// The region of zones whose nodes name none.
    pub const EMPTY: RegionId = RegionId(NonZeroU32::MIN);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_index_and_an_optional_one_is_as_small() {
        for index in [0, 1, 70_000] {
            assert_eq!(ServiceId::from_index(index).index(), index as usize);
        }
        assert!(PodId::from_index(1) < PodId::from_index(2));
        assert_eq!(size_of::<Option<PodId>>(), size_of::<u32>());
    }
}
